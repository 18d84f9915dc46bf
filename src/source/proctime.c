/*
 * source/proctime.c
 *		The SQL function proctime(): processing time that a replay sees again.
 *
 * In a continuous view the planner of views puts a column of the source in its place. In
 * a plain SELECT it is the time at which a stream row's transaction committed. A function
 * without arguments belongs to no row for PostgreSQL, which would move it out of WHERE or
 * compute it above a sort; so its support function makes it a function of the row's ctid,
 * which a bounded read fills with what proctime_of() needs (source/bounded_read.c). Where
 * it cannot tell which stream is meant, proctime() is that of the stream row read last,
 * and without any the present.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "base/clock.h"
#include "base/se.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "log/stream.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "parser/parse_func.h"
#include "source/bounded_read.h"
#include "utils/timestamp.h"

SE_FUNCTION_INFO_V1(stream_engine_proctime);
SE_FUNCTION_INFO_V1(stream_engine_proctime_of);
SE_FUNCTION_INFO_V1(stream_engine_proctime_support);

static Index only_stream(PlannerInfo *root);
static bool calls_function(Node *node, Oid *function);
static Oid	row_function(void);

Datum
stream_engine_proctime(PG_FUNCTION_ARGS)
{
	SeTime		proctime;

	if (!se_bounded_read_proctime(NULL, &proctime))
		proctime = se_clock_now();
	PG_RETURN_TIMESTAMPTZ(proctime);
}

/* proctime_of("row" tid): of a row that a scan of this statement returned. */
Datum
stream_engine_proctime_of(PG_FUNCTION_ARGS)
{
	SeTime		proctime;

	if (!se_bounded_read_proctime((ItemPointer) PG_GETARG_POINTER(0), &proctime))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("proctime_of() has been given something else than a row of a stream that is being read"),
				 errhint("Use proctime().")));
	PG_RETURN_TIMESTAMPTZ(proctime);
}

/* Planner support: proctime() over one stream becomes proctime_of(stream.ctid). */
Datum
stream_engine_proctime_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *request = (SupportRequestSimplify *) PG_GETARG_POINTER(0);
	Index		stream;
	Oid			function;
	ListCell   *lc;

	if (!IsA(request, SupportRequestSimplify) || request->root == NULL)
		PG_RETURN_POINTER(NULL);
	stream = only_stream(request->root);
	function = row_function();
	if (stream == 0 || !OidIsValid(function))
		PG_RETURN_POINTER(NULL);

	/* A function in FROM that gets it depends on the row from now on. */
	foreach(lc, request->root->parse->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_FUNCTION &&
			calls_function((Node *) rte->functions, &request->fcall->funcid))
			rte->lateral = true;
	}
	PG_RETURN_POINTER(makeFuncExpr(function, TIMESTAMPTZOID,
								   list_make1(makeVar(stream, SelfItemPointerAttributeNumber, TIDOID,
													  -1, InvalidOid, 0)),
								   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

bool
se_proctime_is_used(Query *query)
{
	Oid			function = row_function();

	return OidIsValid(function) && query_tree_walker(query, calls_function, &function, 0);
}

/*
 * The one stream this query level reads, 0 if there are none or several. Under outer
 * joins rows may be missing, and with them their time: left alone.
 */
static Index
only_stream(PlannerInfo *root)
{
	Query	   *query = root->parse;
	Index		found = 0;
	Index		rti = 0;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		rti++;
		if (rte->rtekind == RTE_JOIN && IS_OUTER_JOIN(rte->jointype))
			return 0;
		if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_FOREIGN_TABLE ||
			rti == query->resultRelation || !se_stream_is(rte->relid))
			continue;
		if (found != 0)
			return 0;
		found = rti;
	}
	return found;
}

static bool
calls_function(Node *node, Oid *function)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == *function)
		return true;
	return expression_tree_walker(node, calls_function, function);
}

/* stream_engine.proctime_of(tid), or Invalid. */
static Oid
row_function(void)
{
	Oid			argument = TIDOID;

	return LookupFuncName(list_make2(makeString("stream_engine"), makeString("proctime_of")),
						  1, &argument, true);
}
