/*
 * test/unit/test_session_update.c
 *		Sessions whose results change, against their definition: random rows, options, batches, full outputs,
 *		snapshots, reclaimed records, generations and restores at any moment.
 */
#include "sessions.h"

/* Rows are known by key and end. */
static bool
same_session(const Result *a, const Result *b)
{
	return a->key == b->key && a->end == b->end;
}

/* Which rows show a session, or a part of it: how many, and the last. Final ones show nothing of others. */
static int
rows_of(const Table *table, const Session *session, Result **last)
{
	const Result *it = &session->row;
	int			found = 0;

	for (int i = 0; i < table->n; i++)
	{
		Result	   *row = &table->rows[i];

		if (row->key != it->key || (it->final ? row->end != it->end || row->start != it->start :
									row->final || row->start < it->start || row->end > it->end))
			continue;
		*last = row;
		found++;
	}
	return found;
}

/*
 * Final sessions are there as they are, and never change again. If `exact`, so is what was over once, and with
 * `all` all others; else a row may be older, but there are never two of one session.
 */
static void
check_table(Model *model, Table *table)
{
	Sessions   *sessions = (Sessions *) model;
	int			rows_found = 0;

	for (int final = 1; final >= 0; final--)
	{
		for (int i = 0; i < sessions->n; i++)
		{
			Session    *session = &sessions->sessions[i];
			Result	   *row = NULL;
			int			found;

			if (session->row.final != final)
				continue;
			found = rows_of(table, session, &row);
			SE_CHECK(found <= 1);
			if (final || (sessions->exact && (sessions->all || session->fired)))
				SE_CHECK(found > 0 && se_model_equal(row, &session->row));
			else if (sessions->exact)
				SE_CHECK_INT(found, 0);
			if (final && found > 0)
				row->final = true;
			rows_found += found;
		}
	}
	SE_CHECK_INT(table->n, rows_found);

	/* what ends where nothing changes any more is no part of a session that goes on */
	for (int i = 0; i < table->n; i++)
		SE_CHECK(table->rows[i].final || table->rows[i].end >= sessions->horizon);
}

/* From here on results change. What is there is not counted again by `every`. */
static bool
alter(Model *model, int at)
{
	Sessions   *sessions = (Sessions *) model;

	if (!model->append)
		return false;
	model->append = false;
	sessions->node->emit = sessions->next_emit;
	sessions->altered = at;
	sessions->exact &= sessions->next_emit.every == 0;
	return true;
}

static const Definition sessions_updating = {
	.create = sessions_create,.same = same_session,.behind = 1,.disturb = begin_generation,.alter = alter,
	.forget = sessions_forget,.row = sessions_row,.reach = sessions_reach,
	.show = sessions_show,.check = check_table,.describe = sessions_describe
};

/* Random options; what the result is between two commits is known exactly for some. */
static SeEmit
random_emit(bool *exact, bool *all)
{
	SeEmit		emit = {.given = true};

	*exact = true;
	*all = false;
	if (se_harness_random(4) > 0)
		emit.lateness = 1 + se_harness_random(60);
	switch (se_harness_random(5))
	{
		case 0:
			emit.on_update = *all = true;
			break;
		case 1:
			emit.every = 1 + se_harness_random(4);
			*all = emit.every == 1;
			*exact = *all;
			break;
		case 2:
			emit.early = 1 + se_harness_random(30);
			emit.early_clock = se_harness_random(2) == 0;
			*exact = false;
			break;
		default:
			emit.lateness = Max(emit.lateness, 1);
			break;
	}
	if (emit.lateness > 0 && se_harness_random(3) == 0)
	{
		emit.late = 1 + se_harness_random(20);
		*exact = false;
	}
	return emit;
}

static Model *
random_model(void)
{
	Sessions   *sessions = new_sessions(&sessions_updating, (int64) se_harness_random(12) - 1, 300);

	sessions->node->emit = random_emit(&sessions->exact, &sessions->all);
	se_model_random_steps(sessions->model.steps, 300, 2 + se_harness_random(40), true, 1);
	return &sessions->model;
}

/* Its results do not change yet. */
static Model *
random_altered_model(void)
{
	Sessions   *sessions = (Sessions *) random_model();

	sessions->next_emit = sessions->node->emit;
	sessions->node->emit = when_over;
	sessions->model.append = true;
	sessions->altered = sessions->model.nsteps;
	return &sessions->model;
}

static void
runs(int times, Model *(*model) (void), Plan plan)
{
	se_model_runs(times, model, plan);
	SE_CHECK(se_model_seen.deletes > 50 && se_model_seen.updates > 300 && se_model_seen.moves > 200 &&
			 se_model_seen.checks > 500);
}

SE_TEST(the_result_is_that_of_the_rows_so_far_whatever_the_batches)
{
	runs(400, random_model, PLAN_PLAIN);
}

SE_TEST(a_full_output_only_delays)
{
	runs(200, random_model, PLAN_FULL);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	runs(400, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(sessions_move_to_the_next_generation_also_over_restores)
{
	runs(400, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB);
}

SE_TEST(results_begin_to_change_when_options_are_altered)
{
	runs(400, random_altered_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB | PLAN_ALTER);
	SE_CHECK(se_model_seen.alters > 300);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_shows_the_same)
{
	int			plan = PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB | PLAN_DIVIDE;

	runs(250, random_model, plan);
	runs(250, random_altered_model, plan | PLAN_ALTER);
}

SE_TEST(damaged_records_are_errors)
{
	Sessions   *sessions = new_sessions(&sessions_updating, -1, 400);

	sessions->node->emit = (SeEmit)
	{
		.given = true,.early = 20,.late = 5,.lateness = 40
	};
	se_model_random_steps(sessions->model.steps, 400, 20, true, 1);
	se_model_damage(&sessions->model, 3000);
}
