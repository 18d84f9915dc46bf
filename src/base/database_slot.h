/*
 * base/database_slot.h
 *		What is shared about a database: its coordinator, what was announced to its readers; and the launcher.
 *
 * Who wakes whom: a session's commit wakes the readers of its database; a change of a job
 * wakes the coordinator, or where there is none the launcher, which sends one. Wakes are counted,
 * because a wait for a lock resets the latch that they set.
 */
#ifndef SE_DATABASE_SLOT_H
#define SE_DATABASE_SLOT_H

#include "base/se.h"
#include "access/xlogdefs.h"

/* Registers shared memory. Runs in: _PG_init. */
extern void se_database_slot_init(void);

/*
 * Wake the workers of a database (all of them: every job reads the log), after
 * making known that the log matters up to `lsn` (so that they flush it themselves
 * if the commit was asynchronous). Runs in: sessions, after commit.
 */
extern void se_database_slot_wake_readers(Oid database, XLogRecPtr lsn);

/*
 * How often the readers of a database were woken. A worker that looks before a round
 * and after it cannot oversleep, whatever resets its latch in between.
 */
extern uint64 se_database_slot_wake_count(Oid database);

/* The highest `lsn` given to se_database_slot_wake_readers for a database. */
extern XLogRecPtr se_database_slot_announced_lsn(Oid database);

/* The time of the newest tick mark that was written since the server started; 0 = none. The coordinator sets it. */
extern SeTime se_database_slot_last_tick(Oid database);
extern void se_database_slot_set_tick(Oid database, SeTime tick);

/*
 * The coordinator of a database: registered by itself, woken by sessions whose
 * commit changed a job; and the launcher likewise. Waking a coordinator that is not
 * there asks the launcher for one. A coordinator that wants to go unregisters first
 * and then looks a last time, so that no request falls between. A second coordinator of
 * a database is turned away: register gives false.
 */
extern bool se_database_slot_register_coordinator(Oid database);
extern void se_database_slot_unregister_coordinator(Oid database, bool left);
extern void se_database_slot_wake_coordinator(Oid database);

/* How often it was woken: waits for locks inside a look reset the latch of the waits between. */
extern uint64 se_database_slot_coordinator_wakes(Oid database);

extern bool se_database_slot_has_coordinator(Oid database);
extern int	se_database_slot_coordinator_pid(Oid database); /* 0 = none */

/*
 * Workers of a database are about to be ended so that a command can have it, or our
 * tables, for itself: that is no failure of the jobs, nor, if it goes too, of the
 * coordinator. Runs in: sessions.
 */
extern void se_database_slot_dismiss(Oid database, bool coordinator);

/* Has the coordinator been sent away and not come back? Runs in: launcher. */
extern bool se_database_slot_is_dismissed(Oid database);

/* Did the coordinator of a database leave because it had nothing to do? Runs in: launcher. */
extern bool se_database_slot_coordinator_left(Oid database);
extern void se_database_slot_register_launcher(void);
extern bool se_database_slot_has_launcher(void);

/*
 * How the coordinator of a database last fared with the replication slot: sqlstate 0 when
 * all WAL its jobs need is kept, else an error. Read: true if it was kept since the server
 * started; *sqlstate and trouble (SE_JOB_ERROR_LEN bytes) tell of the last time.
 */
extern void se_database_slot_set_retention(Oid database, int sqlstate, const char *trouble);
extern bool se_database_slot_get_retention(Oid database, int *sqlstate, char *trouble);

/* Does the launcher find no free background worker for a coordinator? Runs in: launcher; anybody. */
extern void se_database_slot_set_starved(bool starved);
extern bool se_database_slot_is_starved(void);

/* Next database that asked for a coordinator, InvalidOid if none. Runs in: launcher. */
extern Oid	se_database_slot_next_request(void);
extern bool se_database_slot_has_request(void);

/* A database is gone: free its places. Runs in: launcher. */
extern void se_database_slot_forget_database(Oid database);

/* Its coordinator left: free its entry, unless there is a request or it was dismissed. Runs in: launcher. */
extern void se_database_slot_forget_idle(Oid database);
extern void se_database_slot_wake_launcher(void);

#endif							/* SE_DATABASE_SLOT_H */
