/*
 * runtime/side.c
 *		Late and failing rows of a view: kept until the commit, and written by it.
 *
 * They go with results, state and position in one transaction (I8), so a row is in the
 * late_output or the dead letters exactly once, whatever happens to the worker.
 *
 * A row that raises an error before anything of it is stored is left out on the spot
 * (flow/guard.h). One that raises later, in a transition function or when its result is
 * written, has made the state void (I10): the job is restored from its last commit, in
 * the same process, and leaves the row out when it comes again. Which rows these are is
 * remembered in memory only; a new worker finds out again. After each the job commits,
 * so that the next one costs no more than what came in between.
 *
 * Runs in: task worker.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "base/fault.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "flow/guard.h"
#include "flow/side.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "meta/dead_letters.h"
#include "meta/late_output.h"
#include "runtime/side.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Kept bytes at which a commit is due. */
#define FULL_BYTES (16 * 1024 * 1024)

/* A whole row: as its source had it, or, of one that was kept longer than its batch, as jsonb text. */
typedef struct WholeRow
{
	SePlace		place;
	TimestampTz arrived;
	HeapTuple	tuple;			/* NULL: text */
	TupleDesc	desc;			/* of tuple */
	char	   *text;			/* may be NULL too: the row is not to be had */
} WholeRow;

typedef struct LateRow
{
	WholeRow	row;
	SeTime		watermark;
} LateRow;

typedef struct Letter
{
	WholeRow	row;
	int			sqlstate;
	char	   *message;
	char	   *detail;
	Datum		json;			/* made by prepare */
	bool		no_json;
	char	   *why_not;
} Letter;

/* A row that failed after it was stored. In TopMemoryContext: it outlives a restore. */
typedef struct LeftOut
{
	SePlace		place;
	bool		met;			/* it came again since the last commit */
	MemoryContext memory;
	ErrorData  *error;
} LeftOut;

typedef struct SeTaskSide
{
	SeSide		side;			/* base */
	SeTask	   *task;
	Oid			late_output;

	/* of the coming commit */
	MemoryContext memory;
	List	   *late;			/* LateRow */
	List	   *letters;		/* Letter */
	Size		bytes;
	bool		wants_commit;
	Letter	   *converting;		/* argument of make_json */
} SeTaskSide;

static void side_late(SeSide *side, const SeBatch *batch, int row);
static void side_failed(SeSide *side, const SeBatch *batch, int row, const ErrorData *error);
static bool side_is_left_out(SeSide *side, const SeBatch *batch, int row);
static char *side_whole(SeSide *side, const SeBatch *batch, int row);
static void find_whole(SeTaskSide *side, const SeBatch *batch, int row, WholeRow *whole);
static void leave_out(SeTaskSide *side, const SeBatch *batch, int row, const ErrorData *error);
static Oid	stream_of(const SeTask *task);
static void make_json(SeTaskSide *side);
static void write_letter(SeTaskSide *side, const Letter *letter);
static void write_late_rows(SeTaskSide *side);
static List *matching_columns(Relation table, TupleDesc desc);
static SPIPlanPtr prepare_insert(Relation table, TupleDesc desc, List *columns);
static void insert_tuple(SeTaskSide *side, SPIPlanPtr plan, TupleDesc desc, List *columns, const LateRow *late);
static void insert_text(SeTaskSide *side, Relation table, const LateRow *late);
static void check_inserted(SeTaskSide *side, int result);
static void refuse_loss(SeTaskSide *side, const char *column) SE_NORETURN;

void
se_side_begin(SeTask *task, SeOnError on_error, Oid late_output)
{
	MemoryContext old;
	SeTaskSide *side;

	task->side = NULL;
	task->env.side = NULL;
	if (on_error == SE_ON_ERROR_STOP && !OidIsValid(late_output))
		return;
	old = MemoryContextSwitchTo(task->memory);
	side = palloc0(sizeof(SeTaskSide));
	side->side.on_error = on_error;
	side->side.late_output = OidIsValid(late_output);
	side->side.late = side_late;
	side->side.failed = side_failed;
	side->side.is_left_out = side_is_left_out;
	side->side.whole = side_whole;
	side->task = task;
	side->late_output = late_output;
	side->memory = AllocSetContextCreate(task->memory, "stream_engine late and failing rows", ALLOCSET_DEFAULT_SIZES);
	task->side = side;
	task->env.side = &side->side;
	MemoryContextSwitchTo(old);
}

/* Is a whole row ever asked for? */
static bool
keeps_rows(const SeTaskSide *side)
{
	return side->side.late_output || side->side.on_error == SE_ON_ERROR_DEAD_LETTER;
}

bool
se_side_keeps_rows(const SeTask *task)
{
	return task->side != NULL && keeps_rows(task->side);
}

static void
side_late(SeSide *base, const SeBatch *batch, int row)
{
	SeTaskSide *side = (SeTaskSide *) base;
	MemoryContext old;
	LateRow    *late;

	if (!base->late_output)
		return;
	old = MemoryContextSwitchTo(side->memory);
	late = palloc0(sizeof(LateRow));
	late->watermark = batch->wm[row];
	find_whole(side, batch, row, &late->row);
	side->late = lappend(side->late, late);
	MemoryContextSwitchTo(old);
}

static void
side_failed(SeSide *base, const SeBatch *batch, int row, const ErrorData *error)
{
	SeTaskSide *side = (SeTaskSide *) base;

	if (row >= batch->nrows)
		side->task->rows_in++;	/* its source does not deliver it */
	leave_out(side, batch, row, error);
}

static bool
side_is_left_out(SeSide *base, const SeBatch *batch, int row)
{
	SeTaskSide *side = (SeTaskSide *) base;
	ListCell   *cell;

	foreach(cell, side->task->left_out)
	{
		LeftOut    *item = lfirst(cell);

		if (se_place_compare(item->place, batch->places[row]) != 0 || SE_FAULT_WRONG("wrong-left-out-row-kept"))
			continue;
		if (!item->met)			/* else a row that is in several windows */
		{
			item->met = true;
			side->wants_commit = true;
			leave_out(side, batch, row, item->error);
		}
		return true;
	}
	return false;
}

/* Count the row, and keep it if it is to have a letter. */
static void
leave_out(SeTaskSide *side, const SeBatch *batch, int row, const ErrorData *error)
{
	MemoryContext old;
	Letter	   *letter;

	side->task->env.error_rows++;
	side->task->dirty = true;	/* the batch may have no other row */
	if (side->side.on_error != SE_ON_ERROR_DEAD_LETTER)
		return;
	old = MemoryContextSwitchTo(side->memory);
	letter = palloc0(sizeof(Letter));
	find_whole(side, batch, row, &letter->row);
	letter->sqlstate = error->sqlerrcode;
	letter->message = pstrdup(error->message ? error->message : "");
	letter->detail = error->detail ? pstrdup(error->detail) : NULL;
	side->bytes += sizeof(Letter) + strlen(letter->message);
	side->letters = lappend(side->letters, letter);
	MemoryContextSwitchTo(old);
}

static char *
side_whole(SeSide *base, const SeBatch *batch, int row)
{
	SeTaskSide *side = (SeTaskSide *) base;
	WholeRow	whole = {0};
	Letter		letter = {0};

	if (!keeps_rows(side))
		return NULL;
	find_whole(side, batch, row, &whole);
	if (whole.tuple == NULL)
		return whole.text == NULL ? NULL : psprintf(INT64_FORMAT " %s", whole.arrived, whole.text);
	letter.row = whole;
	side->converting = &letter;
	make_json(side);
	return letter.no_json ? NULL :
		psprintf(INT64_FORMAT " %s", whole.arrived, OidOutputFunctionCall(F_JSONB_OUT, letter.json));
}

/* The row as it was written, from its source, or as whoever kept it has it. Current context. */
static void
find_whole(SeTaskSide *side, const SeBatch *batch, int row, WholeRow *whole)
{
	const SeChain *chain = side->task->chain;

	whole->place = batch->places[row];
	/* While state is restored there is no chain yet. */
	for (int i = 0; chain != NULL && i < chain->nsources; i++)
	{
		SeSource   *source = chain->sources[i].source;
		TupleDesc	desc;
		Datum	   *values;
		bool	   *nulls;

		if (!source->ops->row(source, whole->place, &desc, &values, &nulls, &whole->arrived))
			continue;
		whole->desc = desc;
		whole->tuple = heap_form_tuple(desc, values, nulls);
		side->bytes += whole->tuple->t_len;
		return;
	}
	if (batch->whole != NULL && batch->whole[row] != NULL)
	{
		char	   *text;

		whole->arrived = strtoll(batch->whole[row], &text, 10);
		whole->text = pstrdup(*text == ' ' ? text +1 : text);
		side->bytes += strlen(whole->text);
	}
}

bool
se_side_wants_commit(const SeTask *task)
{
	return task->side != NULL && (task->side->wants_commit || task->side->bytes >= FULL_BYTES);
}

Oid
se_side_writes_into(const SeTask *task)
{
	return task->side != NULL && task->side->late != NIL ? task->side->late_output : InvalidOid;
}

static Oid
stream_of(const SeTask *task)
{
	return linitial_oid(task->chain->graph->streams);
}

/* Output functions can fail: then the letter says so, and why. */
void
se_side_prepare(SeTask *task)
{
	SeTaskSide *side = task->side;
	MemoryContext old;
	ListCell   *cell;

	if (side == NULL || side->letters == NIL)
		return;
	old = MemoryContextSwitchTo(side->memory);
	foreach(cell, side->letters)
	{
		side->converting = lfirst(cell);
		make_json(side);
	}
	MemoryContextSwitchTo(old);
}

/* The row of the letter as jsonb, in the current context. */
static void
make_json(SeTaskSide *side)
{
	Letter	   *letter = side->converting;
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	letter->no_json = true;
	if (letter->row.tuple == NULL && letter->row.text == NULL)
		return;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		if (letter->row.tuple == NULL)
			letter->json = DirectFunctionCall1(jsonb_in, CStringGetDatum(letter->row.text));
		else
		{
			TupleDesc	desc = letter->row.desc;
			Datum	   *values = palloc(sizeof(Datum) * Max(desc->natts, 1));
			bool	   *nulls = palloc(sizeof(bool) * Max(desc->natts, 1));

			heap_deform_tuple(letter->row.tuple, desc, values, nulls);
			letter->json = se_dead_letters_row(desc, values, nulls);
		}
		letter->no_json = false;
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			category = ERRCODE_TO_CATEGORY(geterrcode());

		if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES ||
			category == ERRCODE_TRANSACTION_ROLLBACK || category == ERRCODE_SYSTEM_ERROR ||
			category == ERRCODE_INTERNAL_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(memory);
		letter->why_not = error->message;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
}

void
se_side_write(SeTask *task)
{
	SeTaskSide *side = task->side;
	ListCell   *cell;

	if (side == NULL)
		return;
	task->env.current_batch = NULL; /* no row of the stream is to blame for what their table does */
	SE_FAULT_POINT("commit-before-side");
	if (side->late != NIL && !SE_FAULT_WRONG("wrong-late-output-lost"))
		write_late_rows(side);
	if (SE_FAULT_WRONG("wrong-dead-letter-lost"))
		return;
	foreach(cell, side->letters)
		write_letter(side, lfirst(cell));
}

static void
write_letter(SeTaskSide *side, const Letter *letter)
{
	SeDeadLetter row = {0};

	row.relation = side->task->job;
	row.stream = stream_of(side->task);
	row.position = se_place_describe(letter->row.place);
	row.ordinal = (int64) letter->row.place.minor;
	row.arrived = letter->row.arrived;
	row.reason = "error";
	row.sqlstate = letter->sqlstate;
	row.message = letter->message;
	row.detail = letter->detail;
	if (letter->why_not != NULL)
		row.detail = psprintf("%s%sThe row cannot be shown as jsonb: %s", letter->detail ? letter->detail : "",
							  letter->detail ? " " : "", letter->why_not);
	row.row = letter->json;
	row.no_row = letter->no_json;
	se_dead_letters_add(&row);
}

/*
 * As the owner of the view, by an INSERT, with everything that means: privileges, defaults,
 * triggers, partitions.
 */
static void
write_late_rows(SeTaskSide *side)
{
	Relation	table = try_relation_open(side->late_output, RowExclusiveLock);
	SPIPlanPtr	plan = NULL;
	TupleDesc	desc = NULL;	/* that the plan was made for */
	List	   *columns = NIL;
	ListCell   *cell;

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the table of late rows of continuous view %s was dropped", side->task->name),
				 errhint("Set stream_engine.late_output anew, and use stream_engine.start(view).")));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	foreach(cell, side->late)
	{
		LateRow    *late = lfirst(cell);
		const WholeRow *row = &late->row;

		if (row->tuple == NULL)
			insert_text(side, table, late);
		else
		{
			if (plan == NULL || desc != row->desc)
			{
				desc = row->desc;
				columns = matching_columns(table, desc);
				plan = prepare_insert(table, desc, columns);
			}
			insert_tuple(side, plan, desc, columns, late);
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
fill_ours(SeTaskSide *side, const LateRow *late, Datum *values)
{
	values[0] = CStringGetTextDatum(side->task->name);
	values[1] = TimestampTzGetDatum(late->watermark);
	values[2] = TimestampTzGetDatum(late->row.arrived);
	values[3] = CStringGetTextDatum("late");
}

static void
insert_tuple(SeTaskSide *side, SPIPlanPtr plan, TupleDesc desc, List *columns, const LateRow *late)
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
			refuse_loss(side, NameStr(TupleDescAttr(desc, i)->attname));
	}
	fill_ours(side, late, values + n);
	check_inserted(side, SPI_execute_plan(plan, values, nulls, false, 0));
	pfree(all);
	pfree(null);
	pfree(values);
	pfree(nulls);
}

/* A row that outlived its batch (operators/stash.c) is there as text. */
static void
insert_text(SeTaskSide *side, Relation table, const LateRow *late)
{
	Oid			types[5] = {JSONBOID, TEXTOID, InvalidOid, TIMESTAMPTZOID, TEXTOID};
	Datum		values[5];
	Oid			stream = stream_of(side->task);
	TupleDesc	desc = RelationGetDescr(table);
	AttrNumber	attno = 0;
	char	   *column;
	StringInfoData columns;
	StringInfoData text;

	if (late->row.text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a late row at %s cannot be kept", se_place_describe(late->row.place)),
				 errdetail("It has no form as jsonb."),
				 errhint("Use stream_engine.start(view, skip => position), or RESET (stream_engine.late_output).")));
	while ((column = get_attname(stream, ++attno, true)) != NULL)
	{
		if (get_atttype(stream, attno) != InvalidOid && get_attnum(RelationGetRelid(table), column) <= 0)
			refuse_loss(side, column);
	}
	initStringInfo(&columns);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		const char *name = NameStr(attribute->attname);

		if (!attribute->attisdropped && get_attnum(stream, name) > 0)
			appendStringInfo(&columns, "%s, ", quote_identifier(name));
	}
	types[2] = watermark_type(table);
	values[0] = DirectFunctionCall1(jsonb_in, CStringGetDatum(late->row.text));
	fill_ours(side, late, values + 1);
	initStringInfo(&text);
	appendStringInfo(&text, "INSERT INTO %s (%s" OUR_COLUMNS ") SELECT %s$2, $3, $4, $5 FROM pg_catalog.jsonb_populate_record(NULL::%s, $1)",
					 quoted_name(table), columns.data, columns.data, quoted_name(table));
	check_inserted(side, SPI_execute_with_args(text.data, 5, types, values, NULL, false, 0));
}

/* A rule may have made something else of it. */
static void
check_inserted(SeTaskSide *side, int result)
{
	const char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(side->late_output)),
												  get_rel_name(side->late_output));

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
refuse_loss(SeTaskSide *side, const char *column)
{
	const char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(side->late_output)),
												  get_rel_name(side->late_output));

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table %s cannot take a late row", name),
			 errdetail("It has no column \"%s\", which the stream has and the row has a value in.", column),
			 errhint("Use ALTER TABLE %s ADD COLUMN, and stream_engine.start(view).", name)));
}

void
se_side_committed(SeTask *task)
{
	SeTaskSide *side = task->side;
	ListCell   *cell;

	if (side == NULL)
		return;
	side->late = NIL;
	side->letters = NIL;
	side->bytes = 0;
	side->wants_commit = false;
	MemoryContextReset(side->memory);
	foreach(cell, task->left_out)
	{
		LeftOut    *item = lfirst(cell);

		if (!item->met)
			continue;
		task->left_out = foreach_delete_current(task->left_out, cell);
		MemoryContextDelete(item->memory);
	}
}

bool
se_side_row_at_fault(const SeTask *task, int sqlstate, SePlace *place)
{
	const SeBatch *batch = task->env.current_batch;
	ListCell   *cell;

	if (task->side == NULL || task->side->side.on_error == SE_ON_ERROR_STOP || !se_side_is_data_error(sqlstate) ||
		batch == NULL || task->env.current_row < 0 || task->env.current_row >= batch->nrows)
		return false;
	*place = batch->places[task->env.current_row];
	if (place->major == 0)
		return false;
	/* It was left out, and yet there it is. */
	foreach(cell, task->left_out)
	{
		if (se_place_compare(((LeftOut *) lfirst(cell))->place, *place) == 0)
			return false;
	}
	return true;
}

void
se_side_leave_out(SeTask *task, SePlace place, const ErrorData *error)
{
	MemoryContext memory = AllocSetContextCreate(TopMemoryContext, "stream_engine row left out", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	LeftOut    *item = palloc0(sizeof(LeftOut));

	item->place = place;
	item->memory = memory;
	item->error = palloc0(sizeof(ErrorData));
	item->error->sqlerrcode = error->sqlerrcode;
	item->error->message = pstrdup(error->message ? error->message : "");
	item->error->detail = error->detail ? pstrdup(error->detail) : NULL;
	MemoryContextSwitchTo(TopMemoryContext);
	task->left_out = lappend(task->left_out, item);
	MemoryContextSwitchTo(old);
}

void
se_side_restored(SeTask *task)
{
	ListCell   *cell;

	foreach(cell, task->left_out)
		((LeftOut *) lfirst(cell))->met = false;
}
