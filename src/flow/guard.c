/*
 * flow/guard.c
 *		Running expressions so that a row that raises an error can be left out.
 *
 * Each run is a subtransaction: what the user's code held at its error (locks, snapshots,
 * settings, cursors) is released with it. One takes about a microsecond, so callers
 * guard a batch and not a row.
 */
#include "postgres.h"

#include "access/xact.h"
#include "flow/guard.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

static bool run_once(SeOperatorEnv *env, SeGuardBody body, void *arg);
static bool row_is_to_blame(const SeOperatorEnv *env, int sqlstate);

bool
se_side_is_data_error(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
			return true;
		default:
			return sqlstate == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	}
}

void
se_guard_run(SeOperatorEnv *env, bool guarded, SeGuardBody body, SeGuardBody again, void *arg)
{
	if (!guarded)
	{
		body(arg);
		return;
	}
	while (!run_once(env, body, arg))
	{
		if (again != NULL)
			again(arg);
	}
}

/* False if a row was left out, and body has to go on. */
static bool
run_once(SeOperatorEnv *env, SeGuardBody body, void *arg)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		body(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (!row_is_to_blame(env, geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(memory);
		CurrentResourceOwner = owner;
		env->side->failed(env->side, env->current_batch, env->current_row, error);
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
	return done;
}

/* An error of the data, and a row of the stream is at work. */
static bool
row_is_to_blame(const SeOperatorEnv *env, int sqlstate)
{
	const SeBatch *batch = env->current_batch;

	return se_side_is_data_error(sqlstate) && batch != NULL && env->current_row >= 0 &&
		batch->places[env->current_row].major != 0;
}
