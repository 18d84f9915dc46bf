/*
 * base/holds.h
 *		Holds: places in the WAL that a session needs kept while it works (I3).
 *
 * CREATE of a continuous view and a bounded SELECT register a hold; the coordinator
 * never moves the slot past one. The order matters: the coordinator reads the holds
 * *before* it takes the snapshot with which it reads positions, and a CREATE's hold
 * ends after its job is visible, so one of the two always protects the WAL.
 */
#ifndef SE_HOLDS_H
#define SE_HOLDS_H

#include "base/se.h"
#include "access/xlogdefs.h"

/* Handle of a hold of this process; 0 = none. */
typedef uint32 SeHold;

/*
 * Register a hold at `lsn` for this database. Released by se_hold_release, or at
 * the end of the transaction (commit or abort), or at process exit, whichever comes
 * first. Raises 53400 when all places are taken.
 */
extern SeHold se_hold_register(XLogRecPtr lsn);
extern void se_hold_release(SeHold hold);

/* The oldest hold of a database (InvalidOid: of all), InvalidXLogRecPtr if none. */
extern XLogRecPtr se_holds_oldest(Oid database);

extern void se_holds_init(void);	/* registers shared memory; _PG_init */

#endif							/* SE_HOLDS_H */
