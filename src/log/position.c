/*
 * log/position.c
 *		Positions in the stream log as stored bytes: made, checked, shown.
 *
 * The struct is the byte table of position.h, in the machine's byte order; a position
 * is written and read by servers of one data directory. An unknown version or a spare
 * flag that is set means that a newer release wrote it: the job stops, it never guesses.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "log/position.h"

#define POSITION_VERSION 2

/* Version 1 knew nothing of idle streams. */
#define POSITION_SIZE_1 offsetof(SeLogPosition, active)

void
se_position_decode(const void *bytes, Size len, SeLogPosition *position)
{
	bool		old = len == POSITION_SIZE_1;

	if (len != sizeof(SeLogPosition) && !old)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored stream position has a wrong length"),
				 errdetail("Expected %zu bytes, found %zu.", sizeof(SeLogPosition), len)));
	memcpy(position, bytes, len);
	if (old)
	{
		position->active = SE_TIME_MIN;
		position->active_watermark = SE_TIME_MIN;
	}
	if (position->tag != SE_POSITION_TAG_LOG ||
		position->version != (old ? 1 : POSITION_VERSION) ||
		(position->flags & ~(SE_POSITION_EARLIEST | (old ? 0 : SE_POSITION_IDLE | SE_POSITION_PROCTIME))) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored stream position is of an unknown kind"),
				 errdetail("Tag %u, version %u, flags %u.",
						   position->tag, position->version, position->flags)));
	if (XLogRecPtrIsInvalid(position->restart_lsn) ||
		position->restart_lsn > position->commit_lsn)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored stream position contradicts itself"),
				 errdetail("Restart LSN %X/%X, commit LSN %X/%X.",
						   LSN_FORMAT_ARGS(position->restart_lsn),
						   LSN_FORMAT_ARGS(position->commit_lsn))));
	position->version = POSITION_VERSION;
}

void
se_position_at_mark(SeLogPosition *position, XLogRecPtr mark_start,
					uint64 creator_xid, uint64 creator_ordinal)
{
	memset(position, 0, sizeof(SeLogPosition));
	position->tag = SE_POSITION_TAG_LOG;
	position->version = POSITION_VERSION;
	position->flags = creator_xid == 0 ? SE_POSITION_EARLIEST : 0;
	position->timeline = RecoveryInProgress() ? 0 : GetWALInsertionTimeLine();
	position->restart_lsn = mark_start;
	position->commit_lsn = mark_start;
	position->creator_xid = creator_xid;
	position->creator_ordinal = creator_ordinal;
	position->watermark = SE_TIME_MIN;
	position->proctime = SE_TIME_MIN;
	position->active = SE_TIME_MIN;
	position->active_watermark = SE_TIME_MIN;
}

/* "0/1A2B3C4", or "0/1A2B3C4 +12" within a transaction. */
char *
se_position_describe(const SeLogPosition *position)
{
	if (position->ordinal == 0)
		return psprintf("%X/%X", LSN_FORMAT_ARGS(position->commit_lsn));
	return psprintf("%X/%X +" UINT64_FORMAT,
					LSN_FORMAT_ARGS(position->commit_lsn), position->ordinal);
}
