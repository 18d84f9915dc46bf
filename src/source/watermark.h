/*
 * source/watermark.h
 *		What a row says about event time: the stream's watermark expression, evaluated.
 *
 * Context: task worker, in a round.
 */
#ifndef SE_WATERMARK_H
#define SE_WATERMARK_H

#include "base/se.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

typedef struct SeWatermark SeWatermark;

/* The stream's expression, ready to run, in the current context; NULL if it has none. */
extern SeWatermark *se_watermark_new(Relation stream);

/* The columns it reads, attribute numbers. */
extern List *se_watermark_columns(const SeWatermark *watermark);

/* Say what the rows that follow are: wanted[i] is the attribute number of values[i], 0 = none. */
extern void se_watermark_bind(SeWatermark *watermark, const AttrNumber *wanted, int nwanted);

/*
 * All rows with an event time below the result have arrived, says this row; SE_TIME_MIN
 * if it says nothing (NULL, infinity, or out of the calendar). An expression that has to be executed runs as the
 * stream's owner, under the stream's settings; these stay in force until se_watermark_unpin. An error
 * leaves them to the abort of the transaction, which undoes both.
 */
extern SeTime se_watermark_of_row(SeWatermark *watermark, const Datum *values, const bool *nulls);
extern void se_watermark_unpin(SeWatermark *watermark);

#endif							/* SE_WATERMARK_H */
