/*
 * ddl/write_guard.c
 *		Nobody but its job writes to a result: INSERT, UPDATE, DELETE, MERGE, COPY, TRUNCATE are errors.
 *
 * The state of a job and its result agree only if all changes are the job's. Its sink
 * writes below the executor and does not come by here. A dormant job (one that came
 * from another database or cluster) has no worker, and its result is a plain table
 * until it is dropped, so that a restore can fill it.
 *
 * Every modifying statement of the database asks, so the answer is kept per relation
 * until the relation is invalidated: a job is made in the transaction that makes its
 * table, and one that was dormant is resumed with an invalidation.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/fault.h"
#include "ddl/ddl_internal.h"
#include "executor/executor.h"
#include "meta/jobs.h"
#include "parser/parsetree.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

typedef struct Answer
{
	Oid			relation;		/* key */
	bool		guarded;
} Answer;

static HTAB *answers = NULL;
static ExecutorStart_hook_type next_executor_start = NULL;

static void executor_start(QueryDesc *query, int eflags);
static bool is_guarded(Oid relation);
static void forget(Datum arg, Oid relation);

void
se_write_guard_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}

static void
executor_start(QueryDesc *query, int eflags)
{
	ListCell   *cell;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		foreach(cell, se_compat_result_relations(query->plannedstmt))
			se_write_guard_check(rt_fetch(lfirst_int(cell), query->plannedstmt->rtable)->relid);

	if (next_executor_start)
		next_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

/* COPY … FROM writes without the executor. */
bool
se_write_guard_copy(SeUtility *utility)
{
	CopyStmt   *stmt = castNode(CopyStmt, utility->pstmt->utilityStmt);

	if (stmt->is_from && stmt->relation != NULL)
	{
		Oid			view = se_view_lookup(stmt->relation);

		if (OidIsValid(view))
			se_write_guard_check(view);
	}
	return false;
}

/* ERROR (55000) if the relation is the result of a job of ours. */
void
se_write_guard_check(Oid relation)
{
	if (is_guarded(relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is maintained by stream_engine", get_rel_name(relation)),
				 errdetail("It is the result of a continuous view; only the view's job changes its rows."),
				 errhint("Write to the stream the view reads, or to a table of your own.")));
}

/* A job was made of this relation, in this transaction. */
void
se_write_guard_changed(Oid relation)
{
	CacheInvalidateRelcacheByRelid(relation);
}

static bool
is_guarded(Oid relation)
{
	Answer	   *answer;
	SeJobMeta  *job;
	bool		found;
	bool		guarded;

	if (!OidIsValid(se_meta_relation("job_catalog")) || SE_FAULT_WRONG("wrong-guard-asleep"))
		return false;
	if (answers == NULL)
	{
		HASHCTL		shape = {.keysize = sizeof(Oid),.entrysize = sizeof(Answer)};

		answers = hash_create("stream_engine write guard", 64, &shape, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
	}
	answer = hash_search(answers, &relation, HASH_FIND, NULL);
	if (answer != NULL)
		return answer->guarded;

	/* The look into the catalog may itself bring invalidations: enter afterwards. */
	job = se_jobs_exists(relation) ? se_jobs_get(relation) : NULL;
	guarded = job != NULL && se_jobs_identity_is_ours(job);
	answer = hash_search(answers, &relation, HASH_ENTER, &found);
	answer->guarded = guarded;
	return guarded;
}

/* A relation, or all of them, may have changed. */
static void
forget(Datum arg, Oid relation)
{
	HASH_SEQ_STATUS scan;
	Answer	   *answer;

	if (OidIsValid(relation))
	{
		hash_search(answers, &relation, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&scan, answers);
	while ((answer = hash_seq_search(&scan)) != NULL)
		hash_search(answers, &answer->relation, HASH_REMOVE, NULL);
}
