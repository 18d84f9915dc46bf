/*
 * source/proctime.c
 *		The SQL function proctime(): processing time that a replay sees again.
 *
 * In a continuous view the planner puts a column of the source in its place. In a plain
 * SELECT it is the time at which the transaction of the row just read from a stream
 * committed, and where no stream is being read, the present.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/se.h"
#include "source/bounded_read.h"
#include "utils/timestamp.h"

SE_FUNCTION_INFO_V1(stream_engine_proctime);

Datum
stream_engine_proctime(PG_FUNCTION_ARGS)
{
	SeTime		proctime;

	/* The planner may ask before any row was read, to estimate a condition. */
	if (!se_bounded_read_proctime(&proctime))
		proctime = se_clock_now();
	PG_RETURN_TIMESTAMPTZ(proctime);
}
