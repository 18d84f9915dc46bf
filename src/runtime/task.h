/*
 * runtime/task.h
 *		A running unit: what the files of the task worker share.
 *
 * Words: a *round* is one read-only transaction in which rows are polled and pushed;
 * a *commit* is the one writing transaction that makes results, state and positions
 * visible together (I5). A unit is *dirty* when a commit would change something.
 *
 * Everything here is private to the worker process; what others see is in the job
 * slot (base/job_slot.h).
 */
#ifndef SE_TASK_H
#define SE_TASK_H

#include "base/job_slot.h"
#include "checkpoint/checkpoint.h"
#include "flow/operator.h"
#include "meta/jobs.h"
#include "runtime/chain.h"
#include "utils/timestamp.h"

/* Handed to the worker in bgw_extra: which start of which job this is. */
typedef struct SeTaskTicket
{
	Oid			job;
	int			slot;			/* index */
	uint64		generation;
	uint64		attempt;
} SeTaskTicket;

typedef enum SeRoundOutcome
{
	SE_ROUND_MORE,				/* there is more to do at once */
	SE_ROUND_IDLE,				/* the sources have nothing now */
	SE_ROUND_FULL,				/* results reached their bound: commit before anything else */
	SE_ROUND_OPTIONS,			/* the sources stand before a mark that changes the view's options */
	SE_ROUND_OUTDATED,			/* what the chain was made of has changed */
	SE_ROUND_GONE				/* the result table is gone */
} SeRoundOutcome;

typedef struct SeTask
{
	/* identity */
	Oid			job;
	int			unit;
	int64		attempt;
	SeJobSlot  *slot;
	char	   *name;			/* schema.view, for people */
	char	   *restart_option; /* "none": an error stops the view */

	/* settings of the view */
	int			checkpoint_interval;	/* ms */
	List	   *options;		/* those that the log moves, as in effect here (meta/options.h) */
	XLogRecPtr	options_lsn;	/* of the ALTER that said so */
	bool		windowed;		/* groups have windows, which become final … */
	int64		lateness;		/* … so long after their end, µs */
	SeTime		final_to;		/* as of the last commit */
	bool		by_clock;		/* since then nothing but the clock has moved the watermark */
	SeTime		final_since;	/* the clock at the last commit */
	int			final_wait;		/* ms from there to one that only says what the clock has made final, 0 = as at first */

	/* dataflow */
	MemoryContext memory;		/* as long as the worker */
	MemoryContext commit_memory;	/* reset at every commit */
	SeOperatorEnv env;
	SeChain    *chain;
	SeStore    *store;
	List	   *skip;			/* SePlace *: rows a person told us to leave out */
	const char *late_output_asked;	/* what the option says now; what is in effect may be another */
	struct SeTaskSide *side;	/* late and failing rows (side.c); NULL: the view has no option about them */
	List	   *left_out;		/* rows that failed after they were stored (side.c); outlives a restore */

	/* the last commit */
	int64		chunk_seq;
	int64		rows_in_base;	/* counters of the position row when the worker began */
	int64		rows_out_base;
	XLogRecPtr	restart_lsn;
	TimestampTz last_commit;
	TimestampTz next_commit;	/* not before this while the unit is dirty */
	uint64		sink_rows;		/* rows the sink had taken by then */

	/* since then */
	bool		dirty;
	bool		converted;		/* the chain keeps state in another way than the chunks: they are all replaced */
	int64		rows_in;		/* since the worker began */
	bool		resuming;		/* operators may have work left from a full output */

	/* what the worker measures */
	TimestampTz began;
	uint64		commits;
	uint64		commit_us;
	uint64		commit_bytes;
	uint64		told_bytes;		/* of these, when the coordinator last heard of them */
	TimestampTz busy_since;		/* 0 = it waits */
	uint64		busy_us;		/* up to then */
	uint64		idle_us;
} SeTask;

/* runtime/task_setup.c: from the catalog to a chain that stands at its position. False: nothing to run. */
extern bool se_task_setup(SeTask *task);

/*
 * runtime/task_change.c: has anything the chain was made of changed? Begun before planning, in
 * its transaction; watched from the time on when the chain is made, in one of its own.
 */
extern void se_task_watch_begin(SeTask *task, const SeJobMeta *meta);
extern void se_task_watch(SeTask *task);
extern bool se_task_is_outdated(SeTask *task);
extern void se_task_watch_end(void);

/* As it was before se_task_setup, in the same process, after an error that a row of the stream has raised. */
extern void se_task_unset(SeTask *task);

/* Lock the result and what planning will open (task_setup.c). False if the view went meanwhile. In a transaction. */
extern bool se_task_lock_sources(SeTask *task, const SeJobMeta *meta);

/* runtime/round.c */
extern SeRoundOutcome se_round_run(SeTask *task);

/*
 * Step behind the mark that the sources stand before, to its options: they come into effect with the next commit and
 * the next worker. The unit must be clean: all that came before the mark is committed under the old ones.
 */
extern void se_round_take_options(SeTask *task);

/*
 * Windows that end by then have been emitted and will never change: the watermark that has
 * come through to the sink, less the lateness that is allowed. Never goes back.
 */
extern SeTime se_task_final_to(const SeTask *task);

/*
 * runtime/convert.c: after se_round_take_options. If the state is kept in another way under the new options, the task
 * gets a chain that keeps it so and has taken over what the former one knew. SE_ROUND_MORE: go on and commit;
 * SE_ROUND_OUTDATED, SE_ROUND_GONE: end, the mark is met again.
 */
extern SeRoundOutcome se_convert_run(SeTask *task);

/* The last commit is where we stand: take its numbers over and publish them. */
extern void se_commit_begin(SeTask *task);

/* runtime/commit.c. False if the result table is gone. */
extern bool se_commit_run(SeTask *task);

/*
 * runtime/commit_lock.c: begin the writing transaction with the lock on the result. Waits
 * as long as another session holds it. False, and no transaction, if the table is gone.
 */
extern bool se_commit_lock(SeTask *task);

/* Nothing to write: move what is reflected without a transaction. */
extern void se_commit_reflect(SeTask *task);

/*
 * All was read and there is nothing to commit: failures of former workers are forgotten
 * when this one has lived for long enough. Returns the ms until then, -1 if there are none.
 */
extern long se_commit_idle(SeTask *task);

/* Everything committed before this was delivered to the chain. */
extern XLogRecPtr se_commit_read_lsn(SeTask *task);

/* Publish counters in the slot. */
extern void se_commit_publish(SeTask *task);

/* Has enough state been written for a vacuum of it to be near? Call when statistics were sent. */
extern void se_commit_tell_bytes(SeTask *task);

/* Is a position that is only ahead in WAL, not in rows, worth a commit? */
extern bool se_commit_lags(SeTask *task);

#endif							/* SE_TASK_H */
