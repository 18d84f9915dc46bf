/*
 * runtime/side.h
 *		Late and failing rows of a view: kept until the commit, and written by it.
 */
#ifndef SE_RUNTIME_SIDE_H
#define SE_RUNTIME_SIDE_H

#include "runtime/task.h"

/*
 * Make the side of a task whose view has on_error or late_output, in task->memory; env.side and task->side stay NULL
 * without them. Before the chain is made. `late_output` is the table, InvalidOid = none. In a round.
 */
extern void se_side_begin(SeTask *task, SeOnError on_error, Oid late_output);

/* Will sources be asked for whole rows? */
extern bool se_side_keeps_rows(const SeTask *task);

/* Is so much kept, or was a row passed that had to be left out, that a commit is due? */
extern bool se_side_wants_commit(const SeTask *task);

/* Does the coming commit write into the late_output? Then its OID, else InvalidOid. */
extern Oid	se_side_writes_into(const SeTask *task);

/* Before a commit, in its round: what user code must do to make text of rows. */
extern void se_side_prepare(SeTask *task);

/* In the writing transaction: letters and late rows (I8). */
extern void se_side_write(SeTask *task);

/* The commit is visible. Cannot fail. */
extern void se_side_committed(SeTask *task);

/*
 * A row is left out from now on: the error that it raised after something of it was stored. The job is then restored,
 * and meets the row again. `place` as row_at_fault said.
 */
extern void se_side_leave_out(SeTask *task, SePlace place, const ErrorData *error);

/* In PG_CATCH: may the job go on without the row at work? Its place. */
extern bool se_side_row_at_fault(const SeTask *task, int sqlstate, SePlace *place);

/* The job is restored: rows that were left out since the last commit come again. */
extern void se_side_restored(SeTask *task);

#endif							/* SE_RUNTIME_SIDE_H */
