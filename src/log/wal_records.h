/*
 * log/wal_records.h
 *		Records of this server's WAL, one after the other.
 *
 * WAL that was removed is ERROR (undefined_file) which names the missing segments; WAL
 * that is damaged is ERROR (data_corrupted).
 * Runs in: task workers and sessions that SELECT from a stream. No locks.
 */
#ifndef SE_WAL_RECORDS_H
#define SE_WAL_RECORDS_H

#include "log/wal_pages.h"

/* One way into the WAL. `pages` comes first: the page reader gets a pointer to it. */
typedef struct SeWal
{
	SeWalPages	pages;
	XLogReaderState *state;		/* at the record read last; NULL = not open */
	MemoryContext memory;		/* of its buffers */
} SeWal;

/* Memory goes with the context, the open file only by close, which may be called at any time. */
extern void se_wal_open(SeWal *wal, MemoryContext memory);
extern void se_wal_close(SeWal *wal);

/* Let the next record be the one at `lsn`, or behind the page header that is there. */
extern void se_wal_seek(SeWal *wal, XLogRecPtr lsn);

/* Let it be the first one that begins at or behind `lsn`; false if there is none yet. */
extern bool se_wal_find(SeWal *wal, XLogRecPtr lsn);

/* Read the next record. False at the end of what is flushed. */
extern bool se_wal_read(SeWal *wal);

#endif							/* SE_WAL_RECORDS_H */
