/*
 * runtime/retain.h
 *		When the replication slot that keeps our WAL may move (I3).
 */
#ifndef SE_RETAIN_H
#define SE_RETAIN_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

typedef struct SeRetainNeed
{
	bool		jobs;			/* is there any job with a claim? */
	XLogRecPtr	lsn;			/* WAL is needed from here; Invalid: move nothing */
} SeRetainNeed;

/*
 * What the jobs (SeJobMeta list) and the holds need. `hold` was read before the
 * snapshot of this transaction was taken. Runs in: coordinator, in a transaction.
 */
extern SeRetainNeed se_retain_need(List *jobs, XLogRecPtr hold);

/* Has the database any stream, so that there may be jobs soon? In a transaction. */
extern bool se_retain_has_streams(void);

/*
 * Make the slot agree with the need: made, moved, or dropped. Outside a transaction.
 * Returns milliseconds until it wants to be called again, -1 if only for news. *kept: the
 * slot keeps all that is needed (or nothing is).
 */
extern long se_retain_apply(const SeRetainNeed *need, XLogRecPtr hold, bool *kept);

#endif							/* SE_RETAIN_H */
