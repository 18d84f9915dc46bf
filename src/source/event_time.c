/*
 * source/event_time.c
 *		The door for event times: which rows a stream takes, by its options null_time, infinite_time and max_future.
 *
 * An event time is a moment. NULL and infinity are none, and one far in the future, from a producer with a broken clock,
 * would close everybody's windows. What is done with such a row is decided here, once, while it is written, and is
 * recorded in the row: no reader looks at a clock, and a change of the options says nothing about rows that are there.
 *
 * Runs in: sessions. No locks.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/clock.h"
#include "base/fault.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "meta/dead_letters.h"
#include "meta/dropped_rows.h"
#include "source/event_time.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

static SeBadTime what_is_wrong(SeTimeDoor *door, TupleTableSlot *slot);
static SeBadTimeAction action_of(const SeStreamInfo *info, SeBadTime wrong);
static void send_dead_letter(SeTimeDoor *door, SeBadTime wrong, TupleTableSlot *slot);
static int	sqlstate_of(SeBadTime wrong);
static char *message_of(SeTimeDoor *door, SeBadTime wrong);
static char *detail_of(SeTimeDoor *door, SeBadTime wrong);
static void tell(SeTimeDoor *door, SeBadTime wrong, int64 rows, const char *action, const char *view);

/* The options that say what is done, by SeBadTime; and why, for people. */
static const char *const reasons[SE_BAD_TIMES] = {"null_time", "infinite_time", "future_time"};

SeTimeDoor *
se_event_time_open(Relation stream, SeStreamInfo *info)
{
	SeTimeDoor *door = palloc0(sizeof(SeTimeDoor));

	door->stream = stream;
	door->info = info;
	door->limit = se_event_time_limit(info);
	return door;
}

SeTime
se_event_time_limit(const SeStreamInfo *info)
{
	SeTime		limit;

	if (info->max_future < 0 || SE_FAULT_WRONG("wrong-future-let-in"))
		return DT_NOEND - 1;
	if (pg_add_s64_overflow(se_clock_now(), info->max_future, &limit) || !IS_VALID_TIMESTAMP(limit))
		return DT_NOEND - 1;
	return se_stream_event_time(info, limit);
}

/* The clock may have gone on since the limit was set. */
static SeBadTime
what_is_wrong(SeTimeDoor *door, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, door->info->event_time, &isnull);

	if (isnull)
		return SE_BAD_NULL;
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(value)))
		return SE_BAD_INFINITE;
	door->limit = se_event_time_limit(door->info);
	return DatumGetTimestampTz(value) > door->limit ? SE_BAD_FUTURE : SE_BAD_TIMES;
}

static SeBadTimeAction
action_of(const SeStreamInfo *info, SeBadTime wrong)
{
	switch (wrong)
	{
		case SE_BAD_NULL:
			return info->null_time;
		case SE_BAD_INFINITE:
			return info->infinite_time;
		default:
			return info->future_time;
	}
}

SeTimeVerdict
se_event_time_judge(SeTimeDoor *door, TupleTableSlot *slot)
{
	SeBadTime	wrong = what_is_wrong(door, slot);

	if (wrong == SE_BAD_TIMES)
		return SE_TIME_GOOD;
	switch (action_of(door->info, wrong))
	{
		case SE_BAD_TIME_PASS:
			return SE_TIME_PASSED;
		case SE_BAD_TIME_DROP:
			door->dropped[wrong]++;
			return SE_TIME_LEFT_OUT;
		case SE_BAD_TIME_DEAD_LETTER:
			send_dead_letter(door, wrong, slot);
			return SE_TIME_LEFT_OUT;
		default:
			return SE_TIME_REFUSED;
	}
}

/* The stream does not take the row: its owner gets it whole, in this transaction. */
static void
send_dead_letter(SeTimeDoor *door, SeBadTime wrong, TupleTableSlot *slot)
{
	SeDeadLetter letter = {.relation = door->info->relation,.stream = door->info->relation,.reason = reasons[wrong]};
	MemoryContext old;

	if (door->memory == NULL)
		door->memory = AllocSetContextCreate(GetMemoryChunkContext(door), "stream_engine dead letter",
											 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(door->memory);
	slot_getallattrs(slot);
	letter.row = se_dead_letters_row(RelationGetDescr(door->stream), slot->tts_values, slot->tts_isnull);
	letter.arrived = GetCurrentStatementStartTimestamp();
	letter.sqlstate = sqlstate_of(wrong);
	letter.message = message_of(door, wrong);
	letter.detail = detail_of(door, wrong);
	se_dead_letters_add(&letter);
	MemoryContextSwitchTo(old);
	MemoryContextReset(door->memory);
	door->dead_letters[wrong]++;
}

void
se_event_time_refuse(SeTimeDoor *door, TupleTableSlot *slot)
{
	SeBadTime	wrong = what_is_wrong(door, slot);
	const char *detail = detail_of(door, wrong);

	ereport(ERROR,
			(errcode(sqlstate_of(wrong)),
			 errmsg_internal("%s", message_of(door, wrong)),
			 detail != NULL ? errdetail_internal("%s", detail) : 0,
			 wrong == SE_BAD_NULL ?
			 errhint("Give every row its event time; DEFAULT now() makes it the time of the insertion.") :
			 wrong == SE_BAD_INFINITE ?
			 errhint("To say that no more rows come, call stream_engine.emit_watermark with 'infinity'.") :
			 errhint("Set the clock of the producer right; the stream's option future_time says what is done with such rows."),
			 errtablecol(door->stream, door->info->event_time)));
	pg_unreachable();
}

static int
sqlstate_of(SeBadTime wrong)
{
	return wrong == SE_BAD_NULL ? ERRCODE_NOT_NULL_VIOLATION : ERRCODE_DATETIME_VALUE_OUT_OF_RANGE;
}

static char *
message_of(SeTimeDoor *door, SeBadTime wrong)
{
	const char *stream = RelationGetRelationName(door->stream);
	const char *column = NameStr(TupleDescAttr(RelationGetDescr(door->stream), door->info->event_time - 1)->attname);

	switch (wrong)
	{
		case SE_BAD_NULL:
			return psprintf(_("null value in column \"%s\", the event time of stream \"%s\""), column, stream);
		case SE_BAD_INFINITE:
			return psprintf(_("infinite value in column \"%s\", the event time of stream \"%s\""), column, stream);
		default:
			return psprintf(_("value in column \"%s\", the event time of stream \"%s\", is too far in the future"),
							column, stream);
	}
}

static char *
detail_of(SeTimeDoor *door, SeBadTime wrong)
{
	PGFunction	output = door->info->event_time_type == TIMESTAMPOID ? timestamp_out : timestamptz_out;

	if (wrong != SE_BAD_FUTURE)
		return NULL;
	return psprintf(_("Option max_future of the stream allows %s at most."),
					DatumGetCString(DirectFunctionCall1(output, TimestampTzGetDatum(door->limit))));
}

void
se_event_time_close(SeTimeDoor *door)
{
	for (int wrong = 0; wrong < SE_BAD_TIMES; wrong++)
	{
		int64		rows = door->dropped[wrong];

		if (rows > 0 && !SE_FAULT_WRONG("wrong-drop-not-counted"))
		{
			se_dropped_rows_add(door->info->relation, reasons[wrong], rows);
			tell(door, wrong, rows, "drop", "dropped_rows");
		}
		if (door->dead_letters[wrong] > 0)
			tell(door, wrong, door->dead_letters[wrong], "dead_letter", "dead_letters");
		door->dropped[wrong] = door->dead_letters[wrong] = 0;
	}
}

/* A row that is not there may be missed: say so to who wrote it, not to the log, which a broken producer would fill. */
static void
tell(SeTimeDoor *door, SeBadTime wrong, int64 rows, const char *action, const char *view)
{
	static const char *const what[SE_BAD_TIMES] = {"null", "infinite", "too far in the future"};

	ereport(NOTICE,
			(errmsg_plural("%lld row was not written to stream \"%s\": its event time is %s",
						   "%lld rows were not written to stream \"%s\": their event times are %s",
						   rows, (long long) rows, RelationGetRelationName(door->stream), what[wrong]),
			 errdetail("Option %s of the stream is \"%s\".", reasons[wrong], action),
			 errhint("See the view stream_engine.%s.", view)));
}
