/*
 * source/watermark.h
 *		What a row says about event time: the stream's watermark expression, evaluated.
 *
 * Context: task worker, in a round.
 */
#ifndef SE_WATERMARK_H
#define SE_WATERMARK_H

#include "base/se.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

typedef struct SeWatermark
{
	/* the common one, a column plus a constant, needs no more than this */
	bool		native;
	int			column;			/* where its value is */
	int64		delta;

	struct SeWatermarkExpr *expr;	/* any other (source/watermark.c) */
	AttrNumber	attno;
	List	   *columns;		/* attribute numbers it reads */
	const AttrNumber *wanted;
	int			nwanted;
} SeWatermark;

/* The stream's expression, ready to run, in the current context; NULL if it has none. */
extern SeWatermark *se_watermark_new(Relation stream);

/* The columns it reads, attribute numbers. */
extern List *se_watermark_columns(const SeWatermark *watermark);

/* Say what the rows that follow are: wanted[i] is the attribute number of values[i], 0 = none. */
extern void se_watermark_bind(SeWatermark *watermark, const AttrNumber *wanted, int nwanted);

/* The same for an expression that has to be executed: see se_watermark_of_row. */
extern SeTime se_watermark_execute(SeWatermark *watermark, const Datum *values, const bool *nulls);

/*
 * All rows with an event time below the result have arrived, says this row; SE_TIME_MIN
 * if it says nothing (NULL, infinity, or out of the calendar). An expression that has to be executed runs as the
 * stream's owner, under the stream's settings; these stay in force until se_watermark_unpin. An error
 * leaves them to the abort of the transaction, which undoes both.
 */
static inline SeTime
se_watermark_of_row(SeWatermark *watermark, const Datum *values, const bool *nulls)
{
	SeTime		h;

	if (!watermark->native)
		return se_watermark_execute(watermark, values, nulls);
	if (nulls[watermark->column])
		return SE_TIME_MIN;
	h = DatumGetInt64(values[watermark->column]);
	/* outside of the calendar it asserts nothing, rather than stop everybody's views */
	if (TIMESTAMP_NOT_FINITE(h) || pg_add_s64_overflow(h, watermark->delta, &h) || !IS_VALID_TIMESTAMP(h))
		return SE_TIME_MIN;
	return h;
}

extern void se_watermark_unpin(SeWatermark *watermark);

/* An error was caught that rolled the settings back with a subtransaction: the expression is made anew. */
extern void se_watermark_recover(SeWatermark *watermark);

#endif							/* SE_WATERMARK_H */
