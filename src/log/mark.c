/*
 * log/mark.c
 *		Marks that belong to no transaction: start, refresh, tick, idle, barrier.
 *
 * What depends on a clock or on a moment enters the log as a record, so that every
 * replay meets it at the same place.  A mark counts from the moment it is written,
 * whatever becomes of the writer's transaction.
 *
 * Runs in: sessions (start, refresh), coordinators. Not in recovery.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/clock.h"
#include "base/database_slot.h"
#include "log/append.h"
#include "miscadmin.h"

/*
 * Write a mark and wake the readers of this database (but for a tick or an idle mark: its writer wakes those it is for); returns the end of its record,
 * and its start in *start unless that is NULL.  `xid` and `ordinal` are those of the
 * creating transaction for a start mark, else 0.
 */
XLogRecPtr
se_mark_write(SeMarkKind mark, Oid relation, uint64 xid, uint64 ordinal,
			  const void *body, Size len, bool flush, XLogRecPtr *start)
{
	SeMessageHeader header = {.version = SE_MESSAGE_VERSION,.kind = SE_MESSAGE_MARK,.mark = mark};
	XLogRecPtr	end;

	Assert(mark != SE_MARK_WATERMARK && mark != SE_MARK_NONE);
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write to the stream log during recovery")));
	header.database = MyDatabaseId;
	header.relation = relation;
	header.top_xid = xid;
	header.ordinal = ordinal;
	header.body_len = len;
	header.clock = se_clock_is_driven() ? se_clock_now() : 0;

	end = se_message_write(&header, body, false);
	if (start != NULL)
		*start = ProcLastRecPtr;
	if (mark == SE_MARK_START)
		se_append_forget_layouts();
	if (flush)
		XLogFlush(end);
	if (mark != SE_MARK_TICK && mark != SE_MARK_IDLE)
		se_database_slot_wake_readers(MyDatabaseId, end);
	return end;
}
