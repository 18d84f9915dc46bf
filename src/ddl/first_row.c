/*
 * ddl/first_row.c
 *		The row an aggregate without GROUP BY has before any input: (0, NULL, …).
 *
 * It is what the query itself returns over nothing: scans of streams return no rows
 * while it runs. HAVING may make it no row.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "ddl/ddl_internal.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "flow/operator.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "sink/table_writer.h"
#include "source/bounded_read.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

static void run_over_nothing(Query *query, const char *query_string, Tuplestorestate *rows);
static int64 insert_rows(Oid table, TupleDesc desc, Tuplestorestate *rows);
static void count_rows(Oid job, int64 nrows);

/* An aggregate over everything has its one row before any input. */
bool
se_first_row_is_due(const SeGraph *graph)
{
	ListCell   *cell;

	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);

		if (node->kind == SE_NODE_GROUP_AGG && ((SeGroupAggNode *) node)->keys == NIL)
			return true;
	}
	return false;
}

/*
 * As the current user, in a restricted operation, the insertion as well: a table that is
 * not new has triggers and constraints.
 */
void
se_first_row_insert(Oid table, Query *query, const char *query_string)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	Oid			user;
	int			security;
	int			nest_level = NewGUCNestLevel();
	int64		nrows;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(user, security | SECURITY_RESTRICTED_OPERATION);
	se_bounded_read_empty = true;
	PG_TRY();
	{
		run_over_nothing(query, query_string, rows);
	}
	PG_FINALLY();
	{
		se_bounded_read_empty = false;
	}
	PG_END_TRY();
	nrows = insert_rows(table, ExecCleanTypeFromTL(query->targetList), rows);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);

	count_rows(table, nrows);
	tuplestore_end(rows);
}

static void
run_over_nothing(Query *query, const char *query_string, Tuplestorestate *rows)
{
	Query	   *rewritten = linitial_node(Query, QueryRewrite(copyObject(query)));
	PlannedStmt *plan = se_compat_plan_query(rewritten, query_string, 0);
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	QueryDesc  *run;

	SetTuplestoreDestReceiverParams(dest, rows, CurrentMemoryContext, false, NULL, NULL);
	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	run = CreateQueryDesc(plan, query_string, GetActiveSnapshot(), InvalidSnapshot, dest, NULL, NULL, 0);
	ExecutorStart(run, 0);
	se_compat_executor_run(run);
	ExecutorFinish(run);
	ExecutorEnd(run);
	FreeQueryDesc(run);
	PopActiveSnapshot();
	dest->rDestroy(dest);
}

/* As the job inserts them; returns how many the table took. */
static int64
insert_rows(Oid table, TupleDesc desc, Tuplestorestate *rows)
{
	SeOperatorEnv env = {0};
	SeTableWriter *writer = se_table_writer_open(&env, table, desc, false, NIL);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	SePlace		nowhere = {0, 0};
	int64		written;
	int64		not_taken;
	int64		growth;

	while (tuplestore_gettupleslot(rows, true, false, row))
	{
		slot_getallattrs(row);
		se_table_writer_insert(writer, nowhere, row->tts_values, row->tts_isnull);
	}
	se_table_writer_close(writer, &written, &not_taken, &growth);
	ExecDropSingleTupleTableSlot(row);
	CommandCounterIncrement();
	return growth;
}

/* The positions say how many rows the result has. */
static void
count_rows(Oid job, int64 nrows)
{
	ListCell   *cell;

	foreach(cell, se_positions_list(job))
	{
		SePositionMeta *position = lfirst(cell);

		position->result_rows = nrows;
		se_positions_put(position);
	}
}
