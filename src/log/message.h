/*
 * log/message.h
 *		The header of every record of ours in the WAL (docs/design/log.md).
 *
 * A message is a logical-message WAL record that we build ourselves, with
 * dbId = InvalidOid (SQL cannot make one, decoders skip it) and this prefix.
 *
 *	offset size
 *	0	1	version (1)
 *	1	1	kind: 1 rows, 2 mark, 3 layout
 *	2	1	mark kind (marks only, else 0)
 *	3	1	flags: bit 0 (rows only): their ordinals have gaps; others 0
 *	4	4	database OID
 *	8	4	relation OID (0: all streams of the database)
 *	12	4	layout id (rows, layout); bit 31: defined by a layout message of this transaction
 *	16	8	full xid of the top transaction (0: non-transactional mark)
 *	24	8	first_lsn: start of this transaction's first message for this relation, 0 in that
 *			first one; a message of a rolled back subtransaction is not the first one
 *	32	8	ordinal of the first row (rows) or of the mark, among the transaction's rows and marks
 *	40	4	row count
 *	44	4	length of the body in bytes
 *	48	8	driven clock of the session, 0 = commit time counts (test builds)
 *	56	..	body; if the ordinals have gaps, first the distance of each row's ordinal from that
 *			of the first one (uint32 per row, zeroes up to a multiple of 8)
 */
#ifndef SE_MESSAGE_H
#define SE_MESSAGE_H

#include "base/se.h"
#include "access/transam.h"
#include "access/xlogdefs.h"
#include "access/xlogreader.h"

#define SE_MESSAGE_PREFIX "stream_engine/1" /* 16 bytes with its NUL */
#define SE_MESSAGE_PREFIX_SIZE 16
#define SE_MESSAGE_VERSION 1

/* Flags. */
#define SE_MESSAGE_SPARSE 0x01

typedef enum SeMessageKind
{
	SE_MESSAGE_ROWS = 1,
	SE_MESSAGE_MARK = 2,
	SE_MESSAGE_LAYOUT = 3
} SeMessageKind;

typedef enum SeMarkKind
{
	SE_MARK_NONE = 0,
	SE_MARK_START = 1,			/* a view begins here; body: none */
	SE_MARK_REFRESH = 2,		/* somebody waits for this place */
	SE_MARK_WATERMARK = 3,		/* transactional; body: int64 SeTime */
	SE_MARK_TICK = 4,			/* processing time; body: int64 SeTime */
	SE_MARK_IDLE = 5,
	SE_MARK_BARRIER = 6,
	SE_MARK_OPTIONS = 7			/* transactional; relation: the job; body: log/options_mark.h */
} SeMarkKind;

typedef struct SeMessageHeader
{
	uint8		version;
	uint8		kind;
	uint8		mark;
	uint8		flags;
	Oid			database;
	Oid			relation;
	uint32		layout;
	uint64		top_xid;
	XLogRecPtr	first_lsn;
	uint64		ordinal;
	uint32		nrows;
	uint32		body_len;
	int64		clock;
} SeMessageHeader;

StaticAssertDecl(sizeof(SeMessageHeader) == 56, "the header's bytes are stored");

#define SE_LAYOUT_IN_TRANSACTION 0x80000000u

/*
 * Write one message and return the end of its record. Transactional ones belong to
 * the current subtransaction, whose xid is assigned. The caller has checked sizes.
 * Runs in: any backend, also the coordinator (non-transactional marks).
 */
extern XLogRecPtr se_message_write(const SeMessageHeader *header, const void *body, bool transactional);

/*
 * Is the record just read a message of ours? Yes: header and body point into the
 * record (valid until the next read). An unknown version, or lengths that do not fit
 * the record, are an ERROR (data_corrupted). Never trusts a length unchecked.
 */
extern bool se_message_parse(XLogReaderState *reader, SeMessageHeader *header,
							 const char **body, bool *transactional);

/*
 * Take what precedes the rows off a message's body (and its length): the distances of the ordinals, one per row, or
 * NULL if they have no gaps.
 */
extern const uint32 *se_message_split(SeMessageHeader *header, const char **body);

/* The time in the body of a watermark, tick or idle mark; ERROR (data_corrupted) if that is not its length. */
extern SeTime se_message_mark_time(const SeMessageHeader *header, const char *body);

#endif							/* SE_MESSAGE_H */
