/*
 * base/settings.c
 *		The settings stream_engine.*: one table makes the GUCs and their documentation.
 */
#include "postgres.h"

#include <limits.h>

#include "base/settings.h"
#include "base/se.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

int			se_max_row_size;
int			se_max_transaction_rows;
int			se_max_retained_wal;
int			se_state_memory;
int			se_checkpoint_interval;
int			se_tick_interval;
int			se_batch_rows;
int			se_max_jobs = 64;
int			se_fallback_timeout;
int			se_restart_delay_min;
int			se_restart_delay_max;

typedef struct IntSetting
{
	const char *name;
	int		   *variable;
	int			boot;
	int			min;
	int			max;
	GucContext	context;
	int			flags;			/* unit, GUC_NOT_IN_SAMPLE for test settings */
	const char *help;
} IntSetting;

static const IntSetting int_settings[] = {
	{
		"stream_engine.max_row_size", &se_max_row_size, 64 * 1024, 1, 256 * 1024, PGC_SUSET, GUC_UNIT_KB,
		"A row whose packed size is above this is refused when it is written to a stream."
	},
	{
		"stream_engine.max_transaction_rows", &se_max_transaction_rows, 10000000, 1000, INT_MAX, PGC_SIGHUP, 0,
		"A view may show part of a transaction that wrote more rows than this to its stream."
	},
	{
		"stream_engine.max_retained_wal", &se_max_retained_wal, 16 * 1024, -1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB,
		"WAL kept for a stopped or failed job; beyond it the job gives its position up. -1 keeps it for ever. A running job's is never cut."
	},
	{
		"stream_engine.state_memory", &se_state_memory, 1024 * 1024, 1024, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB,
		"What the state of one continuous view may hold, unless the view has an option of this name."
	},
	{
		"stream_engine.checkpoint_interval", &se_checkpoint_interval, 200, 1, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
		"How often a view commits its results, unless it has an option of this name."
	},
	{
		"stream_engine.tick_interval", &se_tick_interval, 1000, 10, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
		"How often the clock is written into the stream log of a database where a view depends on it. A view that can do with fewer gets no more."
	},
	{
		"stream_engine.max_jobs", &se_max_jobs, 64, 1, 10000, PGC_POSTMASTER, 0,
		"Continuous views the server has shared memory for, over all databases."
	},
	{
		"stream_engine.restart_delay_min", &se_restart_delay_min, 100, 1, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
		"Wait before a failed job's first restart; doubled at every further failure."
	},
	{
		"stream_engine.restart_delay_max", &se_restart_delay_max, 60 * 1000, 1, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
		"Longest wait before a failed job's restart."
	},
	{
		"stream_engine.batch_rows", &se_batch_rows, 512, 1, 4096, PGC_SIGHUP, GUC_NOT_IN_SAMPLE,
		"Rows that go through a dataflow together. For tests: results do not depend on it."
	},
	{
		"stream_engine.fallback_timeout", &se_fallback_timeout, 10 * 1000, 100, 3600 * 1000, PGC_SIGHUP,
		GUC_UNIT_MS | GUC_NOT_IN_SAMPLE,
		"Longest sleep of a worker that nobody wakes. For tests: nothing depends on it."
	},
};

void
se_settings_init(void)
{
	for (int i = 0; i < lengthof(int_settings); i++)
	{
		const IntSetting *s = &int_settings[i];

		/* Outside preload the postmaster's settings cannot be defined any more. */
		if (s->context == PGC_POSTMASTER && !process_shared_preload_libraries_in_progress)
			continue;
		DefineCustomIntVariable(s->name, s->help, NULL, s->variable, s->boot, s->min, s->max,
								s->context, s->flags, NULL, NULL, NULL);
	}
	MarkGUCPrefixReserved("stream_engine");
}

/* How a person would call the unit. */
static const char *
unit_name(int flags)
{
	switch (flags & GUC_UNIT)
	{
		case GUC_UNIT_KB:
			return "kB";
		case GUC_UNIT_MB:
			return "MB";
		case GUC_UNIT_MS:
			return "ms";
	}
	return NULL;
}

/* Who may set it. */
static const char *
context_name(GucContext context)
{
	switch (context)
	{
		case PGC_POSTMASTER:
			return "server start";
		case PGC_SIGHUP:
			return "configuration reload";
		case PGC_SUSET:
			return "superuser";
		default:
			return "anybody";
	}
}

SE_FUNCTION_INFO_V1(stream_engine_settings);

/* stream_engine.settings(): the table above, as rows. */
Datum
stream_engine_settings(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < lengthof(int_settings); i++)
	{
		const IntSetting *s = &int_settings[i];
		const char *unit = unit_name(s->flags);
		Datum		values[6];
		bool		nulls[6] = {false};

		values[0] = CStringGetTextDatum(s->name);
		values[1] = CStringGetTextDatum("integer");
		nulls[2] = unit == NULL;
		values[2] = unit ? CStringGetTextDatum(unit) : (Datum) 0;
		values[3] = CStringGetTextDatum(psprintf("%d", s->boot));
		values[4] = CStringGetTextDatum(context_name(s->context));
		values[5] = CStringGetTextDatum(s->help);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
