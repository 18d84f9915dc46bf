/*
 * log/retention.h
 *		The replication slot that keeps the WAL our jobs need (I3).
 *
 * One physical slot per database, held only while it is moved.
 */
#ifndef SE_RETENTION_H
#define SE_RETENTION_H

#include "base/se.h"
#include "access/xlogdefs.h"

/* "stream_engine_<database oid>" */
extern char *se_retention_slot_name(Oid database);

/*
 * Make sure the slot of this database exists and reserves WAL. Runs in: a session at
 * CREATE (before it registers its hold's LSN as safe), and the coordinator.
 */
extern void se_retention_ensure(void);

/*
 * As se_retention_ensure; and if the slot keeps less than what is still there from
 * `wanted` on, let it keep that too. Returns from where it keeps WAL, at or after
 * wanted unless it kept older WAL anyway. Runs in: a session at CREATE with start =
 * 'earliest', which has registered a hold.
 */
extern XLogRecPtr se_retention_reach_back(XLogRecPtr wanted);

/*
 * Move the slot to `restart`, if that is ahead of it. The caller has applied I3's
 * exact rule: `restart` is at most every durable position and every hold. Runs in:
 * coordinator. Returns false if somebody else holds the slot now (try later).
 */
extern bool se_retention_move(XLogRecPtr restart);

/* restart_lsn of the slot; InvalidXLogRecPtr if it does not exist. *lost if it was invalidated. */
extern XLogRecPtr se_retention_restart_lsn(Oid database, bool *lost);

/* Drop the slot of a database if it is there. Runs in: launcher, coordinator. */
extern void se_retention_drop(Oid database);

/* Oldest LSN that can still be read from pg_wal. */
extern XLogRecPtr se_retention_oldest_lsn(void);

/*
 * The end of everything inserted so far, safe to give to XLogFlush, after
 * flushing it. Not in recovery.
 */
extern XLogRecPtr se_retention_flush_all(void);

#endif							/* SE_RETENTION_H */
