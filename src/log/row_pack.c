/*
 * log/row_pack.c
 *		A row to bytes.
 *
 * The byte table is in log/row_pack.h.  Attribute data looks like a heap tuple's: short
 * varlena headers where the column allows them, alignment counted from the start of
 * the data, padding bytes zero (the zero tells a reader where a long header begins).
 *
 * This runs for every row that is written, so each value is looked at once: flattened
 * if it must be, measured, and stored.  The buffer's length moves when the row is
 * whole: a row that is refused, or fails, leaves nothing.
 *
 * No locks.  Runs in: sessions.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tupmacs.h"
#include "base/compat.h"
#include "log/row_bytes.h"
#include "log/row_pack.h"

/* A row on its way into a buffer. */
typedef struct Row
{
	StringInfo	buf;
	Size		data;			/* where its data begins in the buffer */
	Size		offset;			/* where the next value's padding begins, from there */
	Size		room;			/* that all columns of fixed length need behind it */
} Row;

static bool store_varlena(Row *row, const SeLayoutColumn *column, const struct varlena *value, Size max);
static Size varlena_bytes(const SeLayoutColumn *column, const struct varlena *value, Size offset);

/* Zeroes up to the next multiple of `align`, a power of two. There is room for them. */
static inline Size
pad(char *data, Size offset, Size align)
{
	Size		to = TYPEALIGN(align, offset);

	while (offset < to)
		data[offset++] = 0;
	return to;
}

/* Room for `size` bytes behind the row's data so far; a StringInfo's own check for every value costs more. */
static inline void
need(Row *row, Size size)
{
	Size		used = row->data + row->offset - row->buf->len;

	if (unlikely(row->data + row->offset + size >= row->buf->maxlen))
		enlargeStringInfo(row->buf, used + size);
}

bool
se_row_pack_append(StringInfo buf, const SeLayout *layout, const Datum *values, const bool *nulls,
				   uint8 kind, Size max)
{
	Row			row = {.buf = buf,.data = buf->len};
	SeRowHead	head = {.kind = kind};

	Assert(buf->len % 8 == 0);
	for (int i = 0; i < layout->ncolumns; i++)
		if (nulls[layout->columns[i].attno - 1])
			head.flags = SE_ROW_HAS_NULLS;
	head.data_offset = se_row_data_offset(layout->ncolumns, head.flags != 0);
	row.room = layout->fixed_room;
	need(&row, head.data_offset + row.room);
	if (head.flags != 0)
	{
		uint8	   *bitmap = (uint8 *) buf->data + buf->len + sizeof(head);

		memset(bitmap, 0, head.data_offset - sizeof(head));
		for (int i = 0; i < layout->ncolumns; i++)
			if (!nulls[layout->columns[i].attno - 1])
				bitmap[i / 8] |= 1 << (i % 8);
	}

	row.data += head.data_offset;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const SeLayoutColumn *column = &layout->columns[i];
		Datum		value = values[column->attno - 1];
		char	   *data = buf->data + row.data;

		if (head.flags != 0 && nulls[column->attno - 1])
			continue;
		if (column->len < 0)
		{
			if (!store_varlena(&row, column, (struct varlena *) DatumGetPointer(value), max))
				return false;
			continue;
		}
		row.offset = pad(data, row.offset, column->align_bytes);
		if (column->byval)
			store_att_byval(data + row.offset, value, column->len);
		else
			memcpy(data + row.offset, DatumGetPointer(value), column->len);
		row.offset += column->len;
	}

	row.offset = pad(buf->data + row.data, row.offset, 8);
	head.length = head.data_offset + row.offset;
	if (head.length > max)
		return false;
	memcpy(buf->data + buf->len, &head, sizeof(head));
	buf->len += head.length;
	buf->data[buf->len] = '\0';
	return true;
}

/* Store a value of varying length; false if the row is above `max` with it. */
static bool
store_varlena(Row *row, const SeLayoutColumn *column, const struct varlena *value, Size max)
{
	Size		size;
	char	   *data;

	if (unlikely(VARATT_IS_EXTERNAL(value)))
	{
		if (varlena_bytes(column, value, 0) > max)
			return false;
		value = detoast_external_attr(unconstify(struct varlena *, value));
	}
	size = VARSIZE_ANY(value);
	if (unlikely(row->offset + size > max + VARHDRSZ))
		return false;
	need(row, size + MAXIMUM_ALIGNOF + row->room);
	data = row->buf->data + row->data;
	if (column->packable && VARATT_CAN_MAKE_SHORT(value))
	{
		size = VARATT_CONVERTED_SHORT_SIZE(value);
		SET_VARSIZE_SHORT(data + row->offset, size);
		memcpy(data + row->offset + 1, VARDATA(value), size - 1);
	}
	else
	{
		if (!VARATT_IS_SHORT(value))
			row->offset = pad(data, row->offset, column->align_bytes);
		memcpy(data + row->offset, value, size);
	}
	row->offset += size;
	return true;
}

/* Bytes the row takes, or about so many if its values are not flat. */
Size
se_row_pack_size(const SeLayout *layout, const Datum *values, const bool *nulls)
{
	bool		has_nulls = false;
	Size		data = 0;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const SeLayoutColumn *column = &layout->columns[i];

		if (nulls[column->attno - 1])
			has_nulls = true;
		else if (column->len > 0)
			data = TYPEALIGN(column->align_bytes, data) + column->len;
		else
			data += varlena_bytes(column, (struct varlena *) DatumGetPointer(values[column->attno - 1]), data);
	}
	return TYPEALIGN(8, se_row_data_offset(layout->ncolumns, has_nulls) + data);
}

/* Bytes a value of varying length adds at a data offset, with the padding before it. */
static Size
varlena_bytes(const SeLayoutColumn *column, const struct varlena *value, Size offset)
{
	Size		padding = TYPEALIGN(column->align_bytes, offset) - offset;

	if (VARATT_IS_EXTERNAL(value))
		return padding + toast_raw_datum_size(PointerGetDatum(value));
	if (column->packable && VARATT_CAN_MAKE_SHORT(value))
		return VARATT_CONVERTED_SHORT_SIZE(value);
	if (VARATT_IS_SHORT(value))
		return VARSIZE_SHORT(value);
	return padding + VARSIZE(value);
}
