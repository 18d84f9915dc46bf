/*
 * log/stream.c
 *		What a stream's options say: event time, time zone, watermark expression.
 *
 * The watermark's text is an expression over the row.  DDL keeps it in a form that
 * means the same whatever the reader's settings are (ddl/stream_ddl.c), so here it is
 * always parsed under the same ones: an empty search_path, the stream's own time zone,
 * ISO dates.
 *
 * Runs in: any process, inside a transaction; takes ordinary catalog locks.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "base/compat.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/int.h"
#include "foreign/foreign.h"
#include "log/stream.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

static const char *option_value(List *options, const char *name);
static int64 length_option(List *options, const char *name, int64 otherwise);
static SeBadTimeAction action_option(List *options, const char *name);
static void find_event_time(SeStreamInfo *info, int natts);
static void set_locally(const char *name, const char *value);
static bool refuse_unreplayable(Node *node, void *context);

/* STABLE functions of PostgreSQL that depend on TimeZone and on nothing else. */
static const Oid timezone_functions[] = {
	F_TIMESTAMPTZ_PL_INTERVAL, F_TIMESTAMPTZ_MI_INTERVAL, F_INTERVAL_PL_TIMESTAMPTZ,
	F_TIMESTAMP_TIMESTAMPTZ, F_TIMESTAMPTZ_TIMESTAMP, F_TIMESTAMPTZ_DATE, F_DATE_TIMESTAMPTZ,
	F_TIME_TIMESTAMPTZ, F_TIMETZ_TIMESTAMPTZ, F_TIMESTAMPTZ_DATE_TIME,
	F_DATE_TRUNC_TEXT_TIMESTAMPTZ, F_DATE_PART_TEXT_TIMESTAMPTZ, F_EXTRACT_TEXT_TIMESTAMPTZ,
	F_MAKE_TIMESTAMPTZ_INT4_INT4_INT4_INT4_INT4_FLOAT8,
	F_TIMESTAMP_EQ_TIMESTAMPTZ, F_TIMESTAMP_NE_TIMESTAMPTZ, F_TIMESTAMP_LT_TIMESTAMPTZ,
	F_TIMESTAMP_LE_TIMESTAMPTZ, F_TIMESTAMP_GT_TIMESTAMPTZ, F_TIMESTAMP_GE_TIMESTAMPTZ,
	F_TIMESTAMPTZ_EQ_TIMESTAMP, F_TIMESTAMPTZ_NE_TIMESTAMP, F_TIMESTAMPTZ_LT_TIMESTAMP,
	F_TIMESTAMPTZ_LE_TIMESTAMP, F_TIMESTAMPTZ_GT_TIMESTAMP, F_TIMESTAMPTZ_GE_TIMESTAMP,
	F_DATE_EQ_TIMESTAMPTZ, F_DATE_NE_TIMESTAMPTZ, F_DATE_LT_TIMESTAMPTZ,
	F_DATE_LE_TIMESTAMPTZ, F_DATE_GT_TIMESTAMPTZ, F_DATE_GE_TIMESTAMPTZ,
	F_TIMESTAMPTZ_EQ_DATE, F_TIMESTAMPTZ_NE_DATE, F_TIMESTAMPTZ_LT_DATE,
	F_TIMESTAMPTZ_LE_DATE, F_TIMESTAMPTZ_GT_DATE, F_TIMESTAMPTZ_GE_DATE,
};

/* Is the relation a foreign table of our wrapper? */
bool
se_stream_is(Oid relation)
{
	Oid			server;
	HeapTuple	tuple;

	if (get_rel_relkind(relation) != RELKIND_FOREIGN_TABLE)
		return false;

	/* A table that is just being created has no row there yet. */
	tuple = SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		return false;
	server = ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftserver;
	ReleaseSysCache(tuple);
	return GetForeignServer(server)->fdwid == get_foreign_data_wrapper_oid("stream_engine", true);
}

/* Every stream of the database, in the catalog's order. */
List *
se_stream_list(void)
{
	Relation	tables = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(tables, InvalidOid, false, NULL, 0, NULL);
	List	   *streams = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			relation = ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftrelid;

		if (se_stream_is(relation))
			streams = lappend_oid(streams, relation);
	}
	systable_endscan(scan);
	table_close(tables, AccessShareLock);
	return streams;
}

/* Everything the options of a stream say, in the current context. */
SeStreamInfo *
se_stream_info(Oid relation)
{
	SeStreamInfo *info;
	ForeignTable *table;
	const char *connector;
	const char *watermark;
	const char *timezone;
	const char *max_future;
	const char *idle_action;
	HeapTuple	tuple;
	int			natts;

	if (get_rel_name(relation) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!se_stream_is(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a stream", get_rel_name(relation)),
				 errhint("A stream is made with CREATE FOREIGN TABLE ... SERVER stream_engine.")));

	table = GetForeignTable(relation);
	connector = option_value(GetForeignServer(table->serverid)->options, "connector");
	watermark = option_value(table->options, "watermark");
	timezone = option_value(table->options, "timezone");

	info = palloc0(sizeof(SeStreamInfo));
	info->relation = relation;
	info->connector = pstrdup(connector ? connector : "native");
	info->watermark = watermark ? pstrdup(watermark) : NULL;
	info->timezone = pstrdup(timezone ? timezone : "UTC");
	info->null_time = action_option(table->options, "null_time");
	info->infinite_time = action_option(table->options, "infinite_time");
	info->future_time = action_option(table->options, "future_time");
	max_future = option_value(table->options, "max_future");
	if (max_future == NULL || !se_stream_parse_length(max_future, &info->max_future))
		info->max_future = -1;
	info->max_delay = length_option(table->options, "max_delay", -1);
	info->idle_timeout = length_option(table->options, "idle_timeout", 0);
	idle_action = option_value(table->options, "idle_action");
	info->idle_advances = idle_action != NULL && strcmp(idle_action, "advance") == 0;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	info->owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	find_event_time(info, natts);
	return info;
}

static const char *
option_value(List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst(lc);

		if (strcmp(option->defname, name) == 0)
			return defGetString(option);
	}
	return NULL;
}

static int64
length_option(List *options, const char *name, int64 otherwise)
{
	const char *words = option_value(options, name);
	int64		length;

	return words != NULL && se_stream_parse_length(words, &length) ? length : otherwise;
}

/* The validator has seen to it that it is a word we know. */
static SeBadTimeAction
action_option(List *options, const char *name)
{
	const char *word = option_value(options, name);
	SeBadTimeAction action;

	return word != NULL && se_stream_parse_action(word, &action) ? action : SE_BAD_TIME_ERROR;
}

bool
se_stream_parse_action(const char *word, SeBadTimeAction *action)
{
	static const char *const words[] = {"error", "drop", "pass", "dead_letter"};

	for (int i = 0; i < lengthof(words); i++)
	{
		if (strcmp(word, words[i]) == 0)
		{
			*action = (SeBadTimeAction) i;
			return true;
		}
	}
	return false;
}

bool
se_stream_parse_length(const char *words, int64 *length)
{
	Interval   *interval = DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(words),
																 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	int64		days = (int64) interval->month * DAYS_PER_MONTH + interval->day;

	return !pg_mul_s64_overflow(days, USECS_PER_DAY, length) &&
		!pg_add_s64_overflow(*length, interval->time, length) && *length >= 0;
}

SeTime
se_stream_event_time(const SeStreamInfo *info, SeTime moment)
{
	if (info->event_time_type != TIMESTAMPOID || TIMESTAMP_NOT_FINITE(moment))
		return moment;
	return DatumGetTimestamp(DirectFunctionCall2(timestamptz_zone, CStringGetTextDatum(info->timezone),
												 TimestampTzGetDatum(moment)));
}

SeTime
se_stream_moment(const SeStreamInfo *info, SeTime event_time)
{
	if (info->event_time_type != TIMESTAMPOID || TIMESTAMP_NOT_FINITE(event_time))
		return event_time;
	return DatumGetTimestampTz(DirectFunctionCall2(timestamp_zone, CStringGetTextDatum(info->timezone),
												   TimestampGetDatum(event_time)));
}

/* The first column with event_time 'true'; stream DDL refuses a second one. */
static void
find_event_time(SeStreamInfo *info, int natts)
{
	for (AttrNumber attno = 1; attno <= natts; attno++)
	{
		HeapTuple	tuple = SearchSysCacheAttNum(info->relation, attno);
		bool		has_options;
		Oid			type;
		const char *value;

		if (!HeapTupleIsValid(tuple))
			continue;			/* dropped */
		type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
		has_options = !heap_attisnull(tuple, Anum_pg_attribute_attfdwoptions, NULL);
		ReleaseSysCache(tuple);
		if (!has_options)
			continue;

		value = option_value(GetForeignColumnOptions(info->relation, attno), "event_time");
		if (value != NULL && defGetBoolean(makeDefElem("event_time", (Node *) makeString(pstrdup(value)), -1)))
		{
			info->event_time = attno;
			info->event_time_type = getBaseType(type);
			return;
		}
	}
}

/*
 * The planned watermark expression, or NULL.  Planning calls immutable functions over
 * constants already, so it is done as the stream's owner.
 */
Expr *
se_stream_watermark_expr(Relation stream, const SeStreamInfo *info)
{
	int			level;
	Node	   *expr;
	Oid			user;
	int			context;

	if (info->watermark == NULL)
		return NULL;
	if (info->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("stream \"%s\" has a watermark but no event time", RelationGetRelationName(stream)),
				 errhint("Mark its event time column with OPTIONS (event_time 'true').")));
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(info->owner, context | SECURITY_RESTRICTED_OPERATION);
	level = se_stream_pin_settings(info, false);
	expr = se_stream_analyse_watermark(stream, info, se_stream_parse_watermark(info->watermark));
	expr = (Node *) expression_planner((Expr *) expr);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	return (Expr *) expr;
}

int
se_stream_pin_settings(const SeStreamInfo *info, bool keep_path)
{
	int			level = NewGUCNestLevel();

	if (!keep_path)
		set_locally("search_path", "pg_catalog, pg_temp");
	set_locally("TimeZone", info->timezone);
	set_locally("DateStyle", "ISO, YMD");
	set_locally("IntervalStyle", "postgres");
	set_locally("extra_float_digits", "3");
	return level;
}

static void
set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/* A position the scanner reports is one in these words, not in the statement that runs. */
static void
parse_error_position(void *words)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(words);
	}
}

Node *
se_stream_parse_watermark(const char *words)
{
	ErrorContextCallback context = {error_context_stack, parse_error_position, (void *) words};
	List	   *statements;
	SelectStmt *select;
	ResTarget  *target;

	error_context_stack = &context;
	statements = raw_parser(words, RAW_PARSE_PLPGSQL_EXPR);
	error_context_stack = context.previous;
	select = (SelectStmt *) linitial_node(RawStmt, statements)->stmt;

	/* The grammar lets an expression drag a whole query's clauses behind it. */
	if (list_length(statements) != 1 || !IsA(select, SelectStmt) ||
		list_length(select->targetList) != 1 || select->distinctClause || select->fromClause ||
		select->whereClause || select->groupClause || select->havingClause || select->windowClause ||
		select->sortClause || select->limitOffset || select->limitCount || select->lockingClause ||
		select->valuesLists || select->op != SETOP_NONE ||
		(target = linitial_node(ResTarget, select->targetList))->name != NULL ||
		target->indirection != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("option \"watermark\" is not a single expression: %s", words),
				 errhint("Write an expression over the columns of the row, such as event_time - interval '5 seconds'.")));
	return target->val;
}

Node *
se_stream_analyse_watermark(Relation stream, const SeStreamInfo *info, Node *raw)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *row;
	Node	   *expr;
	Oid			type;

	row = addRangeTableEntryForRelation(pstate, stream, AccessShareLock, NULL, false, true);
	addNSItemToQuery(pstate, row, false, true, true);
	expr = transformExpr(pstate, raw, EXPR_KIND_OTHER);
	assign_expr_collations(pstate, expr);

	if (pstate->p_hasAggs || pstate->p_hasWindowFuncs || pstate->p_hasTargetSRFs || pstate->p_hasSubLinks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the watermark of stream \"%s\" is not an expression over one row",
						RelationGetRelationName(stream)),
				 errdetail("Aggregates, window functions, set-returning functions and subqueries are not allowed.")));

	/* A dump sets the column's option in a command of its own, after the table's. */
	type = getBaseType(exprType(expr));
	if (info->event_time != 0 && type != info->event_time_type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the watermark of stream \"%s\" has type %s, its event time %s",
						RelationGetRelationName(stream), format_type_be(type), format_type_be(info->event_time_type)),
				 errhint("Cast one of them.")));
	(void) refuse_unreplayable(expr, stream);
	free_parsestate(pstate);
	return expr;
}

/* A function's answer may depend on TimeZone, which is pinned, and on nothing else outside the row. */
static bool
is_unreplayable(Oid function, void *culprit)
{
	if (func_volatile(function) == PROVOLATILE_IMMUTABLE)
		return false;
	for (int i = 0; i < lengthof(timezone_functions); i++)
		if (timezone_functions[i] == function)
			return false;
	*(Oid *) culprit = function;
	return true;
}

/* Walker: raise at the first part whose value a replay could not repeat. */
static bool
refuse_unreplayable(Node *node, void *context)
{
	Relation	stream = context;
	Oid			function = InvalidOid;
	AttrNumber	attno;

	if (node == NULL)
		return false;
	attno = IsA(node, Var) ? ((Var *) node)->varattno : 1;
	if (attno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("the watermark of stream \"%s\" cannot use the whole row or system columns",
						RelationGetRelationName(stream)),
				 errhint("Name the columns it needs.")));
	if (check_functions_in_node(node, is_unreplayable, &function) ||
		IsA(node, SQLValueFunction) || IsA(node, NextValueExpr))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the watermark of stream \"%s\" depends on more than the row", RelationGetRelationName(stream)),
				 OidIsValid(function) ?
				 errdetail("Function %s is not immutable.", format_procedure(function)) :
				 errdetail("It asks for the current time, user or a sequence."),
				 errhint("Use immutable functions, and those that depend on the time zone alone; the stream's option \"timezone\" sets it.")));
	return expression_tree_walker(node, refuse_unreplayable, context);
}
