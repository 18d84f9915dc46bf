/*
 * flow/guard.h
 *		Running expressions so that a row that raises an error can be left out.
 */
#ifndef SE_GUARD_H
#define SE_GUARD_H

#include "base/se.h"
#include "flow/operator.h"

/* Work over rows that can be called again after an error, and then goes on behind the row that raised it. */
typedef void (*SeGuardBody) (void *arg);

/*
 * Call body until it returns. While it evaluates a row, env->current_batch and current_row say which
 * one; body must store nothing that outlives the batch before all its rows are evaluated. A data error
 * of a row with a place goes to env->side, and `again` (may be NULL) is called before body is called once more:
 * an expression that raised must be made anew. Any other error is passed on.
 *
 * `guarded` false: body is called once, and errors pass. Context: a round.
 */
extern void se_guard_run(SeOperatorEnv *env, bool guarded, SeGuardBody body, SeGuardBody again, void *arg);

/* Would an error of this row be caught? */
static inline bool
se_guard_wants(const SeOperatorEnv *env, const SeBatch *batch, int row)
{
	return env->side != NULL && env->side->on_error != SE_ON_ERROR_STOP && batch->places[row].major != 0;
}

#endif							/* SE_GUARD_H */
