/*
 * log/options_mark.h
 *		The mark from which on a job has other options.
 *
 * Transactional: the ALTER's own. Its relation is the job (the result table), so that
 * no other job meets it. Body:
 *
 *	offset size
 *	0	1	version (1)
 *	1	3	spare, 0
 *	4	4	number of options
 *	8	8	LSN of the ALTER: newer than all that was asked for before
 *	16	..	"name=value" and a zero byte, for each option that the log moves
 */
#ifndef SE_OPTIONS_MARK_H
#define SE_OPTIONS_MARK_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

typedef struct SeOptionsMark
{
	XLogRecPtr	lsn;
	List	   *options;		/* DefElem (name, String), all that are moved */
} SeOptionsMark;

/* Write it as the current subtransaction's, at this place among the transaction's rows. Runs in: sessions. */
extern void se_options_mark_write(Oid job, const SeOptionsMark *mark);

/* Take a body apart, into the current memory context. What does not fit is an ERROR (data_corrupted). */
extern SeOptionsMark *se_options_mark_decode(const char *body, Size len);

#endif							/* SE_OPTIONS_MARK_H */
