/*
 * ddl/first_row.c
 *		The row an aggregate without GROUP BY has before any input: (0, NULL, …).
 *
 * It is what the query itself returns over nothing: scans of streams return no rows
 * while it runs. HAVING may make it no row.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "ddl/ddl_internal.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "source/bounded_read.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

static void run_over_nothing(Query *query, const char *query_string, Tuplestorestate *rows);
static void insert_rows(Oid table, Tuplestorestate *rows);

/*
 * As the current user, in a restricted operation. The table is new and has no index,
 * trigger or constraint yet.
 */
void
se_first_row_insert(Oid table, Query *query, const char *query_string)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	Oid			user;
	int			security;
	int			nest_level = NewGUCNestLevel();

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
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);

	insert_rows(table, rows);
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

static void
insert_rows(Oid table, Tuplestorestate *rows)
{
	Relation	relation = table_open(table, RowExclusiveLock);
	TupleTableSlot *from = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsMinimalTuple);
	TupleTableSlot *to = table_slot_create(relation, NULL);

	while (tuplestore_gettupleslot(rows, true, false, from))
	{
		ExecCopySlot(to, from);
		simple_table_tuple_insert(relation, to);
	}
	ExecDropSingleTupleTableSlot(from);
	ExecDropSingleTupleTableSlot(to);
	table_close(relation, NoLock);
	CommandCounterIncrement();
}
