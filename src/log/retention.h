/*
 * log/retention.h
 *		The replication slot that keeps the WAL our jobs need (I3).
 *
 * One physical slot per database, held only while it is moved; on a standby one for all
 * of them, whose database is InvalidOid.
 */
#ifndef SE_RETENTION_H
#define SE_RETENTION_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

/* "stream_engine_<database oid>", or "stream_engine_standby" */
extern char *se_retention_slot_name(Oid database);

/*
 * Make sure the slot of this database exists and reserves WAL. Runs in: a session at
 * CREATE (before it registers its hold's LSN as safe), and the coordinator.
 */
extern void se_retention_ensure(void);

/* The same of the standby's slot; ERROR if recovery has ended. Runs in: standby process. */
extern void se_retention_ensure_standby(void);

/*
 * As se_retention_ensure; and if the slot keeps less than what is still there from
 * `wanted` on, let it keep that too. Returns from where it keeps WAL, at or after
 * wanted unless it kept older WAL anyway. Runs in: a session at CREATE with start =
 * 'earliest', which has registered a hold.
 */
extern XLogRecPtr se_retention_reach_back(XLogRecPtr wanted);

/*
 * Move the slot of a database to `restart`. The caller has applied I3's exact rule:
 * `restart` is at most every durable position and every hold. Behind the slot's place it
 * is moved back, even where WAL is missing, so that no checkpoint removes segments that
 * a person copies from an archive; but not as far back as max_slot_wal_keep_size would
 * invalidate it. Runs in: coordinator; standby process, where it does nothing once
 * recovery has ended. Returns false if somebody else holds the slot now (try later).
 */
extern bool se_retention_move(Oid database, XLogRecPtr restart);

/* restart_lsn of the slot; InvalidXLogRecPtr if it does not exist. *lost if it was invalidated. */
extern XLogRecPtr se_retention_restart_lsn(Oid database, bool *lost);

/* Drop the slot of a database if it is there. Runs in: launcher, coordinator, standby process. */
extern void se_retention_drop(Oid database);

/* Databases (Oid list) that a slot of ours is named after, whether they exist or not. */
extern List *se_retention_databases(void);

/* End of the WAL that can be read: flushed, or replayed. */
extern XLogRecPtr se_retention_end(void);

/* Oldest LSN that can still be read from pg_wal. */
extern XLogRecPtr se_retention_oldest_lsn(void);

/*
 * The end of everything inserted so far, safe to give to XLogFlush, after
 * flushing it. Not in recovery.
 */
extern XLogRecPtr se_retention_flush_all(void);

#endif							/* SE_RETENTION_H */
