/*
 * test/unit/test_row_pack.c
 *		Rows and layouts as bytes: there and back, old bytes, and damaged ones.
 */
#include "harness.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "flow/row.h"
#include "lib/stringinfo.h"
#include "log/layout.h"
#include "log/message.h"
#include "log/row_bytes.h"
#include "log/row_pack.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/datum.h"

#define MAX_COLUMNS 20

static const Oid types[] = {
	BOOLOID, INT2OID, INT4OID, INT8OID, FLOAT8OID, TIMESTAMPTZOID, INTERVALOID, UUIDOID, TEXTOID, BYTEAOID
};

static TupleDesc
random_desc(int natts)
{
	TupleDesc	desc = CreateTemplateTupleDesc(natts);

	for (int i = 0; i < natts; i++)
		TupleDescInitEntry(desc, i + 1, "c", types[se_harness_random(lengthof(types))], -1, 0);
	return desc;
}

/* A value of a column's width; texts around the limit of short headers, and empty. */
static Datum
random_value(const SeLayoutColumn *column)
{
	static const int lengths[] = {0, 1, 2, 3, 7, 125, 126, 127, 128, 300, 5000};
	int			len;
	char	   *bytes;

	if (column->byval)
	{
		uint64		value = ((uint64) se_harness_random(PG_UINT32_MAX) << 32) | se_harness_random(PG_UINT32_MAX);

		switch (column->len)
		{
			case 1:
				return CharGetDatum((char) value);
			case 2:
				return Int16GetDatum((int16) value);
			case 4:
				return Int32GetDatum((int32) value);
			default:
				return Int64GetDatum((int64) value);
		}
	}
	len = column->len > 0 ? column->len : lengths[se_harness_random(lengthof(lengths))] + VARHDRSZ;
	bytes = palloc(len);
	for (int i = 0; i < len; i++)
		bytes[i] = (char) se_harness_random(256);
	if (column->len == -1)
		SET_VARSIZE(bytes, len);
	return PointerGetDatum(bytes);
}

/* Equal as values: a long header may have become a short one. */
static bool
same_value(const SeLayoutColumn *column, Datum a, Datum b)
{
	if (column->byval)
		return a == b;
	if (column->len > 0)
		return memcmp(DatumGetPointer(a), DatumGetPointer(b), column->len) == 0;
	return VARSIZE_ANY_EXHDR(DatumGetPointer(a)) == VARSIZE_ANY_EXHDR(DatumGetPointer(b)) &&
		memcmp(VARDATA_ANY(DatumGetPointer(a)), VARDATA_ANY(DatumGetPointer(b)),
			   VARSIZE_ANY_EXHDR(DatumGetPointer(a))) == 0;
}

static SeUnpacker *
unpacker_of(const SeLayout *layout, List *layouts, TupleDesc desc, const AttrNumber *wanted, int n)
{
	return se_row_unpacker_new(CurrentMemoryContext, layout, layouts, desc, wanted, n);
}

static void
append_row(StringInfo buf, const SeLayout *layout, const Datum *values, const bool *nulls, uint8 kind)
{
	Size		size = se_row_pack_size(layout, values, nulls);
	int			before = buf->len;

	/* A row that is too big leaves the buffer as it was. */
	SE_CHECK(!se_row_pack_append(buf, layout, values, nulls, kind, size - 1));
	SE_CHECK_INT(buf->len, before);
	SE_CHECK(se_row_pack_append(buf, layout, values, nulls, kind, size));
}

SE_TEST(random_rows_come_back_whole_and_by_any_subset_of_columns)
{
	for (int round = 0; round < 300; round++)
	{
		int			natts = se_harness_random(MAX_COLUMNS + 1);
		TupleDesc	desc = random_desc(natts);
		SeLayout   *layout = se_layout_of_desc(1, desc);
		Datum		values[10][MAX_COLUMNS];
		bool		nulls[10][MAX_COLUMNS];
		AttrNumber	wanted[MAX_COLUMNS];
		int			nwanted = 0;
		StringInfoData buf;
		const char *cursor;
		SeUnpacker *unpacker;

		initStringInfo(&buf);
		for (int row = 0; row < 10; row++)
		{
			int			before = buf.len;

			for (int i = 0; i < natts; i++)
			{
				nulls[row][i] = row > 0 && se_harness_random(5) == 0;
				values[row][i] = nulls[row][i] ? (Datum) 0 : random_value(&layout->columns[i]);
			}
			append_row(&buf, layout, values[row], nulls[row], row % 4);
			SE_CHECK_INT(buf.len % 8, 0);
			SE_CHECK_INT(buf.len - before, se_row_pack_size(layout, values[row], nulls[row]));
		}

		/* Columns in any order, some left out. */
		for (int i = 0; i < natts; i++)
			if (se_harness_random(3) > 0)
				wanted[nwanted++] = i + 1;
		for (int i = nwanted - 1; i > 0; i--)
		{
			int			j = se_harness_random(i + 1);
			AttrNumber	swap = wanted[i];

			wanted[i] = wanted[j];
			wanted[j] = swap;
		}

		unpacker = unpacker_of(layout, NIL, desc, wanted, nwanted);
		cursor = buf.data;
		for (int row = 0; row < 10; row++)
		{
			Datum		got[MAX_COLUMNS];
			bool		got_null[MAX_COLUMNS];
			uint8		kind;

			se_row_unpack(unpacker, &cursor, buf.data + buf.len, got, got_null, &kind);
			SE_CHECK_INT(kind, row % 4);
			for (int i = 0; i < nwanted; i++)
			{
				int			column = wanted[i] - 1;

				SE_CHECK_INT(got_null[i], nulls[row][column]);
				if (!got_null[i] && !nulls[row][column])
					SE_CHECK(same_value(&layout->columns[column], got[i], values[row][column]));
			}
		}
		SE_CHECK(cursor == buf.data + buf.len);
	}
}

/* bool, int4, text, int8, text: the row (true, -2, 'abc', NULL, 'z'), kind +U, as docs/design/log.md describes it. */
static const uint8 old_row[] = {
	0x20, 0x00, 0x00, 0x00, 0x02, 0x01, 0x10, 0x00, /* 32 bytes, kind 2, has nulls, data at 16 */
	0x17, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* all but the fourth */
	0x01, 0x00, 0x00, 0x00, 0xfe, 0xff, 0xff, 0xff,
	0x09, 'a', 'b', 'c', 0x05, 'z', 0x00, 0x00
};

static TupleDesc
old_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(5);

	TupleDescInitEntry(desc, 1, "a", BOOLOID, -1, 0);
	TupleDescInitEntry(desc, 2, "b", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 3, "c", TEXTOID, -1, 0);
	TupleDescInitEntry(desc, 4, "d", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 5, "e", TEXTOID, -1, 0);
	return desc;
}

SE_TEST(bytes_of_version_one_stay_what_they_are)
{
	TupleDesc	desc = old_desc();
	SeLayout   *layout = se_layout_of_desc(1, desc);
	Datum		values[5] = {BoolGetDatum(true), Int32GetDatum(-2), PointerGetDatum(cstring_to_text("abc")), 0,
	PointerGetDatum(cstring_to_text("z"))};
	bool		nulls[5] = {false, false, false, true, false};
	AttrNumber	wanted[5] = {1, 2, 3, 4, 5};
	uint8		bytes[sizeof(old_row)];
	const char *cursor = (const char *) bytes;
	StringInfoData buf;
	uint8		kind;

	initStringInfo(&buf);
	append_row(&buf, layout, values, nulls, SE_ROW_UPDATE_AFTER);
	memcpy(bytes, old_row, sizeof(old_row));
	SE_CHECK_INT(buf.len, sizeof(old_row));
	SE_CHECK(memcmp(buf.data, bytes, sizeof(old_row)) == 0);

	cursor = memcpy(palloc(sizeof(bytes)), bytes, sizeof(bytes));
	memset(values, 0, sizeof(values));
	se_row_unpack(unpacker_of(layout, NIL, desc, wanted, 5), &cursor, cursor + sizeof(bytes), values, nulls, &kind);
	SE_CHECK_INT(kind, SE_ROW_UPDATE_AFTER);
	SE_CHECK(DatumGetBool(values[0]) && !nulls[0]);
	SE_CHECK_INT(DatumGetInt32(values[1]), -2);
	SE_CHECK_STR(text_to_cstring((text *) DatumGetPointer(values[2])), "abc");
	SE_CHECK(nulls[3]);
	SE_CHECK_STR(text_to_cstring((text *) DatumGetPointer(values[4])), "z");
}

SE_TEST(a_passed_row_says_so_and_reads_as_any_other)
{
	TupleDesc	desc = old_desc();
	AttrNumber	wanted[5] = {1, 2, 3, 4, 5};
	SeUnpacker *unpacker = unpacker_of(se_layout_of_desc(1, desc), NIL, desc, wanted, 5);
	char	   *bytes = memcpy(palloc(sizeof(old_row)), old_row, sizeof(old_row));
	const char *cursor = bytes;
	Datum		values[5];
	bool		nulls[5];
	uint8		kind;

	SE_CHECK(!se_row_is_passed(bytes));
	se_row_set_passed(bytes);
	SE_CHECK(se_row_is_passed(bytes));
	SE_CHECK_INT(bytes[5], 0x03);
	se_row_unpack(unpacker, &cursor, bytes + sizeof(old_row), values, nulls, &kind);
	SE_CHECK_INT(kind, SE_ROW_UPDATE_AFTER);
	SE_CHECK_INT(DatumGetInt32(values[1]), -2);
	SE_CHECK(nulls[3]);
	SE_CHECK(cursor == bytes + sizeof(old_row));
}

/* Unpack damaged bytes: values may be wrong, but lie inside the row, or the error is ours. */
static bool
unpack_damaged(SeUnpacker *unpacker, const SeLayout *layout, const char *bytes, Size len)
{
	volatile bool ok = true;

	PG_TRY();
	{
		const char *cursor = bytes;
		Datum		values[MAX_COLUMNS];
		bool		nulls[MAX_COLUMNS];
		uint8		kind;

		while (cursor < bytes + len)
		{
			const char *row = cursor;

			se_row_unpack(unpacker, &cursor, bytes + len, values, nulls, &kind);
			for (int i = 0; i < layout->ncolumns; i++)
			{
				const char *value = DatumGetPointer(values[i]);

				if (layout->columns[i].byval || nulls[i])
					continue;
				ok = ok && value >= row && value + 1 <= cursor &&
					value + (layout->columns[i].len > 0 ? layout->columns[i].len : VARSIZE_ANY(value)) <= cursor;
			}
		}
	}
	PG_CATCH();
	{
		ok = ok && se_stub_error_code == ERRCODE_DATA_CORRUPTED;
	}
	PG_END_TRY();
	return ok;
}

SE_TEST(damaged_rows_raise_and_never_reach_outside_the_row)
{
	for (int round = 0; round < 20; round++)
	{
		int			natts = 1 + se_harness_random(8);
		TupleDesc	desc = random_desc(natts);
		SeLayout   *layout = se_layout_of_desc(1, desc);
		AttrNumber	wanted[MAX_COLUMNS];
		Datum		values[MAX_COLUMNS];
		bool		nulls[MAX_COLUMNS];
		StringInfoData buf;
		SeUnpacker *unpacker;

		initStringInfo(&buf);
		for (int row = 0; row < 2; row++)
		{
			for (int i = 0; i < natts; i++)
			{
				wanted[i] = i + 1;
				nulls[i] = row > 0 && i % 3 == 0;
				values[i] = random_value(&layout->columns[i]);
				if (layout->columns[i].len == -1)
					values[i] = PointerGetDatum(cstring_to_text(i % 2 ? "short" : ""));
			}
			append_row(&buf, layout, values, nulls, SE_ROW_INSERT);
		}
		unpacker = unpacker_of(layout, NIL, desc, wanted, natts);

		/* Every allocation is exact, so that valgrind sees one byte too many. */
		for (int len = 0; len < buf.len; len++)
		{
			char	   *cut = memcpy(palloc(len + 1), buf.data, len);

			SE_CHECK(unpack_damaged(unpacker, layout, cut, len));
			pfree(cut);
		}
		for (int at = 0; at < buf.len; at++)
		{
			for (int flip = 0; flip < 8; flip++)
			{
				char	   *flipped = memcpy(palloc(buf.len), buf.data, buf.len);

				flipped[at] ^= 1 << flip;
				SE_CHECK(unpack_damaged(unpacker, layout, flipped, buf.len));
				pfree(flipped);
			}
		}
	}
}

SE_TEST(a_column_the_row_lacks_reads_as_the_missing_value_of_its_first_layout)
{
	TupleDesc	desc = old_desc();
	SeLayout   *first = se_layout_of_desc(1, desc);
	SeLayout   *second = se_layout_of_desc(1, desc);
	SeLayout   *third = se_layout_of_desc(1, desc);
	List	   *layouts = list_make3(first, second, third);
	Datum		values[5] = {BoolGetDatum(true), Int32GetDatum(7)};
	bool		nulls[5] = {false};
	AttrNumber	wanted[3] = {3, 4, 2};
	StringInfoData buf;
	const char *cursor;
	uint8		kind;

	/* Rows have two columns; text came second with a value, int8 third without one. */
	first->id = 1;
	first->ncolumns = 2;
	second->id = 2;
	second->ncolumns = 3;
	second->columns[2].has_missing = true;
	second->columns[2].missing = PointerGetDatum(cstring_to_text("default of then"));
	third->id = 3;
	third->columns[2].has_missing = true;
	third->columns[2].missing = PointerGetDatum(cstring_to_text("must not be seen"));

	initStringInfo(&buf);
	append_row(&buf, first, values, nulls, SE_ROW_INSERT);
	for (int in_transaction = 0; in_transaction < 2; in_transaction++)
	{
		SeLayout	of_message = *first;

		if (in_transaction)
			of_message.id = SE_LAYOUT_IN_TRANSACTION | 1;
		cursor = buf.data;
		se_row_unpack(unpacker_of(&of_message, layouts, desc, wanted, 3), &cursor, buf.data + buf.len, values, nulls, &kind);
		SE_CHECK(!nulls[0] && nulls[1] && !nulls[2]);
		SE_CHECK_STR(text_to_cstring((text *) DatumGetPointer(values[0])), "default of then");
		SE_CHECK_INT(DatumGetInt32(values[2]), 7);
	}
}

/* Does decoding raise? Then only our own error. */
static bool
decode_raises(const char *bytes, Size len)
{
	volatile bool raised = false;

	PG_TRY();
	{
		se_layout_decode(bytes, len);
	}
	PG_CATCH();
	{
		raised = true;
		SE_CHECK_INT(se_stub_error_code, ERRCODE_DATA_CORRUPTED);
	}
	PG_END_TRY();
	return raised;
}

SE_TEST(layouts_come_back_from_their_bytes_and_damage_raises)
{
	TupleDesc	desc = old_desc();
	SeLayout   *layout = se_layout_of_desc(77, desc);
	SeLayout   *back;
	bytea	   *bytes;
	Size		len;

	layout->id = 5;
	layout->columns[1].has_missing = true;
	layout->columns[1].missing = Int32GetDatum(-9);
	layout->columns[2].has_missing = true;
	layout->columns[2].missing = PointerGetDatum(cstring_to_text("missing"));
	bytes = se_layout_encode(layout);
	len = VARSIZE(bytes) - VARHDRSZ;

	back = se_layout_decode(VARDATA(bytes), len);
	SE_CHECK_INT(back->relation, 77);
	SE_CHECK_INT(back->id, 5);
	SE_CHECK_INT(back->ncolumns, 5);
	SE_CHECK(back->fingerprint == layout->fingerprint);
	SE_CHECK_INT(DatumGetInt32(back->columns[1].missing), -9);
	SE_CHECK_STR(text_to_cstring((text *) DatumGetPointer(back->columns[2].missing)), "missing");
	SE_CHECK(!back->columns[3].has_missing);

	for (Size cut = 0; cut < len; cut++)
		SE_CHECK(decode_raises(memcpy(palloc(cut + 1), VARDATA(bytes), cut), cut));
	for (Size at = 0; at < len * 8; at++)
	{
		char	   *flipped = memcpy(palloc(len), VARDATA(bytes), len);

		flipped[at / 8] ^= 1 << (at % 8);
		(void) decode_raises(flipped, len);
	}
}

SE_TEST(a_fingerprint_tells_layouts_apart)
{
	TupleDesc	desc = old_desc();
	SeLayout   *layout = se_layout_of_desc(1, desc);
	SeLayout   *other;

	SE_CHECK(se_layout_of_desc(2, old_desc())->fingerprint == layout->fingerprint);
	TupleDescAttr(desc, 2)->atttypmod = 7;
	SE_CHECK(se_layout_of_desc(1, desc)->fingerprint != layout->fingerprint);
	desc = old_desc();
	TupleDescAttr(desc, 3)->attisdropped = true;
	other = se_layout_of_desc(1, desc);
	SE_CHECK(other->fingerprint != layout->fingerprint);
	SE_CHECK_INT(other->ncolumns, 4);
	SE_CHECK_INT(other->columns[3].attno, 5);
}
