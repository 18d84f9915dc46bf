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
#include "access/xact.h"
#include "base/fault.h"
#include "flow/guard.h"
#include "flow/side.h"
#include "miscadmin.h"
#include "meta/dead_letters.h"
#include "runtime/side.h"
#include "runtime/side_late.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

/* Bytes, of rows and all that is around them, at which a commit is due. */
#define FULL_BYTES (16 * 1024 * 1024)

typedef struct Letter
{
	SeWholeRow	row;
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
	List	   *late;			/* SeLateRow */
	List	   *letters;		/* Letter */
	bool		wants_commit;
	Letter	   *converting;		/* argument of make_json */
} SeTaskSide;

static void side_late(SeSide *side, const SeBatch *batch, int row);
static void side_failed(SeSide *side, const SeBatch *batch, int row, const ErrorData *error);
static bool side_is_left_out(SeSide *side, const SeBatch *batch, int row);
static char *side_whole(SeSide *side, const SeBatch *batch, int row);
static void find_whole(SeTaskSide *side, const SeBatch *batch, int row, SeWholeRow *whole);
static void leave_out(SeTaskSide *side, const SeBatch *batch, int row, const ErrorData *error);
static Oid	stream_of(const SeTask *task);
static void make_json(SeTaskSide *side);
static void write_letter(SeTaskSide *side, const Letter *letter);

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
	SeLateRow  *late;

	if (!base->late_output)
		return;
	old = MemoryContextSwitchTo(side->memory);
	late = palloc0(sizeof(SeLateRow));
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
	side->letters = lappend(side->letters, letter);
	MemoryContextSwitchTo(old);
}

static char *
side_whole(SeSide *base, const SeBatch *batch, int row)
{
	SeTaskSide *side = (SeTaskSide *) base;
	SeWholeRow	whole = {0};
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
find_whole(SeTaskSide *side, const SeBatch *batch, int row, SeWholeRow *whole)
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
		return;
	}
	if (batch->whole != NULL && batch->whole[row] != NULL)
	{
		char	   *text;

		whole->arrived = strtoll(batch->whole[row], &text, 10);
		whole->text = pstrdup(*text == ' ' ? text +1 : text);
	}
}

bool
se_side_wants_commit(const SeTask *task)
{
	return task->side != NULL && (task->side->wants_commit ||
								  MemoryContextMemAllocated(task->side->memory, true) >= FULL_BYTES);
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
		se_side_late_write(task, side->late_output, side->late);
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

void
se_side_committed(SeTask *task)
{
	SeTaskSide *side = task->side;
	ListCell   *cell;

	if (side == NULL)
		return;
	side->late = NIL;
	side->letters = NIL;
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
