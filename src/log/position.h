/*
 * log/position.h
 *		A place in the stream log (I2), as the bytes that outlive a process.
 *
 *	offset size
 *	0	1	tag: 1 = native log
 *	1	1	version (2; 1 ends before offset 64)
 *	2	2	flags: bit 0 = reading began at the oldest place (start = earliest), where
 *			transactions were open: these are left out whole; bit 1 = the stream is idle;
 *			bit 2 = the watermark is processing time, not the stream's; the rest is spare (0)
 *	4	4	timeline of the restart LSN
 *	8	8	restart LSN: reading begins here
 *	16	8	commit LSN: transactions that committed before it are done
 *	24	8	ordinal: rows of the transaction that commits *at* commit LSN with a smaller
 *			ordinal are done; 0 with no transaction in part
 *	32	8	full xid of the creating transaction while it may still be undelivered, else 0
 *	40	8	its rows from this ordinal on count (start mark, I2)
 *	48	8	watermark after the last row delivered (SeTime)
 *	56	8	proctime after the last row delivered (SeTime)
 *	64	8	proctime of the last row or watermark mark (SeTime); SE_TIME_MIN = not known
 *	72	8	watermark after it (SeTime)
 *
 * commit LSN is the *start* of the commit record.
 */
#ifndef SE_POSITION_H
#define SE_POSITION_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "lib/stringinfo.h"

typedef struct SeLogPosition
{
	uint8		tag;
	uint8		version;
	uint16		flags;
	TimeLineID	timeline;
	XLogRecPtr	restart_lsn;
	XLogRecPtr	commit_lsn;
	uint64		ordinal;
	uint64		creator_xid;
	uint64		creator_ordinal;
	SeTime		watermark;
	SeTime		proctime;
	SeTime		active;
	SeTime		active_watermark;
} SeLogPosition;

StaticAssertDecl(sizeof(SeLogPosition) == 80, "the position's bytes are stored");

/* The first byte of every source's positions, so that they can be told apart. */
#define SE_POSITION_TAG_LOG 1
#define SE_POSITION_TAG_COUNTER 255 /* test builds: source/counter_source.c */

#define SE_POSITION_EARLIEST 0x0001
#define SE_POSITION_IDLE 0x0002
#define SE_POSITION_PROCTIME 0x0004

/* Is it the position of a native log, whatever version? */
static inline bool
se_position_is_log(const void *bytes, Size len)
{
	return len > 0 && *(const uint8 *) bytes == SE_POSITION_TAG_LOG;
}

/* Check and copy out; ERROR (data_corrupted) on unknown tag, version or length. */
extern void se_position_decode(const void *bytes, Size len, SeLogPosition *position);

/*
 * The first position of a view that begins at a start mark. creator_xid 0: there is no
 * mark; it begins at the oldest place there is, which need not be a record's.
 */
extern void se_position_at_mark(SeLogPosition *position, XLogRecPtr mark_start,
								uint64 creator_xid, uint64 creator_ordinal);

extern char *se_position_describe(const SeLogPosition *position);

#endif							/* SE_POSITION_H */
