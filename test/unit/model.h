/*
 * test/unit/model.h
 *		An operator against its definition: a test gives a model of the result, all that happens to it is here.
 *
 * Input are *steps*: rows, ticks of the clock and watermarks. A run pushes them in random batches, commits
 * now and then, and by its plan lets the output become full, restores from the last commit, reclaims
 * records, and divides one unit into two by key group. The rows of the operator go into a table, as a sink
 * would write them. After a commit with nothing left to do the table must have the rows that the model shows
 * after the same steps. The model sees steps one by one and knows nothing of batches, commits and crashes:
 * after a crash it begins anew.
 *
 *		static const Definition sums = {.create = …,.forget = …,.row = …,.show = …};
 *
 *		SE_TEST(nothing_is_lost_or_double_after_restores)
 *		{
 *			se_model_runs(500, random_sums, PLAN_CRASH);
 *		}
 *
 * Every operator here has input k, v int4, ts timestamp, gap interval, s, e timestamp, in this order, and output
 * k, what its window is, count int8, sum int8, max int4 of v. The window is nothing, one number int8, or start, end
 * and time, timestamp.
 */
#ifndef SE_TEST_MODEL_H
#define SE_TEST_MODEL_H

#include "harness.h"
#include "flow/graph.h"
#include "flow/operator.h"

/* ------------------------------------------------------------- input */

typedef enum StepKind
{
	STEP_ROW,
	STEP_TICK,					/* processing time reaches `now` */
	STEP_WATERMARK				/* it becomes that of the next step, with no row */
} StepKind;

typedef struct Step
{
	int			key;			/* -1 = NULL, as in the next two */
	int			value;
	SeTime		ts;
	int64		gap;
	SeTime		wm;				/* the watermark before it */
	StepKind	kind;
	SeTime		now;
} Step;

#define COLUMN_TS 2
#define COLUMN_GAP 3
#define COLUMN_START 4
#define COLUMN_END 5

/* n random steps of that many keys, times multiples of `unit`. With watermarks, and ticks if wanted. */
extern void se_model_random_steps(Step *steps, int n, int keys, bool ticks, int64 unit);

/* ------------------------------------------------------------- output */

typedef struct Result
{
	int			key;			/* -1 = NULL */
	SeTime		start;			/* a window's number is both; without windows they are 0 */
	SeTime		end;
	int64		count;
	int64		sum;			/* -1 = NULL, as max */
	int			max;
	bool		final;			/* must not be touched any more; for tests that want it so */
	int			commit;			/* that it came with */
} Result;

typedef struct Table
{
	Result	   *rows;
	int			n;
	int			room;
} Table;

/* The aggregates of no rows, of one alone, and of one more. */
extern const Result se_model_nothing;
extern Result se_model_result(const Step *row, SeTime start, SeTime end);
extern void se_model_add(Result *to, const Result *more);

/* Where a row is that is the same; n if nowhere. The last ones are looked at first. */
extern int	se_model_find(const Table *table, const Result *row, bool (*same) (const Result *, const Result *));
extern void se_model_put(Table *table, int at, const Result *row);
extern void se_model_copy(Table *to, const Table *from);

extern bool se_model_same_window(const Result *a, const Result *b);
extern bool se_model_same_key(const Result *a, const Result *b);
extern bool se_model_equal(const Result *a, const Result *b);

/* ------------------------------------------------------------- the definition */

typedef struct Model Model;

typedef struct Definition
{
	SeOperator *(*create) (const Model *model, SeOperatorEnv *env);

	/* Results that change: which row takes the place of which. Not called while model->append. */
	bool		(*same) (const Result *a, const Result *b);
	bool		once;			/* a row comes once per commit */
	bool		changed;		/* and not as it was, but after crashes */
	bool		any_insert;		/* +I may come for a row that is there */
	bool		any_delete;		/* -D may come for a row that is not there */
	SeTime		behind;			/* append: how much later than its end a window comes */
	bool		leaves_nothing; /* at the end no byte of state is held */

	/* The model: nothing was seen; a row; the watermark, never lower; a tick (may be NULL). */
	void		(*forget) (Model *model);
	void		(*row) (Model *model, const Step *row);
	void		(*reach) (Model *model, SeTime wm);
	void		(*tick) (Model *model, SeTime now);

	/* What a commit shows now, in any order. Or check it, if that is not known exactly. */
	void		(*show) (Model *model, Table *want);
	void		(*check) (Model *model, Table *table);

	/*
	 * For plans: between two batches; at a commit after so many steps, true if the operator is to restart with other
	 * settings.
	 */
	void		(*disturb) (SeOperator *op);
	bool		(*alter) (Model *model, int at);
	bool		adopts;			/* the one with other settings cannot read the records, but adopt the state */

	/* How many bytes at the end of a record one of an older version lacks. */
	int			newer_tail;

	/* The settings, for messages. */
	const char *(*describe) (const Model *model);
} Definition;

/* First member of a test's own. */
struct Model
{
	/* settings */
	const Definition *definition;
	const SeNode *node;
	const SeWindow *carried;	/* rows carry these windows of theirs; NULL: none */
	bool		rows_tick;		/* a row's ts is what the clock says: units that do not get it are told by a tick */
	bool		append;			/* rows of the result are only inserted */
	bool		present;		/* one without keys: its row is in the result from the beginning */
	Step	   *steps;			/* one more than nsteps: the watermark after the last */
	int			nsteps;

	/* what it has seen: kept by model.c */
	int			at;				/* steps */
	SeTime		wm;

	/* counted by the definition */
	int64		late_rows;
	int64		late_pairs;
	int64		entries;		/* that the operator must hold; -1 = not known */
};

/* Fill the parts of a node that all have; `window`: how many columns say what the window is, -1 = not even a key. */
extern void se_model_init(Model *model, const Definition *definition, SeNode *node, int kind, int window, int nsteps);
extern List *se_model_calls(void);

/* The watermark after the first n steps; that after all is 'infinity'. */
extern SeTime se_model_watermark_after(const Model *model, int n);

/* The model has seen so many steps: from the beginning if it had seen more. */
extern void se_model_follow(Model *model, int upto);

/* The table has the rows that the model shows. */
extern void se_model_check_rows(Model *model, const Table *table);

/* ------------------------------------------------------------- runs */

/* What happens to the operator besides batches and commits. */
typedef enum Plan
{
	PLAN_PLAIN = 0,
	PLAN_FULL = 1,				/* the output fills up now and then */
	PLAN_CRASH = 2,				/* restores from the last commit now and then */
	PLAN_RECLAIM = 4,			/* commits delete the oldest records now and then */
	PLAN_DIVIDE = 8,			/* one unit becomes two */
	PLAN_DISTURB = 16,			/* as the definition says, as the next */
	PLAN_ALTER = 32
} Plan;

typedef struct Log
{
	SeSnapshotWriter writer;	/* first */
	StringInfoData *records;
	int			n;
	int			room;
} Log;

/* An operator with its sink, state and log. */
typedef struct Unit
{
	SeOperator	sink;			/* first */
	struct Run *run;
	SeOperatorEnv *env;
	SeOperatorEnv saved;		/* as of the last commit, as all that is `saved` */
	SeOperator *op;
	Log			log;
	bool		resuming;
	bool		ended;
	SeTime		last_end;		/* of a window in its output */
	SeTime		saved_last_end;
} Unit;

typedef struct Run
{
	Model	   *model;
	int			plan;			/* Plan, put together */
	Unit		units[2];
	int			nunits;
	SeBatch    *batch;
	struct SeKeys *keys;
	int			at;				/* steps taken */
	int			saved_at;
	SeTime		given;			/* watermark given to the operator so far */
	SeTime		saved_given;
	int			full_after;		/* batches until the output is full, 0 = never */
	int			most;			/* rows of a batch */

	/* output */
	Table		table;
	Table		saved;
	bool		moving;			/* a -U came, whose +U is next */
	int			commits;
	int			emitted;		/* since the last commit */
	bool		deaf;			/* rows are only counted */
} Run;

/* What happened in runs: tests show by it that they saw what they are for. */
typedef struct Seen
{
	int64		inserts;
	int64		updates;
	int64		deletes;
	int64		moves;			/* -U +U */
	int64		checks;			/* before the end */
	int64		alters;
	int64		late_rows;
	int64		of_unit[2];		/* rows after a division */
	int64		divided_open;	/* divisions with rows in the state */
} Seen;

extern Seen se_model_seen;
extern const SeOperatorOps se_model_sink;	/* of a Unit */

/* So many runs, each with a model of its own: se_model_seen is about these. */
extern void se_model_runs(int times, Model *(*random_model) (void), int plan);

/* Records of a run with this model that have one bit or the end wrong are refused, or can be gone on with. */
extern void se_model_damage(Model *model, int times);

/* For tests that do it step by step: a run with one unit. */
extern Run *se_model_start(Model *model);
extern void se_model_push(Run *run, const Step *rows, int n, SeTime wm_end);
extern void se_model_watermark(Run *run, SeTime wm);
extern void se_model_commit(Run *run, bool reclaim);
extern void se_model_restart(Run *run);
extern void se_model_adopt(Run *run);
extern void se_model_forget_log(Run *run);

#endif							/* SE_TEST_MODEL_H */
