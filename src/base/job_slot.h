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
	SE_COUNT_ROWS_RETIRED,		/* result rows deleted because of their age */
	SE_COUNT_LATE_ROWS,			/* rows late for all their windows */
	SE_COUNT_LATE_PAIRS,		/* (row, window) pairs missed */
	SE_COUNT_ERROR_ROWS,		/* left out by on_error */
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
	pg_atomic_uint64 tick_interval; /* µs between tick marks it needs, 0 = none */
	pg_atomic_uint64 stream;	/* Oid of the stream whose idleness is told of here */
	pg_atomic_uint64 idle_timeout;	/* µs, 0 = it is never idle */
	pg_atomic_uint64 active;	/* SeTime of its last sign of life, SE_TIME_MIN = not known yet */
	pg_atomic_uint64 idle;		/* 1 = an idle mark was met, and nothing since */
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
 * There is no slot for some job, or the job is gone: wake who waits for one that has no
 * slot, so that it looks for the reason. Takes the lock.
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
 * For base/database_slot.c: wake a process by its number (-1 = none), all workers of a database; say that they
 * are sent away; free the slots of a database that is gone. The last two take the lock.
 */
extern void se_job_slot_wake_process(int proc_number);
extern void se_job_slot_wake_workers(Oid database);
extern void se_job_slot_dismiss_workers(Oid database);
extern void se_job_slot_free_database(Oid database);

#endif							/* SE_JOB_SLOT_H */
