/*
 * base/job_slot.h
 *		What is shared about a running job: one slot per job, in shared memory.
 *
 * Words: a *job* is named by its result table's OID within its database; a *slot*
 * is the place in shared memory through which sessions, the coordinator and the
 * job's worker talk. Slots are taken by the coordinator when it first sees the job
 * in the catalog and freed by it when the job is gone; `generation` tells a late
 * waiter that the slot now belongs to somebody else.
 *
 * States (the ones `stream_engine.jobs` shows):
 *
 *	   (catalog) --> STARTING --> RUNNING --> STOPPING --> STOPPED
 *						|  ^		 |
 *						|  +-- RESTARTING (error; back-off runs)
 *						+---> FAILED	 data error, or WAL lost: a person decides
 *						+---> WAITING	 no free worker, a lock on the result: retried by itself;
 *									 also with no slot, see runtime/waiting.c
 *	   DORMANT: the catalog row carries another cluster's identity
 */
#ifndef SE_JOB_SLOT_H
#define SE_JOB_SLOT_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

typedef enum SeJobState
{
	SE_JOB_STARTING = 1,
	SE_JOB_RUNNING,
	SE_JOB_STOPPING,
	SE_JOB_STOPPED,
	SE_JOB_RESTARTING,
	SE_JOB_FAILED,
	SE_JOB_WAITING,
	SE_JOB_DORMANT
} SeJobState;

/* Counters a worker publishes; readers take them without a lock. */
typedef enum SeJobCounter
{
	SE_COUNT_ROWS_IN,			/* rows the source delivered */
	SE_COUNT_ROWS_OUT,			/* rows written to the result (inserts + updates) */
	SE_COUNT_ROWS_NOT_TAKEN,	/* result rows that a BEFORE trigger turned away */
	SE_COUNT_LATE_ROWS,			/* rows late for all their windows */
	SE_COUNT_LATE_PAIRS,		/* (row, window) pairs missed */
	SE_COUNT_COMMITS,
	SE_COUNT_COMMIT_US,			/* time spent in commits, summed */
	SE_COUNT_COMMIT_BYTES,		/* state chunk bytes written, summed */
	SE_COUNT_LAST_COMMIT,		/* gauge: when, TimestampTz */
	SE_COUNT_LAST_COMMIT_US,	/* gauge: how long it took */
	SE_COUNT_LAST_COMMIT_BYTES, /* gauge: state chunk bytes it wrote */
	SE_COUNT_STORED_BYTES,		/* gauge: all state chunks in the table */
	SE_COUNT_STATE_BYTES,		/* gauge */
	SE_COUNT_STATE_ENTRIES,		/* gauge */
	SE_COUNT_PENDING_ROWS,		/* gauge: results not yet committed */
	SE_COUNT_SKIPPED_TXNS,		/* transactions begun before the start, left out whole */
	SE_COUNT_BUSY_US,
	SE_COUNT_IDLE_US,
	SE_COUNT_LATENCY_US,		/* gauge: source commit to result commit, last commit */
	SE_COUNT_SOURCE_TIME,		/* gauge: commit time of the newest row reflected, TimestampTz */
	SE_COUNT_WAL_READ,			/* bytes of log scanned */
	SE_JOB_COUNTERS				/* number of them */
} SeJobCounter;

#define SE_JOB_ERROR_LEN 256
#define SE_JOB_MAX_OPERATORS 16

/* Live counters of one operator, indexed by graph node id. */
typedef struct SeOperatorCounters
{
	pg_atomic_uint64 kind;		/* SeNodeKind, 0 = no such node */
	pg_atomic_uint64 rows_in;
	pg_atomic_uint64 rows_out;
	pg_atomic_uint64 watermark; /* SeTime */
	pg_atomic_uint64 state_bytes;
	pg_atomic_uint64 state_entries;
} SeOperatorCounters;

typedef struct SeJobSlot
{
	/* identity: protected by SeJobShared->lock, written by the coordinator */
	bool		in_use;
	uint64		generation;
	Oid			database;
	Oid			job;

	/* life: protected by SeJobShared->lock; coordinator and worker write */
	SeJobState	state;
	int			worker_pid;		/* 0 = no worker */
	int			worker_proc;	/* index in ProcGlobal->allProcs, -1 = none */
	uint64		attempt;		/* raised by the coordinator at every start */
	uint64		attached;		/* newest attempt whose worker has come up */
	int			failures;		/* consecutive; a commit clears it */
	int64		restart_at;		/* TimestampTz of the next try while RESTARTING */
	int			error_sqlstate;
	char		error[SE_JOB_ERROR_LEN];
	bool		unwritten;		/* the error is not in job_errors yet: the coordinator's to do */
	uint64		error_attempt;	/* whose error it is */
	bool		dismissed;		/* its worker was sent away for a command: no failure; sessions write */

	/* requests: atomic, sessions write */
	pg_atomic_uint64 wanted_lsn;	/* commit at once when this is reflected */
	pg_atomic_uint64 pokes;		/* se_job_slot_poke: a request was made */
	pg_atomic_uint64 option_changes;	/* the job's options were changed: the coordinator writes, before a poke */

	/* progress: atomic, the worker writes */
	pg_atomic_uint64 read_lsn;	/* log delivered up to here */
	pg_atomic_uint64 reflected_lsn; /* all before it is in the visible result */
	pg_atomic_uint64 restart_lsn;	/* of the newest durable position: WAL needed from here */
	pg_atomic_uint64 watermark; /* SeTime, SE_TIME_MIN = none */
	pg_atomic_uint64 counters[SE_JOB_COUNTERS];
	SeOperatorCounters operators[SE_JOB_MAX_OPERATORS];

	/* waking: se_job_slot_changed, at every change of state, worker_pid or reflected_lsn */
	ConditionVariable changed;
	pg_atomic_uint64 changes;	/* how often; a waiter that compares cannot oversleep */
} SeJobSlot;

/* Registers shared memory. Runs in: _PG_init. */
extern void se_job_slot_init(void);

/* The lock over identity and life of all slots. */
extern LWLock *se_job_slot_lock(void);

/* Slot of a job in a database, or NULL. Caller holds the lock (shared at least). */
extern SeJobSlot *se_job_slot_find(Oid database, Oid job);

/* Take a free slot; NULL if stream_engine.max_jobs are in use. Caller holds the lock exclusively. */
extern SeJobSlot *se_job_slot_take(Oid database, Oid job);

/*
 * Broadcast when a slot is taken: for whoever waits for a job that has none yet; and how
 * often slots were taken or freed.
 */
extern ConditionVariable *se_job_slot_taken(void);
extern uint64 se_job_slot_generation(void);

/* LWLock tranche of the workers' state areas. */
extern int	se_job_slot_area_tranche(void);

/*
 * There is no slot for some job: wake who waits for it, so that it looks for the reason.
 * Takes the lock.
 */
extern void se_job_slot_none_free(void);

/* Free a slot and wake its waiters. Caller holds the lock exclusively. */
extern void se_job_slot_free(SeJobSlot *slot);

/* i-th slot, 0 <= i < se_max_jobs, in use or not. */
extern SeJobSlot *se_job_slot_at(int i);
extern int	se_job_slot_index(const SeJobSlot *slot);

/* Wake who waits for a job, after something it may wait for has changed. */
extern void se_job_slot_changed(SeJobSlot *slot);

/* Set a state under the lock taken here, and wake waiters. */
extern void se_job_slot_set_state(SeJobSlot *slot, SeJobState state);

/* Make a job's worker look at its slot. */
extern void se_job_slot_poke(SeJobSlot *slot);

extern const char *se_job_state_name(SeJobState state);

/* Copy a message into a place of SE_JOB_ERROR_LEN bytes, shortened between characters. */
extern void se_job_slot_clip_error(char *error, const char *message);

/*
 * Wake the workers of a database (all of them: every job reads the log), after
 * making known that the log matters up to `lsn` (so that they flush it themselves
 * if the commit was asynchronous). Runs in: sessions, after commit.
 */
extern void se_job_slot_wake_readers(Oid database, XLogRecPtr lsn);

/*
 * How often the readers of a database were woken. A worker that looks before a round
 * and after it cannot oversleep, whatever resets its latch in between.
 */
extern uint64 se_job_slot_wake_count(Oid database);

/* The highest `lsn` given to se_job_slot_wake_readers for a database. */
extern XLogRecPtr se_job_slot_announced_lsn(Oid database);

/*
 * The coordinator of a database: registered by itself, woken by sessions whose
 * commit changed a job; and the launcher likewise. Waking a coordinator that is not
 * there asks the launcher for one. A coordinator that wants to go unregisters first
 * and then looks a last time, so that no request falls between. A second coordinator of
 * a database is turned away: register gives false.
 */
extern bool se_job_slot_register_coordinator(Oid database);
extern void se_job_slot_unregister_coordinator(Oid database, bool left);
extern void se_job_slot_wake_coordinator(Oid database);

/* How often it was woken: waits for locks inside a look reset the latch of the waits between. */
extern uint64 se_job_slot_coordinator_wakes(Oid database);

extern bool se_job_slot_has_coordinator(Oid database);
extern int	se_job_slot_coordinator_pid(Oid database);	/* 0 = none */

/*
 * Workers of a database are about to be ended so that a command can have it, or our
 * tables, for itself: that is no failure of the jobs, nor, if it goes too, of the
 * coordinator. Runs in: sessions.
 */
extern void se_job_slot_dismiss(Oid database, bool coordinator);

/* Has the coordinator been sent away and not come back? Runs in: launcher. */
extern bool se_job_slot_is_dismissed(Oid database);

/* Did the coordinator of a database leave because it had nothing to do? Runs in: launcher. */
extern bool se_job_slot_coordinator_left(Oid database);
extern void se_job_slot_register_launcher(void);
extern bool se_job_slot_has_launcher(void);

/*
 * How the coordinator of a database last fared with the replication slot: sqlstate 0 when
 * all WAL its jobs need is kept, else an error. Read: true if it was kept since the server
 * started; *sqlstate and trouble (SE_JOB_ERROR_LEN bytes) tell of the last time.
 */
extern void se_job_slot_set_retention(Oid database, int sqlstate, const char *trouble);
extern bool se_job_slot_get_retention(Oid database, int *sqlstate, char *trouble);

/* Does the launcher find no free background worker for a coordinator? Runs in: launcher; anybody. */
extern void se_job_slot_set_starved(bool starved);
extern bool se_job_slot_is_starved(void);

/* Next database that asked for a coordinator, InvalidOid if none. Runs in: launcher. */
extern Oid	se_job_slot_next_request(void);
extern bool se_job_slot_has_request(void);

/* A database is gone: free its places. Runs in: launcher. */
extern void se_job_slot_forget_database(Oid database);

/* Its coordinator left: free its entry, unless there is a request or it was dismissed. Runs in: launcher. */
extern void se_job_slot_forget_idle(Oid database);
extern void se_job_slot_wake_launcher(void);

#endif							/* SE_JOB_SLOT_H */
