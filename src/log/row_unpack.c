/*
 * log/row_unpack.c
 *		Bytes to the wanted columns of a row.
 *
 * The byte table is in log/row_pack.h.  Reading runs for every row of every stream, so
 * an unpacker is prepared once per layout: columns before the first of varying width
 * have known offsets and are fetched without walking; the walk ends behind the last
 * wanted column.  The bytes come from WAL, whose checksum holds; lengths are checked
 * against the row all the same, because nothing that was stored may crash a server.
 *
 * Pure: no locks, no catalog.  Runs in: sessions, task workers.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "base/compat.h"
#include "flow/row.h"
#include "log/convert.h"
#include "log/message.h"
#include "log/row_bytes.h"
#include "log/row_pack.h"
#include "utils/datum.h"

/* One column of the packed row, as the walk meets it. */
typedef struct UnpackStep
{
	int16		len;			/* -1 = varlena */
	bool		byval;
	uint8		align;			/* bytes: 1, 2, 4 or 8 */
	int			target;			/* index of the wanted column, -1 = passed over */
} UnpackStep;

/* A wanted column at a known offset in rows without nulls. */
typedef struct UnpackFixed
{
	uint32		offset;
	int16		len;
	bool		byval;
	int			target;
} UnpackFixed;

/* A wanted column whose bytes do not depend on the row: missing value or NULL. */
typedef struct UnpackConstant
{
	int			target;
	bool		isnull;
	Datum		value;
} UnpackConstant;

/* A wanted column whose type was changed since. */
typedef struct UnpackConversion
{
	int			target;
	SeConversion *conversion;
} UnpackConversion;

struct SeUnpacker
{
	int			ncolumns;		/* of the layout: width of the null bitmap */
	int			nsteps;			/* up to the last wanted column */
	UnpackStep *steps;
	int			nfixed;
	UnpackFixed *fixed;
	int			walk_from;		/* first step the fixed part does not cover */
	uint32		walk_offset;	/* data offset before it */
	int			nconstants;
	UnpackConstant *constants;
	int			nconversions;
	UnpackConversion *conversions;
};

static void add_constant(SeUnpacker *unpacker, const SeLayout *layout, List *layouts, TupleDesc desc,
						 AttrNumber attno, int target);
static void unpack_row(const SeUnpacker *unpacker, const char **cursor, const char *end,
					   Datum *values, bool *nulls, uint8 *kind);
static void plan_fixed_part(SeUnpacker *unpacker);
static void unpack_walk(const SeUnpacker *unpacker, int step, uint32 offset, const uint8 *bitmap,
						const char *data, uint32 size, Datum *values, bool *nulls);
static void row_damaged(const char *what) SE_NORETURN;

/*
 * Prepare reading: `wanted` are attribute numbers of the relation as it is now, rows
 * have `layout`, and `layouts` are all of the stream's, for missing values.  What the
 * unpacker points to is copied into `memory`.
 */
SeUnpacker *
se_row_unpacker_new(MemoryContext memory, const SeLayout *layout, List *layouts,
					TupleDesc relation_desc, const AttrNumber *wanted, int nwanted)
{
	MemoryContext old = MemoryContextSwitchTo(memory);
	SeUnpacker *unpacker = palloc0(sizeof(SeUnpacker));

	unpacker->ncolumns = layout->ncolumns;
	unpacker->steps = palloc0(sizeof(UnpackStep) * Max(layout->ncolumns, 1));
	unpacker->fixed = palloc0(sizeof(UnpackFixed) * Max(layout->ncolumns, 1));
	unpacker->constants = palloc0(sizeof(UnpackConstant) * Max(nwanted, 1));
	unpacker->conversions = palloc0(sizeof(UnpackConversion) * Max(nwanted, 1));
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const SeLayoutColumn *column = &layout->columns[i];

		unpacker->steps[i].len = column->len;
		unpacker->steps[i].byval = column->byval;
		unpacker->steps[i].align = column->align_bytes;
		unpacker->steps[i].target = -1;
	}

	for (int target = 0; target < nwanted; target++)
	{
		int			i = 0;
		SeConversion *conversion;

		if (wanted[target] <= 0)
			continue;
		while (i < layout->ncolumns && layout->columns[i].attno != wanted[target])
			i++;
		if (i == layout->ncolumns)
		{
			add_constant(unpacker, layout, layouts, relation_desc, wanted[target], target);
			continue;
		}
		if (unpacker->steps[i].target >= 0)
			elog(ERROR, "column %d of a stream is wanted twice", wanted[target]);
		conversion = se_convert_new(layout, layouts, relation_desc, wanted[target]);
		if (conversion != NULL)
		{
			unpacker->conversions[unpacker->nconversions].target = target;
			unpacker->conversions[unpacker->nconversions++].conversion = conversion;
		}
		unpacker->steps[i].target = target;
		unpacker->nsteps = Max(unpacker->nsteps, i + 1);
	}
	plan_fixed_part(unpacker);
	MemoryContextSwitchTo(old);
	return unpacker;
}

/*
 * A column the layout lacks: what the first layout that got it later says.  A layout
 * of a transaction has no place in that order; its rows read as the value of the first
 * layout that has the column at all.
 */
static void
add_constant(SeUnpacker *unpacker, const SeLayout *layout, List *layouts, TupleDesc desc,
			 AttrNumber attno, int target)
{
	UnpackConstant *constant = &unpacker->constants[unpacker->nconstants++];
	uint32		after = (layout->id & SE_LAYOUT_IN_TRANSACTION) ? 0 : layout->id;
	ListCell   *lc;

	constant->target = target;
	constant->isnull = true;
	foreach(lc, layouts)
	{
		const SeLayout *later = lfirst(lc);
		const SeLayoutColumn *column = later->id > after ? se_layout_column(later, attno) : NULL;

		if (column == NULL)
			continue;
		if (column->has_missing)
		{
			/* the value is of the type that the column had then */
			SeConversion *conversion = se_convert_new(later, layouts, desc, attno);
			Datum		value = column->missing;

			constant->isnull = false;
			if (conversion != NULL)
				value = se_convert_value(conversion, value, &constant->isnull);
			if (!constant->isnull)
				constant->value = datumCopy(value, se_compat_attr(desc, attno - 1)->attbyval,
											se_compat_attr(desc, attno - 1)->attlen);
		}
		return;
	}
}

/* Find the columns whose offset is the same in every row without nulls. */
static void
plan_fixed_part(SeUnpacker *unpacker)
{
	uint32		offset = 0;
	int			i;

	for (i = 0; i < unpacker->nsteps && unpacker->steps[i].len > 0; i++)
	{
		const UnpackStep *step = &unpacker->steps[i];

		offset = TYPEALIGN(step->align, offset);
		if (step->target >= 0)
		{
			UnpackFixed *fixed = &unpacker->fixed[unpacker->nfixed++];

			fixed->offset = offset;
			fixed->len = step->len;
			fixed->byval = step->byval;
			fixed->target = step->target;
		}
		offset += step->len;
	}
	unpacker->walk_from = i;
	unpacker->walk_offset = offset;
}

static inline Datum
fetch_datum(const char *at, bool byval, int16 len)
{
	if (!byval)
		return PointerGetDatum(at);
	switch (len)
	{
		case sizeof(int64):
			return Int64GetDatum(*(const int64 *) at);
		case sizeof(int32):
			return Int32GetDatum(*(const int32 *) at);
		case sizeof(int16):
			return Int16GetDatum(*(const int16 *) at);
		default:
			return CharGetDatum(*at);
	}
}

/* Unpack the wanted columns of the row at *cursor and go behind it. */
void
se_row_unpack(const SeUnpacker *unpacker, const char **cursor, const char *end,
			  Datum *values, bool *nulls, uint8 *kind)
{
	unpack_row(unpacker, cursor, end, values, nulls, kind);
	for (int i = 0; i < unpacker->nconversions; i++)
	{
		int			target = unpacker->conversions[i].target;

		values[target] = se_convert_value(unpacker->conversions[i].conversion, values[target], &nulls[target]);
	}
}

bool
se_row_unpacker_converts(const SeUnpacker *unpacker)
{
	return unpacker->nconversions > 0;
}

static void
unpack_row(const SeUnpacker *unpacker, const char **cursor, const char *end,
		   Datum *values, bool *nulls, uint8 *kind)
{
	const char *row = *cursor;
	const SeRowHead *head = (const SeRowHead *) row;
	const char *data;
	uint32		size;

	if (unlikely(end - row < (ptrdiff_t) sizeof(SeRowHead)))
		row_damaged("it has no head");
	Assert((uintptr_t) row % 8 == 0);
	if (unlikely(head->length % 8 != 0 || head->length > end - row ||
				 head->data_offset < sizeof(SeRowHead) || head->data_offset % 8 != 0 ||
				 head->data_offset > head->length))
		row_damaged("its length does not fit the message");
	if (unlikely((head->flags & ~(SE_ROW_HAS_NULLS | SE_ROW_PASSED)) != 0 || head->kind > SE_ROW_DELETE))
		row_damaged("unknown flags or row kind");
	data = row + head->data_offset;
	size = head->length - head->data_offset;
	*cursor = row + head->length;
	*kind = head->kind;

	for (int i = 0; i < unpacker->nconstants; i++)
	{
		const UnpackConstant *constant = &unpacker->constants[i];

		values[constant->target] = constant->value;
		nulls[constant->target] = constant->isnull;
	}

	if (head->flags & SE_ROW_HAS_NULLS)
	{
		if (unlikely(head->data_offset < sizeof(SeRowHead) + se_row_bitmap_bytes(unpacker->ncolumns)))
			row_damaged("its null bitmap is too short");
		unpack_walk(unpacker, 0, 0, (const uint8 *) row + sizeof(SeRowHead), data, size, values, nulls);
		return;
	}

	if (unlikely(unpacker->walk_offset > size))
		row_damaged("it ends before its last column");
	for (int i = 0; i < unpacker->nfixed; i++)
	{
		const UnpackFixed *fixed = &unpacker->fixed[i];

		values[fixed->target] = fetch_datum(data + fixed->offset, fixed->byval, fixed->len);
		nulls[fixed->target] = false;
	}
	if (unpacker->walk_from < unpacker->nsteps)
		unpack_walk(unpacker, unpacker->walk_from, unpacker->walk_offset, NULL, data, size, values, nulls);
}

/* Walk the columns one by one from a step whose data begins at `offset` or its padding. */
static void
unpack_walk(const SeUnpacker *unpacker, int step, uint32 offset, const uint8 *bitmap,
			const char *data, uint32 size, Datum *values, bool *nulls)
{
	for (; step < unpacker->nsteps; step++)
	{
		const UnpackStep *column = &unpacker->steps[step];
		uint32		len;

		if (bitmap != NULL && !(bitmap[step / 8] & (1 << (step % 8))))
		{
			if (column->target >= 0)
			{
				values[column->target] = (Datum) 0;
				nulls[column->target] = true;
			}
			continue;
		}

		if (column->len > 0)
		{
			offset = TYPEALIGN(column->align, offset);
			len = column->len;
		}
		else
		{
			/* A zero is padding before, or the first byte of, a long header. */
			if (unlikely(offset >= size))
				row_damaged("it ends before its last column");
			if (data[offset] == 0)
				offset = TYPEALIGN(column->align, offset);
			if (unlikely(offset >= size || VARATT_IS_EXTERNAL(data + offset) ||
						 (!VARATT_IS_SHORT(data + offset) &&
						  (size - offset < VARHDRSZ || VARSIZE(data + offset) < VARHDRSZ))))
				row_damaged("a value has no valid length");
			len = VARSIZE_ANY(data + offset);
		}
		if (unlikely(offset > size || len > size - offset))
			row_damaged("it ends before its last column");
		if (column->target >= 0)
		{
			values[column->target] = fetch_datum(data + offset, column->byval, column->len);
			nulls[column->target] = false;
		}
		offset += len;
	}
}

static void
row_damaged(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a row of the stream log is damaged: %s", what)));
}
