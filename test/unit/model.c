/*
 * test/unit/model.c
 *		What a model is made of: steps, the node of its operator, rows of results; how it is followed and compared.
 */
#include "model.h"

#include "catalog/pg_type_d.h"
#include "utils/fmgroids.h"

/* ------------------------------------------------------------- input */

void
se_model_random_steps(Step *steps, int n, int keys, bool ticks, int64 unit)
{
	SeTime		wm = SE_TIME_MIN;
	SeTime		now = -200;
	SeTime		tick = 1000;
	int			delay = se_harness_random(se_harness_random(2) == 0 ? 20 : 60);
	int			late = 40 + se_harness_random(60);
	int			quick = 1 + se_harness_random(3);
	int			end = se_harness_random(4) == 0 ? n - 1 - se_harness_random(n / 8) : n;

	for (int i = 0; i <= n; i++)
	{
		Step	   *step = &steps[i];

		now += se_harness_random(5) == 0 ? se_harness_random(16) : se_harness_random(quick + 1);
		step->key = (int) se_harness_random(keys) - 1;
		step->value = (int) se_harness_random(50) - 1;
		step->ts = (now - (int) se_harness_random(se_harness_random(4) == 0 ? late : 9)) * unit;
		step->gap = se_harness_random(15) == 0 ? -1 : (int) se_harness_random(12);
		step->wm = wm;
		step->kind = STEP_ROW;
		if (ticks && se_harness_random(7) == 0)
		{
			step->kind = STEP_TICK;
			step->now = tick += se_harness_random(30);
		}
		else if (i >= end)
			wm = SE_TIME_MAX;
		else
		{
			if (se_harness_random(20) == 0)
				step->kind = STEP_WATERMARK;
			wm = Max(wm, step->ts - delay * unit);
		}
	}
	steps[n].kind = STEP_WATERMARK;
}

static TupleDesc
input_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(6);

	TupleDescInitEntry(desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "v", INT4OID, -1, 0);
	TupleDescInitEntry(desc, COLUMN_TS + 1, "ts", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(desc, COLUMN_GAP + 1, "gap", INTERVALOID, -1, 0);
	TupleDescInitEntry(desc, COLUMN_START + 1, "s", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(desc, COLUMN_END + 1, "e", TIMESTAMPOID, -1, 0);
	return desc;
}

/* ------------------------------------------------------------- the node */

void
se_model_init(Model *model, const Definition *definition, SeNode *node, int kind, int window, int nsteps)
{
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(4 + window);

	Assert(window == -1 || window == 0 || window == 1 || window == 3);
	input->desc = input_desc();
	if (window >= 0)
		TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	for (int i = 0; i < window; i++)
		TupleDescInitEntry(out, 2 + i, "w", window == 1 ? INT8OID : TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(out, window + 2, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, window + 3, "sum", INT8OID, -1, 0);
	TupleDescInitEntry(out, window + 4, "max", INT4OID, -1, 0);
	node->kind = kind;
	node->id = 1;
	node->inputs = list_make1(input);
	node->desc = out;
	model->definition = definition;
	model->node = node;
	model->append = definition->same == NULL;
	model->steps = palloc0((nsteps + 1) * sizeof(Step));
	model->nsteps = nsteps;
}

static SeAggCall *
call(Oid function, List *args)
{
	SeAggCall  *result = palloc0(sizeof(SeAggCall));

	result->aggref = palloc0(sizeof(Aggref));
	((Node *) result->aggref)->type = T_Aggref;
	result->aggref->aggfnoid = function;
	result->args = args;
	result->filter = -1;
	result->method = SE_AGG_NATIVE;
	result->mergeable = true;
	return result;
}

List *
se_model_calls(void)
{
	return list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
}

/* ------------------------------------------------------------- results */

const Result se_model_nothing = {.sum = -1,.max = -1};

Result
se_model_result(const Step *row, SeTime start, SeTime end)
{
	return (Result)
	{
		.key = row->key,.start = start,.end = end,.count = 1,.sum = row->value,.max = row->value
	};
}

void
se_model_add(Result *to, const Result *more)
{
	to->count += more->count;
	if (to->sum < 0)
		to->sum = more->sum;
	else if (more->sum >= 0)
		to->sum += more->sum;
	to->max = Max(to->max, more->max);
}

bool
se_model_same_window(const Result *a, const Result *b)
{
	return a->key == b->key && a->start == b->start && a->end == b->end;
}

bool
se_model_same_key(const Result *a, const Result *b)
{
	return a->key == b->key;
}

bool
se_model_equal(const Result *a, const Result *b)
{
	return se_model_same_window(a, b) && a->count == b->count && a->sum == b->sum && a->max == b->max;
}

int
se_model_find(const Table *table, const Result *row, bool (*same) (const Result *, const Result *))
{
	for (int at = table->n - 1; at >= 0; at--)
	{
		if (same(&table->rows[at], row))
			return at;
	}
	return table->n;
}

/* Behind the last, or in the place of one. */
void
se_model_put(Table *table, int at, const Result *row)
{
	if (at == table->room)
	{
		table->room = Max(64, table->room * 2);
		table->rows = table->rows == NULL ? palloc(table->room * sizeof(Result)) :
			repalloc(table->rows, table->room * sizeof(Result));
	}
	table->rows[at] = *row;
	table->n = Max(table->n, at + 1);
}

void
se_model_copy(Table *to, const Table *from)
{
	while (to->room < from->n)
		se_model_put(to, to->room, &from->rows[0]);
	if (from->n > 0)
		memcpy(to->rows, from->rows, from->n * sizeof(Result));
	to->n = from->n;
}

/* ------------------------------------------------------------- follow and compare */

/* The watermark after the first n steps. */
SeTime
se_model_watermark_after(const Model *model, int n)
{
	return n <= model->nsteps ? model->steps[n].wm : SE_TIME_MAX;
}

static void
model_reach(Model *model, SeTime wm)
{
	if (model->definition->reach != NULL && wm > model->wm)
		model->definition->reach(model, wm);
	model->wm = Max(model->wm, wm);
}

/* The model has seen the steps that the operator has. */
void
se_model_follow(Model *model, int upto)
{
	if (model->at > upto)
	{
		model->at = 0;
		model->wm = SE_TIME_MIN;
		model->late_rows = model->late_pairs = 0;
		model->entries = -1;
		model->definition->forget(model);
	}
	while (model->at < upto)
	{
		Step	   *step = &model->steps[model->at];

		model_reach(model, step->wm);
		if (step->kind == STEP_ROW)
			model->definition->row(model, step);
		else if (step->kind == STEP_TICK && model->definition->tick != NULL)
			model->definition->tick(model, step->now);
		model->at++;
		model_reach(model, se_model_watermark_after(model, model->at));
	}
}

static int
compare_results(const void *a, const void *b)
{
	const Result *x = a;
	const Result *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count;
}

static void
print_result(const char *what, const Result *row)
{
	fprintf(stderr, "%s [%lld,%lld) of %d: %lld rows, sum %lld, max %d\n", what, (long long) row->start,
			(long long) row->end, row->key, (long long) row->count, (long long) row->sum, row->max);
}

void
se_model_check_rows(Model *model, const Table *table)
{
	Table		is = {0};
	Table		want = {0};
	int			i = 0;

	model->definition->show(model, &want);
	se_model_copy(&is, table);
	if (is.n > 0)
		qsort(is.rows, is.n, sizeof(Result), compare_results);
	if (want.n > 0)
		qsort(want.rows, want.n, sizeof(Result), compare_results);
	while (i < is.n && i < want.n && se_model_equal(&is.rows[i], &want.rows[i]))
		i++;
	SE_CHECK_INT(is.n, want.n);
	if (i < Max(is.n, want.n))
	{
		fprintf(stderr, "%s, after %d steps, watermark %lld:\n",
				model->definition->describe != NULL ? model->definition->describe(model) : "",
				model->at, (long long) model->wm);
		if (i < want.n)
			print_result("expected", &want.rows[i]);
		if (i < is.n)
			print_result("there is", &is.rows[i]);
		SE_CHECK_INT(i, -1);
	}
	if (is.rows != NULL)
		pfree(is.rows);
	if (want.rows != NULL)
		pfree(want.rows);
}
