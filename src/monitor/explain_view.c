/*
 * monitor/explain_view.c
 *		stream_engine.explain(text): the dataflow of a view or of a query, as a tree.
 *
 * The argument is the name of a continuous view, or the text of a query: a SELECT, or
 * a whole CREATE MATERIALIZED VIEW ... AS SELECT. The plan of a view is for who may
 * select from it; for a view whose job runs each node shows its live counters, to its
 * owner and to who has the privileges of pg_read_all_stats. Runs in: sessions.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/job_slot.h"
#include "base/se.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "flow/graph.h"
#include "funcapi.h"
#include "meta/jobs.h"
#include "meta/late_output.h"
#include "meta/options.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "parser/analyze.h"
#include "plan/plan.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"

SE_FUNCTION_INFO_V1(stream_engine_explain);

/* What the annotation of a running view needs. */
typedef struct LiveCounters
{
	SeJobSlot  *slot;
	uint64		generation;
} LiveCounters;

static bool is_query_text(const char *text);
static char *explain_query(const char *text);
static List *our_options(List *with);
static void move_error_position(void *arg);
static char *explain_view(const char *name);
static bool may_see_counters(Oid view);
static SeGraph *plan_as_owner(const SeJobMeta *meta);
static void apply_settings(const SeJobMeta *meta);
static SeJobSlot *running_slot(Oid job, uint64 *generation);
static void annotate(StringInfo out, const SeNode *node, void *arg);
static void return_lines(FunctionCallInfo fcinfo, const char *text);

Datum
stream_engine_explain(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));

	return_lines(fcinfo, is_query_text(what) ? explain_query(what) : explain_view(what));
	return (Datum) 0;
}

/* Does the text begin as a query does? A view of such a name is given in double quotes. */
static bool
is_query_text(const char *text)
{
	static const char *const words[] = {
		"select", "with", "values", "table", "create", "insert", "update", "delete", "merge", "explain"
	};
	size_t		len;

	text	  +=strspn(text, " \t\r\n\f");

	if (*text == '(' || strncmp(text, "--", 2) == 0 || strncmp(text, "/*", 2) == 0)
		return true;
	len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (text[len] == '\0' || text[len] == '.')
		return false;
	for (int i = 0; i < lengthof(words); i++)
	{
		if (strlen(words[i]) == len && pg_strncasecmp(text, words[i], len) == 0)
			return true;
	}
	return false;
}

/* The graph a query would get, or its refusal: with the privileges that EXPLAIN asks for. */
static char *
explain_query(const char *text)
{
	List	   *statements;
	RawStmt    *raw;
	List	   *column_names = NIL;
	List	   *options = NIL;
	Query	   *query;
	ErrorContextCallback callback;
	SeGraph    *graph;
	char	   *tree;
	ListCell   *name;
	ListCell   *lc;

	callback.callback = move_error_position;
	callback.arg = (void *) text;

	callback.previous = error_context_stack;
	error_context_stack = &callback;
	statements = pg_parse_query(text);
	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("stream_engine.explain takes one query, not %d", list_length(statements)),
				 errhint("Give the name of a continuous view, or one SELECT.")));
	raw = linitial_node(RawStmt, statements);
	if (IsA(raw->stmt, CreateTableAsStmt))
	{
		CreateTableAsStmt *create = (CreateTableAsStmt *) raw->stmt;

		column_names = create->into->colNames;
		options = our_options(create->into->options);
		raw->stmt = create->query;
	}
	query = parse_analyze_fixedparams(raw, text, NULL, 0, NULL);

	/* the names a CREATE gives to the columns come before the query's own */
	name = list_head(column_names);
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (name == NULL || target->resjunk)
			continue;
		target->resname = strVal(lfirst(name));
		name = lnext(column_names, name);
	}
	se_plan_check_permissions(query);
	graph = se_plan_query(query, text, InvalidOid, options);
	se_plan_check_functions(graph);
	tree = se_graph_print(graph, NULL, NULL);
	error_context_stack = callback.previous;
	return tree;
}

/* Those of a WITH clause as a view would have them; what is wrong with them the planner says. */
static List *
our_options(List *with)
{
	List	   *options = NIL;
	ListCell   *cell;

	foreach(cell, with)
	{
		DefElem    *given = lfirst_node(DefElem, cell);

		if (given->defnamespace != NULL && strcmp(given->defnamespace, "stream_engine") == 0 && given->arg != NULL)
			options = lappend(options, makeDefElem(given->defname, (Node *) makeString(defGetString(given)), -1));
	}
	return options;
}

/* A position in the argument's text is not one in the statement that the client sent. */
static void
move_error_position(void *arg)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery((const char *) arg);
}

/* The graph of an existing view, as its options count where it stands, with counters if its job runs. */
static char *
explain_view(const char *name)
{
	Oid			view = RangeVarGetRelid(makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name))),
										NoLock, false);
	SeJobMeta  *meta = se_jobs_get(view);
	List	   *positions;
	LiveCounters live;
	SeGraph    *graph;
	Oid			late;

	if (meta == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a continuous view", get_rel_name(view)),
				 errhint("Give the name of a continuous view, or the text of a query.")));

	/*
	 * A plan says more than the view's definition: its constants are what the owner's functions returned, and these
	 * are run for it.
	 */
	if (!may_see_counters(view) && pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_MATVIEW, get_rel_name(view));
	positions = se_positions_list(view);
	if (positions != NIL)
		meta->options = se_options_in_effect(meta->options, ((SePositionMeta *) linitial(positions))->options);
	live.slot = may_see_counters(view) ? running_slot(view, &live.generation) : NULL;
	graph = plan_as_owner(meta);
	late = graph->late_output != NULL ? se_late_output_dependency(meta->definition) : InvalidOid;
	if (OidIsValid(late))
		graph->late_output = quote_qualified_identifier(get_namespace_name(get_rel_namespace(late)), get_rel_name(late));
	return se_graph_print(graph, live.slot ? annotate : NULL, &live);
}

/* The owner, and who may read all statistics. */
static bool
may_see_counters(Oid view)
{
	return se_compat_owns_relation(view, GetUserId()) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/*
 * Planning folds constants, which may run functions of the view's owner: as the owner,
 * under the view's settings, as its job does.
 */
static SeGraph *
plan_as_owner(const SeJobMeta *meta)
{
	Oid			user;
	int			context;
	int			level = NewGUCNestLevel();
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(meta->job));
	Oid			owner;
	SeGraph    *graph;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the continuous view has been dropped")));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);

	/* an error in between ends the transaction, which puts both back */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_RESTRICTED_OPERATION);
	apply_settings(meta);
	graph = se_plan_definition(meta->definition, meta->job, meta->options);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	return graph;
}

static void
apply_settings(const SeJobMeta *meta)
{
	ListCell   *lc;

	foreach(lc, meta->settings)
	{
		DefElem    *setting = lfirst_node(DefElem, lc);

		(void) set_config_option(setting->defname, strVal(setting->arg), PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, WARNING, false);
	}
}

/* The slot of a running job, NULL if it does not run. */
static SeJobSlot *
running_slot(Oid job, uint64 *generation)
{
	SeJobSlot  *slot;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	slot = se_job_slot_find(MyDatabaseId, job);
	if (slot != NULL && slot->state != SE_JOB_RUNNING)
		slot = NULL;
	if (slot != NULL)
		*generation = slot->generation;
	LWLockRelease(se_job_slot_lock());
	return slot;
}

/* One line of counters below a node. */
static void
annotate(StringInfo out, const SeNode *node, void *arg)
{
	LiveCounters *live = arg;
	SeOperatorCounters *counters;
	uint64		entries;
	SeTime		watermark;

	if (node->id >= SE_JOB_MAX_OPERATORS || live->slot->generation != live->generation)
		return;
	counters = &live->slot->operators[node->id];
	entries = pg_atomic_read_u64(&counters->state_entries);
	watermark = (SeTime) pg_atomic_read_u64(&counters->watermark);

	if (node->inputs != NIL)
		appendStringInfo(out, "rows in=" UINT64_FORMAT, pg_atomic_read_u64(&counters->rows_in));
	if (node->kind != SE_NODE_TABLE_SINK)
		appendStringInfo(out, "%srows out=" UINT64_FORMAT, out->len > 0 ? " " : "",
						 pg_atomic_read_u64(&counters->rows_out));
	if (node->kind == SE_NODE_WINDOW_AGG || node->kind == SE_NODE_SESSION_AGG ||
		node->kind == SE_NODE_COUNT_AGG || node->kind == SE_NODE_GROUP_AGG)
		appendStringInfo(out, " state entries=" UINT64_FORMAT " bytes=" UINT64_FORMAT,
						 entries, pg_atomic_read_u64(&counters->state_bytes));
	if (watermark == SE_TIME_MAX)
		appendStringInfoString(out, " watermark=infinity");
	else if (IS_VALID_TIMESTAMP(watermark))
		appendStringInfo(out, " watermark=%s", timestamptz_to_str(watermark));
}

/* Each line of the text as one row. */
static void
return_lines(FunctionCallInfo fcinfo, const char *text)
{
	ReturnSetInfo *result;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	for (;;)
	{
		size_t		len = strcspn(text, "\n");
		Datum		value = PointerGetDatum(cstring_to_text_with_len(text, len));
		bool		is_null = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
		if (text[len] == '\0')
			break;
		text	  +=len + 1;
	}
}
