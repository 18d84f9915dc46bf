/*
 * time/window_sql.c
 *		tumble(), hop(), cumulate() as ordinary functions; session(), count_window() that only refuse.
 *
 * A continuous view recognises these functions in FROM and computes windows itself;
 * everywhere else (a plain SELECT, the batch twin of a view) they are what their
 * names say. timestamptz and timestamp share the code: both are microseconds on a
 * clock of their own. A NULL argument gives no rows, as a join with nothing, but for
 * the time zone, which may be left out.
 *
 * Runs in: any backend.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/se.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "time/window.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

SE_FUNCTION_INFO_V1(stream_engine_tumble);
SE_FUNCTION_INFO_V1(stream_engine_hop);
SE_FUNCTION_INFO_V1(stream_engine_cumulate);
SE_FUNCTION_INFO_V1(stream_engine_session);
SE_FUNCTION_INFO_V1(stream_engine_count_window);

/* What one call of a window function still has to return. */
typedef struct WindowCall
{
	SeWindow	window;
	SeTime		ts;
	SeTime		start;			/* the row returned last */
	SeTime		end;
} WindowCall;

static Datum window_rows(FunctionCallInfo fcinfo, SeWindowKind kind);
static bool start_call(FunctionCallInfo fcinfo, SeWindowKind kind, WindowCall *call);
static char *zone_argument(FunctionCallInfo fcinfo, int arg);
static void check_window(SeTime start, SeTime end);

Datum
stream_engine_tumble(PG_FUNCTION_ARGS)
{
	return window_rows(fcinfo, SE_WINDOW_TUMBLE);
}

Datum
stream_engine_hop(PG_FUNCTION_ARGS)
{
	return window_rows(fcinfo, SE_WINDOW_HOP);
}

Datum
stream_engine_cumulate(PG_FUNCTION_ARGS)
{
	return window_rows(fcinfo, SE_WINDOW_CUMULATE);
}

Datum
stream_engine_session(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("session() can be used in a continuous view only"),
			 errdetail("Which session a row belongs to depends on other rows."),
			 errhint("In an ordinary query find sessions with lag() and sum() OVER the rows of a key.")));
}

Datum
stream_engine_count_window(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("count_window() can be used in a continuous view only"),
			 errdetail("Which windows a row is in depends on the rows of its key that came before."),
			 errhint("In an ordinary query number the rows with row_number() OVER (PARTITION BY the key ORDER BY their order).")));
}

/* The windows of one time, one row each, in order of their end. */
static Datum
window_rows(FunctionCallInfo fcinfo, SeWindowKind kind)
{
	FuncCallContext *funcctx;
	WindowCall *call;
	bool		more;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	HeapTuple	tuple;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;
		TupleDesc	desc;

		funcctx = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "window function must return a row type");
		funcctx->tuple_desc = BlessTupleDesc(desc);
		call = palloc(sizeof(WindowCall));
		funcctx->user_fctx = call;
		more = start_call(fcinfo, kind, call);
		MemoryContextSwitchTo(old);
		funcctx = SRF_PERCALL_SETUP();
	}
	else
	{
		funcctx = SRF_PERCALL_SETUP();
		call = funcctx->user_fctx;
		more = se_window_next(&call->window, call->ts, &call->start, &call->end);
	}
	if (!more)
		SRF_RETURN_DONE(funcctx);
	CHECK_FOR_INTERRUPTS();

	check_window(call->start, call->end);
	values[0] = TimestampGetDatum(call->start);
	values[1] = TimestampGetDatum(call->end);
	values[2] = TimestampGetDatum(call->end - 1);
	tuple = heap_form_tuple(funcctx->tuple_desc, values, nulls);
	SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(tuple));
}

/*
 * Read the arguments (ts, [slide | step,] size, shift, timezone) and find the first
 * window; false if there is none, or if an argument but the last is NULL.
 */
static bool
start_call(FunctionCallInfo fcinfo, SeWindowKind kind, WindowCall *call)
{
	int			size_arg = kind == SE_WINDOW_TUMBLE ? 1 : 2;
	int			shift_arg = size_arg + 1;
	char	   *zone = zone_argument(fcinfo, shift_arg + 1);

	for (int i = 0; i <= shift_arg; i++)
	{
		if (PG_ARGISNULL(i))
			return false;
	}

	call->ts = PG_GETARG_TIMESTAMP(0);
	call->window = se_window_make(kind, PG_GETARG_INTERVAL_P(size_arg),
								  kind == SE_WINDOW_TUMBLE ? NULL : PG_GETARG_INTERVAL_P(1),
								  PG_GETARG_INTERVAL_P(shift_arg), zone);
	if (TIMESTAMP_NOT_FINITE(call->ts))
		return false;
	return se_window_first(&call->window, call->ts, &call->start, &call->end);
}

/* The time zone, NULL if there is none. It is for instants: a timestamp is on a local clock already. */
static char *
zone_argument(FunctionCallInfo fcinfo, int arg)
{
	if (PG_ARGISNULL(arg))
		return NULL;
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) == TIMESTAMPOID)
		se_window_refuse_zone();
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

/* A window at the end of time may not be a timestamp any more. */
static void
check_window(SeTime start, SeTime end)
{
	if (!IS_VALID_TIMESTAMP(start) || !IS_VALID_TIMESTAMP(end))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
}
