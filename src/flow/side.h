/*
 * flow/side.h
 *		The side ways of a row: late for all its windows, or one that raises an error.
 *
 * An operator that meets such a row hands it over and goes on without it. Who made the
 * chain decides what becomes of it (runtime/side.c): it is counted, and kept until the
 * commit, which writes it where the view's options say. A view without any of these
 * options has no side (env->side is NULL).
 *
 * The *whole* row is the stream's, with columns that the query does not read. Its source
 * gives it by its place as long as it stands in the batch that was polled last; a row
 * that is kept longer (operators/stash.c) is kept with it.
 *
 * Runs in: task worker, in a round.
 */
#ifndef SE_SIDE_H
#define SE_SIDE_H

#include "base/se.h"
#include "flow/row.h"
#include "utils/elog.h"

/* The option on_error. */
typedef enum SeOnError
{
	SE_ON_ERROR_STOP = 0,
	SE_ON_ERROR_SKIP,
	SE_ON_ERROR_DEAD_LETTER
} SeOnError;

typedef struct SeSide SeSide;

struct SeSide
{
	SeOnError	on_error;
	bool		late_output;

	/* A row is late for all its windows: keep it if there is a late_output. */
	void		(*late) (SeSide *side, const SeBatch *batch, int row);

	/* A row raised an error and goes no further: count it, and keep it as the option says. */
	void		(*failed) (SeSide *side, const SeBatch *batch, int row, const ErrorData *error);

	/*
	 * Is it a row that failed after it had been stored? Asked for every row that comes in, from a source or out of
	 * saved state; it is then dropped, and counted and kept by us.
	 */
	bool		(*is_left_out) (SeSide *side, const SeBatch *batch, int row);

	/*
	 * The whole row as jsonb text in the current context, for who keeps a row longer than its batch; NULL if nobody
	 * will want it.
	 */
	char	   *(*whole) (SeSide *side, const SeBatch *batch, int row);
};

/* SQLSTATE classes 22 and 23, and 54000: an error that the row's data caused (design 9). */
extern bool se_side_is_data_error(int sqlstate);

#endif							/* SE_SIDE_H */
