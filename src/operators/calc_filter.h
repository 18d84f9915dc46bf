/*
 * operators/calc_filter.h
 *		Conditions that are decided by the batch: a comparison of a column with a constant, a boolean column, IS [NOT] NULL.
 */
#ifndef SE_CALC_FILTER_H
#define SE_CALC_FILTER_H

#include "flow/row.h"
#include "nodes/primnodes.h"

typedef enum SeFilterKind
{
	FILTER_INT16,				/* range of an int64 made from … */
	FILTER_INT32,
	FILTER_INT64,
	FILTER_BOOL,
	FILTER_FLOAT4,
	FILTER_FLOAT8,
	FILTER_TEXT,				/* equals bytes */
	FILTER_NULL					/* is null */
} SeFilterKind;

typedef struct SeFilter
{
	SeFilterKind kind;
	int			column;
	bool		invert;			/* passes where the test below says no; NULL still fails */
	int64		lo;
	int64		hi;
	const char *bytes;			/* FILTER_TEXT */
	int			nbytes;
} SeFilter;

/* Turn a condition into a filter, or say that the interpreter must decide it. The current context keeps its bytes. */
extern bool se_filter_make(Expr *qual, SeFilter *filter);

/* Of the rows whose numbers are given, keep those that pass; returns how many. Cannot fail but for detoasting. */
extern int	se_filter_run(const SeFilter *filter, const SeBatch *batch, int *rows, int nrows);

#endif							/* SE_CALC_FILTER_H */
