/*
 * runtime/side_late.c
 *		The late rows of a commit, into the table that the option late_output names.
 *
 * Runs in: task worker, in the transaction of a commit.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "meta/late_output.h"
#include "miscadmin.h"
#include "runtime/side_late.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static List *matching_columns(Relation table, TupleDesc desc);
static SPIPlanPtr prepare_insert(Relation table, TupleDesc desc, List *columns);
static void insert_tuple(SeTask *task, Relation table, SPIPlanPtr plan, TupleDesc desc, List *columns, const SeLateRow *late);
static void insert_text(SeTask *task, Relation table, const SeLateRow *late);
static void list_columns(Relation table, Jsonb *row, StringInfo columns);
static void check_inserted(Relation table, int result);
static const char *quoted_name(Relation table);
static void refuse_loss(Relation table, const char *column) SE_NORETURN;
static void refuse_our_name(Relation table, const char *column);

/*
 * As the owner of the view, by an INSERT, with everything that means: privileges, defaults,
 * triggers, partitions.
 */
void
se_side_late_write(SeTask *task, Oid late_output, List *rows)
{
	Relation	table = try_relation_open(late_output, RowExclusiveLock);
	SPIPlanPtr	plan = NULL;
	TupleDesc	desc = NULL;	/* that the plan was made for */
	List	   *columns = NIL;
	ListCell   *cell;

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the table of late rows of continuous view %s was dropped", task->name),
				 errhint("Set stream_engine.late_output anew, and use stream_engine.start(view).")));
	/* A crash would take rows that the position has passed. */
	if (table->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("late rows cannot go into \"%s\"", RelationGetRelationName(table)),
				 errdetail("It has become an unlogged table, which a crash empties."),
				 errhint("Use ALTER TABLE %s SET LOGGED, and stream_engine.start(view).", quoted_name(table))));
	se_late_output_check_owner(table, GetUserId());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	foreach(cell, rows)
	{
		SeLateRow  *late = lfirst(cell);
		const SeWholeRow *row = &late->row;

		if (row->tuple == NULL)
			insert_text(task, table, late);
		else
		{
			if (plan == NULL || desc != row->desc)
			{
				desc = row->desc;
				columns = matching_columns(table, desc);
				plan = prepare_insert(table, desc, columns);
			}
			insert_tuple(task, table, plan, desc, columns, late);
		}
		CHECK_FOR_INTERRUPTS();
	}
	SPI_finish();
	table_close(table, NoLock);
}

/* Attributes of the stream that the table has, by name. */
static List *
matching_columns(Relation table, TupleDesc desc)
{
	List	   *columns = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		AttrNumber	attno = attribute->attisdropped ? 0 : get_attnum(RelationGetRelid(table), NameStr(attribute->attname));

		if (!attribute->attisdropped)
			refuse_our_name(table, NameStr(attribute->attname));
		if (attno > 0)
			columns = lappend_int(columns, i);
	}
	return columns;
}

static const char *
quoted_name(Relation table)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)), RelationGetRelationName(table));
}

#define OUR_COLUMNS SE_LATE_VIEW ", " SE_LATE_WATERMARK ", " SE_LATE_ARRIVED ", " SE_LATE_REASON

static Oid
watermark_type(Relation table)
{
	return get_atttype(RelationGetRelid(table), get_attnum(RelationGetRelid(table), SE_LATE_WATERMARK));
}

/* INSERT with a parameter per column. */
static SPIPlanPtr
prepare_insert(Relation table, TupleDesc desc, List *columns)
{
	int			n = list_length(columns);
	Oid		   *types = palloc(sizeof(Oid) * (n + 4));
	StringInfoData text;
	SPIPlanPtr	plan;
	ListCell   *cell;

	initStringInfo(&text);
	appendStringInfo(&text, "INSERT INTO %s (", quoted_name(table));
	foreach(cell, columns)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, lfirst_int(cell));

		types[foreach_current_index(cell)] = attribute->atttypid;
		appendStringInfo(&text, "%s, ", quote_identifier(NameStr(attribute->attname)));
	}
	types[n] = TEXTOID;
	types[n + 1] = watermark_type(table);
	types[n + 2] = TIMESTAMPTZOID;
	types[n + 3] = TEXTOID;
	appendStringInfoString(&text, OUR_COLUMNS ") VALUES (");
	for (int i = 1; i <= n + 4; i++)
		appendStringInfo(&text, "%s$%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(&text, ')');
	plan = SPI_prepare(text.data, n + 4, types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

/* What is said of the row, as the last four parameters. */
static void
fill_ours(SeTask *task, const SeLateRow *late, Datum *values)
{
	values[0] = CStringGetTextDatum(task->name);
	values[1] = TimestampTzGetDatum(late->watermark);
	values[2] = TimestampTzGetDatum(late->row.arrived);
	values[3] = CStringGetTextDatum("late");
}

static void
insert_tuple(SeTask *task, Relation table, SPIPlanPtr plan, TupleDesc desc, List *columns, const SeLateRow *late)
{
	int			n = list_length(columns);
	Datum	   *all = palloc(sizeof(Datum) * Max(desc->natts, 1));
	bool	   *null = palloc(sizeof(bool) * Max(desc->natts, 1));
	Datum	   *values = palloc(sizeof(Datum) * (n + 4));
	char	   *nulls = palloc(n + 4);
	int			next = 0;

	heap_deform_tuple(late->row.tuple, desc, all, null);
	memset(nulls, ' ', n + 4);
	for (int i = 0; i < desc->natts; i++)
	{
		if (next < n && list_nth_int(columns, next) == i)
		{
			values[next] = all[i];
			nulls[next++] = null[i] ? 'n' : ' ';
		}
		else if (!null[i])
			refuse_loss(table, NameStr(TupleDescAttr(desc, i)->attname));
	}
	fill_ours(task, late, values + n);
	check_inserted(table, SPI_execute_plan(plan, values, nulls, false, 0));
	pfree(all);
	pfree(null);
	pfree(values);
	pfree(nulls);
}

/* A row that outlived its batch (operators/stash.c) is there as text. */
static void
insert_text(SeTask *task, Relation table, const SeLateRow *late)
{
	Oid			types[5] = {JSONBOID, TEXTOID, InvalidOid, TIMESTAMPTZOID, TEXTOID};
	Datum		values[5];
	Jsonb	   *json;
	StringInfoData columns;
	StringInfoData text;

	if (late->row.text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a late row at %s cannot be kept", se_place_describe(late->row.place)),
				 errdetail("It has no form as jsonb."),
				 errhint("Use stream_engine.start(view, skip => position), or RESET (stream_engine.late_output).")));
	json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(late->row.text)));
	initStringInfo(&columns);
	list_columns(table, json, &columns);
	types[2] = watermark_type(table);
	values[0] = JsonbPGetDatum(json);
	fill_ours(task, late, values + 1);
	initStringInfo(&text);
	appendStringInfo(&text, "INSERT INTO %s (%s" OUR_COLUMNS ") SELECT %s$2, $3, $4, $5 FROM pg_catalog.jsonb_populate_record(NULL::%s, $1)",
					 quoted_name(table), columns.data, columns.data, quoted_name(table));
	check_inserted(table, SPI_execute_with_args(text.data, 5, types, values, NULL, false, 0));
}

/* The columns of the table that the row has, each with a comma behind it. A value without a column is refused. */
static void
list_columns(Relation table, Jsonb *row, StringInfo columns)
{
	JsonbIterator *iterator = JsonbIteratorInit(&row->root);
	JsonbValue	key;
	JsonbValue	value;

	(void) JsonbIteratorNext(&iterator, &key, true);	/* the object begins */
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		char	   *name = pnstrdup(key.val.string.val, key.val.string.len);

		(void) JsonbIteratorNext(&iterator, &value, true);
		refuse_our_name(table, name);
		if (get_attnum(RelationGetRelid(table), name) > 0)
			appendStringInfo(columns, "%s, ", quote_identifier(name));
		else if (value.type != jbvNull)
			refuse_loss(table, name);
	}
}

/* A rule may have made something else of it. */
static void
check_inserted(Relation table, int result)
{
	const char *name = quoted_name(table);

	if (result == SPI_OK_INSERT)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("table %s cannot take a late row", name),
			 errdetail("It has a rule ON INSERT DO INSTEAD."),
			 errhint("Use a trigger instead of the rule, and stream_engine.start(view).")));
}

/* Nothing is dropped silently. */
static void
refuse_loss(Relation table, const char *column)
{
	const char *name = quoted_name(table);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table %s cannot take a late row", name),
			 errdetail("It has no column \"%s\", which the row has a value in.", column),
			 errhint("Use ALTER TABLE %s ADD COLUMN, and stream_engine.start(view).", name)));
}

/* A column that the stream got since. */
static void
refuse_our_name(Relation table, const char *column)
{
	if (strcmp(column, SE_LATE_VIEW) != 0 && strcmp(column, SE_LATE_WATERMARK) != 0 &&
		strcmp(column, SE_LATE_ARRIVED) != 0 && strcmp(column, SE_LATE_REASON) != 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_COLUMN),
			 errmsg("table %s cannot take a late row", quoted_name(table)),
			 errdetail("Column \"%s\" of the stream has the name of one that a table of late rows has of its own.", column),
			 errhint("Rename the column of the stream, and use stream_engine.start(view).")));
}
