/*
 * source/stream_fdw.c
 *		The foreign-data wrapper: how INSERT and COPY put rows into the log.
 *
 * The executor asks nothing of a foreign table but to store the row, so what it does
 * for an ordinary table happens here: NOT NULL and CHECK constraints, a partition's own
 * bounds, row security of a partitioned parent.  Event times are checked at
 * the same door (source/event_time.c): nobody who may insert can stop other people's views with a NULL.
 *
 * There are no batch callbacks, on purpose: rows of one statement must keep their order
 * among rows that triggers and functions of the same statement write.  COPY calls in
 * the per-tuple context; what lives longer is in the query's.
 *
 * Rows cannot be changed or removed: UPDATE, DELETE and ON CONFLICT are refused when
 * planned, MERGE and TRUNCATE by PostgreSQL itself.  Scans are source/bounded_read.c's.
 *
 * Runs in: sessions.
 */
#include "postgres.h"

#include "base/se.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "flow/row.h"
#include "foreign/fdwapi.h"
#include "log/append.h"
#include "log/stream.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "source/bounded_read.h"
#include "source/event_time.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

SE_FUNCTION_INFO_V1(stream_engine_fdw_handler);

/* One result relation of a running statement. */
typedef struct StreamModify
{
	SeAppender *appender;
	SeTimeDoor *door;			/* NULL = the stream has no event time */
	bool		check_partition;	/* nobody has checked the partition's bounds */
	CmdType		operation;		/* of the statement; INSERT for COPY */
} StreamModify;

static int	updatable_events(Relation stream);
static List *plan_modify(PlannerInfo *root, ModifyTable *plan, Index result_relation, int subplan_index);
static void begin_modify(ModifyTableState *mtstate, ResultRelInfo *target, List *fdw_private,
						 int subplan_index, int eflags);
static void begin_insert(ModifyTableState *mtstate, ResultRelInfo *target);
static TupleTableSlot *insert_row(EState *estate, ResultRelInfo *target, TupleTableSlot *slot,
								  TupleTableSlot *plan_slot);
static void end_modify(EState *estate, ResultRelInfo *target);
static void check_row_security(StreamModify *modify, ResultRelInfo *target, TupleTableSlot *slot, EState *estate);
static void refuse_on_conflict(Oid stream);

Datum
stream_engine_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	se_bounded_read_fill(routine);
	routine->IsForeignRelUpdatable = updatable_events;
	routine->PlanForeignModify = plan_modify;
	routine->BeginForeignModify = begin_modify;
	routine->ExecForeignInsert = insert_row;
	routine->EndForeignModify = end_modify;
	routine->BeginForeignInsert = begin_insert;
	routine->EndForeignInsert = end_modify;
	PG_RETURN_POINTER(routine);
}

static int
updatable_events(Relation stream)
{
	return 1 << CMD_INSERT;
}

/* Refuse what a log cannot do while the statement is planned. */
static List *
plan_modify(PlannerInfo *root, ModifyTable *plan, Index result_relation, int subplan_index)
{
	Oid			stream = planner_rt_fetch(result_relation, root)->relid;

	if (plan->operation != CMD_INSERT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s rows of stream \"%s\"",
						plan->operation == CMD_UPDATE ? "update" : "delete", get_rel_name(stream)),
				 errdetail("A stream is a log: its rows are written once."),
				 errhint("Insert a row that corrects the earlier one, or change the result of a continuous view by its query.")));
	if (plan->onConflictAction != ONCONFLICT_NONE)
		refuse_on_conflict(stream);
	return NIL;
}

static void
refuse_on_conflict(Oid stream)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("INSERT ... ON CONFLICT is not possible on stream \"%s\"", get_rel_name(stream)),
			 errdetail("A stream has no unique constraint that could be violated."),
			 errhint("Leave ON CONFLICT out.")));
}

/* INSERT with the stream as its target. */
static void
begin_modify(ModifyTableState *mtstate, ResultRelInfo *target, List *fdw_private,
			 int subplan_index, int eflags)
{
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	begin_insert(mtstate, target);
}

/* The same, COPY, and rows routed to a partition. */
static void
begin_insert(ModifyTableState *mtstate, ResultRelInfo *target)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;	/* NULL for COPY */
	Relation	stream = target->ri_RelationDesc;
	MemoryContext memory = mtstate->ps.state->es_query_cxt;
	MemoryContext old = MemoryContextSwitchTo(memory);
	StreamModify *modify = palloc0(sizeof(StreamModify));
	SeStreamInfo *info;

	if (plan != NULL && plan->onConflictAction != ONCONFLICT_NONE)
		refuse_on_conflict(RelationGetRelid(stream));
	modify->appender = se_append_open(memory, stream);
	info = se_stream_info(RelationGetRelid(stream));
	if (info->event_time != 0)
		modify->door = se_event_time_open(stream, info);
	modify->operation = plan == NULL ? CMD_INSERT : plan->operation;

	/* Routing has checked the bounds, unless a trigger may change the row behind it. */
	modify->check_partition = stream->rd_rel->relispartition &&
		(target->ri_RootResultRelInfo == NULL ||
		 (target->ri_TrigDesc && target->ri_TrigDesc->trig_insert_before_row));
	target->ri_FdwState = modify;
	MemoryContextSwitchTo(old);
}

/* Check the row and append it; the slot goes back to the executor for RETURNING. NULL: it is left out. */
static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *target, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	StreamModify *modify = target->ri_FdwState;
	Relation	stream = target->ri_RelationDesc;
	SeTimeVerdict verdict = SE_TIME_GOOD;

	if (target->ri_WithCheckOptions != NIL)
		check_row_security(modify, target, slot, estate);
	if (modify->door != NULL)
		verdict = se_event_time_check(modify->door, slot);
	if (verdict == SE_TIME_LEFT_OUT)
		return NULL;			/* as if a BEFORE trigger had turned it away */
	if (stream->rd_att->constr != NULL)
		ExecConstraints(target, slot, estate);
	if (modify->check_partition)
		ExecPartitionCheck(target, slot, estate, true);
	if (verdict == SE_TIME_REFUSED)
		se_event_time_refuse(modify->door, slot);

	se_append_row(modify->appender, slot, SE_ROW_INSERT, verdict == SE_TIME_PASSED);
	return slot;
}

/*
 * The policies of a partitioned parent for a row that is routed here: those of INSERT, or those of UPDATE if the
 * statement moves the row from another partition.  Which of its actions a MERGE is at, PostgreSQL 15 tells nobody.
 */
static void
check_row_security(StreamModify *modify, ResultRelInfo *target, TupleTableSlot *slot, EState *estate)
{
	ListCell   *lc;

	foreach(lc, modify->operation == CMD_MERGE ? target->ri_WithCheckOptions : NIL)
		if (lfirst_node(WithCheckOption, lc)->kind != WCO_VIEW_CHECK)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("MERGE cannot put rows into stream \"%s\" under row-level security",
						RelationGetRelationName(target->ri_RelationDesc)),
				 errhint("Use INSERT and UPDATE.")));
	ExecWithCheckOptions(modify->operation == CMD_UPDATE ? WCO_RLS_UPDATE_CHECK : WCO_RLS_INSERT_CHECK,
						 target, slot, estate);
}

/* Write what is buffered.  Not reached when the statement fails. */
static void
end_modify(EState *estate, ResultRelInfo *target)
{
	StreamModify *modify = target->ri_FdwState;

	if (modify == NULL)
		return;
	se_append_close(modify->appender);
	if (modify->door != NULL)
		se_event_time_close(modify->door);
}
