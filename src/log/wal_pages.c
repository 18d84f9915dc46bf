/*
 * log/wal_pages.c
 *		Pages of this server's WAL for an XLogReader, fetched many at a time.
 *
 * PostgreSQL's callback asks the kernel for one 8 kB page and the flush pointer's
 * spinlock for each; a job that is behind reads millions of them. Flushed WAL never
 * changes, so whole pages in front of the reader are fetched together and handed out
 * one by one. The end of the WAL, recovery, and historical timelines are left to
 * PostgreSQL's callback.
 *
 * Runs in: task workers and sessions that SELECT from a stream. No locks.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "log/wal_pages.h"

/* Small enough to stay in a processor's cache until it is handed out. */
#define AHEAD_BYTES (16 * XLOG_BLCKSZ)

static Size whole_pages(XLogReaderState *state, XLogRecPtr page, XLogRecPtr flushed);

void
se_wal_pages_init(SeWalPages *pages, MemoryContext memory)
{
	memset(pages, 0, sizeof(SeWalPages));
	pages->ahead = MemoryContextAlloc(memory, AHEAD_BYTES);
}

int
se_wal_pages_read(XLogReaderState *state, XLogRecPtr page, int wanted,
				  XLogRecPtr record, char *to)
{
	SeWalPages *pages = state->private_data;

	if (page < pages->ahead_at || page + XLOG_BLCKSZ > pages->ahead_at + pages->ahead_len)
	{
		TimeLineID	timeline;
		WALReadError error;
		Size		len;

		if (RecoveryInProgress())
			return read_local_xlog_page_no_wait(state, page, wanted, record, to);
		len = whole_pages(state, page, GetFlushRecPtr(&timeline));
		if (len > 0)
			XLogReadDetermineTimeline(state, page, wanted, timeline);
		if (len == 0 || state->currTLI != timeline)
			return read_local_xlog_page_no_wait(state, page, wanted, record, to);

		pages->ahead_len = 0;
		if (!WALRead(state, pages->ahead, page, len, timeline, &error))
			WALReadRaiseError(&error);
		pages->ahead_at = page;
		pages->ahead_len = len;
	}
	memcpy(to, pages->ahead + (page - pages->ahead_at), XLOG_BLCKSZ);
	return XLOG_BLCKSZ;
}

/* Bytes of flushed whole pages from here on, at most to the segment's end. */
static Size
whole_pages(XLogReaderState *state, XLogRecPtr page, XLogRecPtr flushed)
{
	Size		segment = state->segcxt.ws_segsize;
	XLogRecPtr	end = Min(page - page % segment + segment, flushed);

	if (end <= page)
		return 0;
	return Min((Size) (end - page), AHEAD_BYTES) / XLOG_BLCKSZ * XLOG_BLCKSZ;
}
