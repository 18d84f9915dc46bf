/*
 * meta/dropped_rows.h
 *		Catalog table stream_engine.dropped_row_counts: rows that a stream's options left out.
 *
 * Written by the inserting session, in its own transaction: what is rolled back was not dropped.
 */
#ifndef SE_META_DROPPED_ROWS_H
#define SE_META_DROPPED_ROWS_H

#include "base/se.h"

/*
 * Count `rows` more rows of a stream, dropped for a reason (the option's name). Needs no privilege, and never waits for
 * other sessions that count.
 */
extern void se_dropped_rows_add(Oid stream, const char *reason, int64 rows);

/* The stream is gone. */
extern void se_dropped_rows_delete(Oid stream);

#endif							/* SE_META_DROPPED_ROWS_H */
