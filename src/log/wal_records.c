/*
 * log/wal_records.c
 *		Records of this server's WAL one after the other, and what is said when one is not there.
 *
 * Runs in: task workers and sessions that SELECT from a stream. No locks.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "base/compat.h"
#include "log/missing_wal.h"
#include "log/retention.h"
#include "log/wal_records.h"
#include "storage/fd.h"

/* Our messages are up to 64 kB: several fit, none is allocated one by one. */
#define DECODE_BUFFER (1024 * 1024)

static void open_segment(XLogReaderState *state, XLogSegNo segment, TimeLineID *timeline);
static void close_segment(XLogReaderState *state);
static XLogRecPtr record_place(XLogRecPtr lsn);
static void read_failed(SeWal *wal, const char *what) SE_NORETURN;
static void wal_is_gone(XLogRecPtr from) SE_NORETURN;

void
se_wal_open(SeWal *wal, MemoryContext memory)
{
	MemoryContext old = MemoryContextSwitchTo(memory);

	wal->memory = memory;
	se_wal_pages_init(&wal->pages, memory);
	wal->state = XLogReaderAllocate(wal_segment_size, NULL,
									XL_ROUTINE(.page_read = se_wal_pages_read,
											   .segment_open = open_segment,
											   .segment_close = close_segment),
									&wal->pages);
	if (wal->state == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while allocating a WAL reader.")));
	XLogReaderSetDecodeBuffer(wal->state, NULL, DECODE_BUFFER);
	MemoryContextSwitchTo(old);
}

void
se_wal_close(SeWal *wal)
{
	if (wal->state != NULL && wal->state->seg.ws_file >= 0)
		close_segment(wal->state);
}

static void
open_segment(XLogReaderState *state, XLogSegNo segment, TimeLineID *timeline)
{
	char		path[MAXPGPATH];

	XLogFilePath(path, *timeline, segment, wal_segment_size);
	state->seg.ws_file = BasicOpenFile(path, O_RDONLY | PG_BINARY);
	if (state->seg.ws_file >= 0)
		return;
	if (errno == ENOENT)
	{
		XLogRecPtr	start;

		XLogSegNoOffsetToRecPtr(segment, 0, wal_segment_size, start);
		wal_is_gone(Max(start, state->EndRecPtr));
	}
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path)));
}

static void
close_segment(XLogReaderState *state)
{
	close(state->seg.ws_file);
	state->seg.ws_file = -1;
}

/* Where the record that follows `lsn` begins: not in the header of a page. */
static XLogRecPtr
record_place(XLogRecPtr lsn)
{
	if (XLogSegmentOffset(lsn, wal_segment_size) == 0)
		return lsn + SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == 0)
		return lsn + SizeOfXLogShortPHD;
	return lsn;
}

void
se_wal_seek(SeWal *wal, XLogRecPtr lsn)
{
	XLogBeginRead(wal->state, record_place(lsn));
}

bool
se_wal_find(SeWal *wal, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(wal->memory);
	XLogRecPtr	found;

	wal->pages.local.end_of_wal = false;
	found = se_compat_find_next_record(wal->state, record_place(lsn));
	MemoryContextSwitchTo(old);
	if (XLogRecPtrIsInvalid(found))
	{
		if (!wal->pages.local.end_of_wal)
			read_failed(wal, NULL);
		se_wal_seek(wal, lsn);
		return false;
	}
	return true;
}

bool
se_wal_read(SeWal *wal)
{
	MemoryContext old = MemoryContextSwitchTo(wal->memory);
	char	   *error = NULL;
	bool		got;

	wal->pages.local.end_of_wal = false;
	got = XLogReadRecord(wal->state, &error) != NULL;
	MemoryContextSwitchTo(old);
	if (!got && (error != NULL || !wal->pages.local.end_of_wal))
		read_failed(wal, error);
	return got;
}

/* Tell WAL that was removed under us from WAL that is damaged. */
static void
read_failed(SeWal *wal, const char *what)
{
	XLogRecPtr	place = wal->state->EndRecPtr;
	XLogSegNo	segment;

	XLByteToSeg(place, segment, wal_segment_size);
	if (XLogGetLastRemovedSegno() >= segment)
		wal_is_gone(place);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not read the stream log at %X/%X", LSN_FORMAT_ARGS(place)),
			 what == NULL ? 0 : errdetail_internal("%s", what)));
}

static void
wal_is_gone(XLogRecPtr from)
{
	XLogRecPtr	oldest = se_retention_oldest_lsn();
	char	   *names = se_missing_wal_names(from);
	XLogSegNo	segment;

	/* A hole above the oldest segment: name at least the segment that is missing. */
	if (oldest <= from)
	{
		XLByteToSeg(from, segment, wal_segment_size);
		XLogSegNoOffsetToRecPtr(segment + 1, 0, wal_segment_size, oldest);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FILE),
			 errmsg("WAL needed to read a stream is gone: range %X/%X to %X/%X",
					LSN_FORMAT_ARGS(from), LSN_FORMAT_ARGS(oldest)),
			 names == NULL ? 0 : errdetail("Missing in pg_wal: %s.", names),
			 errhint("Copy the missing segments from an archive into pg_wal, then start the view with stream_engine.start; or create it anew.")));
}
