/*
 * monitor/watermarks.c
 *		What the view `watermarks` asks of us: stored watermarks, and clock times as moments.
 *
 * Runs in: sessions, also on a standby.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/se.h"
#include "funcapi.h"
#include "log/position.h"
#include "log/stream.h"
#include "utils/timestamp.h"

SE_FUNCTION_INFO_V1(stream_engine_describe_time);
SE_FUNCTION_INFO_V1(stream_engine_describe_moment);

/* describe_time("position" bytea) → (watermark, by_proctime): as of a stored position; NULL if its source has no time. */
Datum
stream_engine_describe_time(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	SeLogPosition position;
	TupleDesc	desc;
	Datum		values[2] = {0};
	bool		nulls[2] = {true, true};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (se_position_is_log(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)))
	{
		se_position_decode(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), &position);
		values[0] = TimestampTzGetDatum(position.watermark);
		nulls[0] = position.watermark == SE_TIME_MIN;
		values[1] = BoolGetDatum((position.flags & SE_POSITION_PROCTIME) != 0);
		nulls[1] = false;
	}
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * describe_moment(stream oid, watermark timestamptz) → timestamptz: the moment that a stream's watermark is. That of a
 * `timestamp` event time is on the clock of the stream's zone; the view shows it as if that were UTC.
 */
Datum
stream_engine_describe_moment(PG_FUNCTION_ARGS)
{
	Oid			stream = PG_GETARG_OID(0);

	if (!se_stream_is(stream))
		PG_RETURN_NULL();		/* just dropped */
	PG_RETURN_TIMESTAMPTZ(se_stream_moment(se_stream_info(stream), PG_GETARG_TIMESTAMPTZ(1)));
}
