/*
 * log/wal_pages.h
 *		Pages of this server's WAL for an XLogReader, fetched many at a time.
 */
#ifndef SE_WAL_PAGES_H
#define SE_WAL_PAGES_H

#include "base/se.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"

/* An XLogReader's private_data; `local` comes first because PostgreSQL's own callback looks there. */
typedef struct SeWalPages
{
	ReadLocalXLogPageNoWaitPrivate local;	/* local.end_of_wal: asked for more than there is */
	char	   *ahead;			/* whole pages, already flushed when they were read */
	XLogRecPtr	ahead_at;
	Size		ahead_len;
} SeWalPages;

/* Its buffer lives in `memory`. */
extern void se_wal_pages_init(SeWalPages *pages, MemoryContext memory);

/* XLogReaderRoutine->page_read: does not wait; private_data is an SeWalPages. */
extern int	se_wal_pages_read(XLogReaderState *state, XLogRecPtr page, int wanted,
							  XLogRecPtr record, char *to);

#endif							/* SE_WAL_PAGES_H */
