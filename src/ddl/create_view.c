/*
 * ddl/create_view.c
 *		CREATE MATERIALIZED VIEW … WITH (stream_engine.continuous): from the statement to a job.
 *
 * The statement arrives with an analysed query. What is made of it, in the user's own
 * transaction: the result table under the view's name, the definition view, the
 * position of each source, and the catalog row; ROLLBACK leaves none of it. The
 * coordinator is told at commit and starts the worker.
 *
 * All of the user's own code that runs here (constant folding, the first row) runs as
 * a restricted operation, as CREATE MATERIALIZED VIEW runs its query.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/compat.h"
#include "base/shmem.h"
#include "catalog/namespace.h"
#include "commands/createas.h"
#include "commands/defrem.h"
#include "commands/explain.h"
#include "ddl/ddl_internal.h"
#include "ddl/side_options.h"
#include "ddl/view_options.h"
#include "ddl/view_settings.h"
#include "executor/executor.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "plan/plan.h"
#include "rewrite/rewriteHandler.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

static CreateTableAsStmt *continuous_view(Node *statement);
static void create(SeUtility *utility, void *arg);
static List *parse_options(CreateTableAsStmt *stmt, List **storage_options);
static void check_name(IntoClause *into);
static Query *query_of(CreateTableAsStmt *stmt);
static void name_columns(Query *query, List *names);
static SeGraph *plan(Query *query, const char *query_string, List *options);
static void insert_job(const SeViewParts *parts, List *options, bool run);

bool
se_create_view(SeUtility *utility)
{
	if (continuous_view(utility->pstmt->utilityStmt) == NULL)
		return false;
	PreventCommandIfReadOnly("CREATE MATERIALIZED VIEW");
	PreventCommandIfParallelMode("CREATE MATERIALIZED VIEW");
	PreventCommandDuringRecovery("CREATE MATERIALIZED VIEW");
	se_utility_own(utility);
	se_utility_as_command(utility, create, NULL);
	return true;
}

/* The statement as CREATE of a continuous view, or NULL. */
static CreateTableAsStmt *
continuous_view(Node *statement)
{
	CreateTableAsStmt *stmt;

	if (!IsA(statement, CreateTableAsStmt))
		return NULL;
	stmt = (CreateTableAsStmt *) statement;
	if (stmt->objtype != OBJECT_MATVIEW || !se_view_options_any(stmt->into->options))
		return NULL;
	return stmt;
}

static void
create(SeUtility *utility, void *arg)
{
	CreateTableAsStmt *stmt = castNode(CreateTableAsStmt, utility->pstmt->utilityStmt);
	List	   *storage_options;
	List	   *options = parse_options(stmt, &storage_options);
	Query	   *query;
	SeGraph    *graph;
	SeViewParts parts;

	if (CreateTableAsRelExists(stmt))
		return;					/* IF NOT EXISTS has said so */
	check_name(stmt->into);

	query = query_of(stmt);
	se_plan_check_permissions(query);
	graph = plan(query, utility->query_string, options);

	parts = se_result_table_create(utility, stmt->into, query, graph, storage_options);
	insert_job(&parts, options, !stmt->into->skipData);
	se_side_options_apply(utility, parts.table, parts.definition, options, graph, false);
	se_start_position(parts.table, graph,
					  strcmp(se_view_options_value(options, "start"), "earliest") == 0);
	if (se_first_row_is_due(graph))
		se_first_row_insert(parts.table, query, utility->query_string);

	se_write_guard_changed(parts.table);
	se_meta_notify_at_commit();
}

/* Our options of the WITH clause; what is not ours goes to *storage_options. */
static List *
parse_options(CreateTableAsStmt *stmt, List **storage_options)
{
	List	   *options;

	se_shmem_require();
	if (!OidIsValid(se_meta_relation("job_catalog")))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension stream_engine is not installed in this database"),
				 errhint("Use CREATE EXTENSION stream_engine.")));
	options = se_view_options_parse(stmt->into->options, SE_OPTION_CREATE, storage_options);
	if (strcmp(se_view_options_value(options, "continuous"), "true") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of stream_engine belong to continuous views"),
				 errhint("Add stream_engine.continuous to the WITH clause, or leave the other options of stream_engine out.")));
	return options;
}

/* Fix the schema of the new view, with the privilege to create there. */
static void
check_name(IntoClause *into)
{
	Oid			schema = RangeVarGetAndCheckCreationNamespace(into->rel, NoLock, NULL);

	if (into->rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a continuous view cannot be temporary or unlogged"),
				 errdetail("Its results become durable together with its position in the stream."),
				 errhint("Leave TEMPORARY or UNLOGGED out, and name a permanent schema.")));
	into->rel->schemaname = get_namespace_name(schema);
}

/* A query of our own, locked as the planner would, with the view's column names. */
static Query *
query_of(CreateTableAsStmt *stmt)
{
	Query	   *query = copyObject(castNode(Query, stmt->query));

	AcquireRewriteLocks(query, true, false);
	name_columns(query, stmt->into->colNames);
	return query;
}

/* CREATE MATERIALIZED VIEW v (a, b, …): the names given there replace the query's. */
static void
name_columns(Query *query, List *names)
{
	ListCell   *cell;
	ListCell   *name = list_head(names);

	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (target->resjunk || name == NULL)
			continue;
		target->resname = pstrdup(strVal(lfirst(name)));
		name = lnext(names, name);
	}
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("too many column names were specified")));
}

/* The query's dataflow, which the user may run; or the reason why there is none. */
static SeGraph *
plan(Query *query, const char *query_string, List *options)
{
	SeGraph    *graph;
	Oid			user;
	int			security;
	int			nest_level = NewGUCNestLevel();

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(user, security | SECURITY_RESTRICTED_OPERATION);
	graph = se_plan_query(query, query_string, InvalidOid, options);
	se_plan_check_functions(graph);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
	return graph;
}

/* The catalog row; what a person asked for, and what the session's answers depend on. */
static void
insert_job(const SeViewParts *parts, List *options, bool run)
{
	SeJobMeta	meta = {0};

	meta.job = parts->table;
	meta.definition = parts->definition;
	meta.goal = run ? SE_GOAL_RUN : SE_GOAL_STOP;
	meta.options = options;
	meta.options_lsn = GetXLogInsertRecPtr();
	meta.settings = se_view_settings_capture();
	se_jobs_identify(&meta);
	se_jobs_insert(&meta);
}

/*
 * EXPLAIN CREATE MATERIALIZED VIEW … continuous prints the dataflow. PostgreSQL would
 * plan the query as a one-time scan, and under ANALYZE run the command past the hook.
 */
bool
se_create_view_explain(SeUtility *utility)
{
	ExplainStmt *explain = castNode(ExplainStmt, utility->pstmt->utilityStmt);
	Query	   *outer = castNode(Query, explain->query);
	CreateTableAsStmt *stmt;
	List	   *options;
	List	   *storage_options;
	ListCell   *cell;
	Query	   *query;
	TupOutputState *output;

	if (outer->utilityStmt == NULL || continuous_view(outer->utilityStmt) == NULL)
		return false;
	foreach(cell, explain->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "analyze") == 0 && defGetBoolean(option))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("EXPLAIN ANALYZE cannot create a continuous view"),
					 errhint("Create the view, then use stream_engine.explain, which shows a running view's counters.")));
		if (strcmp(option->defname, "format") == 0 && strcmp(defGetString(option), "text") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("EXPLAIN of a continuous view has text format only"),
					 errhint("Leave FORMAT out.")));
	}

	stmt = copyObject(continuous_view(outer->utilityStmt));
	options = parse_options(stmt, &storage_options);
	query = query_of(stmt);
	se_plan_check_permissions(query);
	output = begin_tup_output_tupdesc(utility->dest, ExplainResultDesc(explain), &TTSOpsVirtual);
	do_text_output_multiline(output, se_graph_print(plan(query, utility->query_string, options), NULL, NULL));
	end_tup_output(output);
	return true;
}
