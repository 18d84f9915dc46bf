/*
 * log/message.c
 *		Writing one message into the WAL, and recognising one when reading it.
 *
 * The record is PostgreSQL's own logical message (its redo does nothing, every
 * wal_level writes it), built here by hand because dbId must be InvalidOid: SQL can
 * only make messages with the database it is connected to, and logical decoding
 * passes over messages of other databases before it queues them.
 *
 *		xl_logical_message | prefix, 16 bytes | SeMessageHeader, 56 | body
 *
 * The first two parts are 40 bytes, so header and body stay 8-aligned in the
 * reader's decoded record.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "log/message.h"
#include "replication/message.h"

StaticAssertDecl(sizeof(SE_MESSAGE_PREFIX) == SE_MESSAGE_PREFIX_SIZE, "the prefix keeps the header aligned");
StaticAssertDecl(SizeOfLogicalMessage % 8 == 0, "the record's head keeps the header aligned");

/* Nothing above this can be replayed by every supported version. */
#define MAX_BODY (512 * 1024 * 1024)

static void check_header(const SeMessageHeader *header, Size payload, XLogRecPtr lsn);
static Size distances_size(const SeMessageHeader *header);

/*
 * One record with this header and body; returns its end.  No privilege is checked
 * here: callers decide who may write.
 */
XLogRecPtr
se_message_write(const SeMessageHeader *header, const void *body, bool transactional)
{
	xl_logical_message record;
	XLogRecPtr	end;

	if (header->body_len > MAX_BODY)
		elog(ERROR, "stream_engine message of %u bytes is too long to be replayed", header->body_len);
	Assert(header->version == SE_MESSAGE_VERSION);
	Assert(!transactional || header->top_xid != 0);

	/* A record counts for the subtransaction whose xid it carries. */
	if (transactional)
		(void) GetCurrentTransactionId();

	/* The padding goes to disk too. */
	memset(&record, 0, sizeof(record));
	record.dbId = InvalidOid;
	record.transactional = transactional;
	record.prefix_size = SE_MESSAGE_PREFIX_SIZE;
	record.message_size = sizeof(SeMessageHeader) + header->body_len;

	XLogBeginInsert();
	se_compat_xlog_register(&record, SizeOfLogicalMessage);
	se_compat_xlog_register(SE_MESSAGE_PREFIX, SE_MESSAGE_PREFIX_SIZE);
	se_compat_xlog_register(header, sizeof(SeMessageHeader));
	if (header->body_len > 0)
		se_compat_xlog_register(body, header->body_len);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	end = XLogInsert(RM_LOGICALMSG_ID, XLOG_LOGICAL_MESSAGE);

	SE_FAULT_POINT("log-message-written");
	return end;
}

/*
 * Is the record just read one of our messages?  A message that carries our prefix
 * and a database is somebody's pg_logical_emit_message and not ours.
 */
bool
se_message_parse(XLogReaderState *reader, SeMessageHeader *header,
				 const char **body, bool *transactional)
{
	const char *data = XLogRecGetData(reader);
	Size		len = XLogRecGetDataLen(reader);
	xl_logical_message record;

	if (XLogRecGetRmid(reader) != RM_LOGICALMSG_ID ||
		(XLogRecGetInfo(reader) & ~XLR_INFO_MASK) != XLOG_LOGICAL_MESSAGE ||
		len < SizeOfLogicalMessage + SE_MESSAGE_PREFIX_SIZE)
		return false;

	memcpy(&record, data, SizeOfLogicalMessage);
	if (record.dbId != InvalidOid || record.prefix_size != SE_MESSAGE_PREFIX_SIZE ||
		memcmp(data + SizeOfLogicalMessage, SE_MESSAGE_PREFIX, SE_MESSAGE_PREFIX_SIZE) != 0)
		return false;

	data += SizeOfLogicalMessage + SE_MESSAGE_PREFIX_SIZE;
	len -= SizeOfLogicalMessage + SE_MESSAGE_PREFIX_SIZE;
	if (len < sizeof(SeMessageHeader) || record.message_size != len)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X has a wrong length", LSN_FORMAT_ARGS(reader->ReadRecPtr)),
				 errdetail("Its record holds %zu bytes and announces %zu.", len, record.message_size)));

	memcpy(header, data, sizeof(SeMessageHeader));
	check_header(header, len - sizeof(SeMessageHeader), reader->ReadRecPtr);
	*body = data + sizeof(SeMessageHeader);
	*transactional = record.transactional;
	return true;
}

/* Raise unless this version can read the message and its length is the record's. */
static void
check_header(const SeMessageHeader *header, Size payload, XLogRecPtr lsn)
{
	if (header->version != SE_MESSAGE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X has version %u", LSN_FORMAT_ARGS(lsn), header->version),
				 errdetail("This version of stream_engine reads version %d.", SE_MESSAGE_VERSION),
				 errhint("Install the version of stream_engine that wrote it, or a newer one.")));
	if ((header->flags & ~(header->kind == SE_MESSAGE_ROWS ? SE_MESSAGE_SPARSE : 0)) != 0 || header->kind < SE_MESSAGE_ROWS || header->kind > SE_MESSAGE_LAYOUT)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X has unknown kind %u or flags %u",
						LSN_FORMAT_ARGS(lsn), header->kind, header->flags)));
	if (header->body_len != payload)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X has a wrong length", LSN_FORMAT_ARGS(lsn)),
				 errdetail("Its body has %zu bytes and its header announces %u.", payload, header->body_len)));

	/* Every row takes at least its own head, so a count beyond that cannot be true. */
	if (header->kind == SE_MESSAGE_ROWS &&
		(distances_size(header) > header->body_len || header->nrows > (header->body_len - distances_size(header)) / 8))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X announces %u rows in %u bytes",
						LSN_FORMAT_ARGS(lsn), header->nrows, header->body_len)));
}

/* What of a message's body comes before its rows. */
static Size
distances_size(const SeMessageHeader *header)
{
	return (header->flags & SE_MESSAGE_SPARSE) ? TYPEALIGN(8, sizeof(uint32) * (Size) header->nrows) : 0;
}

const uint32 *
se_message_split(SeMessageHeader *header, const char **body)
{
	Size		size = distances_size(header);
	const char *distances = *body;

	*body += size;
	header->body_len -= size;
	return size > 0 ? (const uint32 *) distances : NULL;
}

SeTime
se_message_mark_time(const SeMessageHeader *header, const char *body)
{
	SeTime		time;

	if (header->body_len != sizeof(time))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("mark of kind %u with %u bytes in the stream log", header->mark, header->body_len)));
	memcpy(&time, body, sizeof(time));
	return time;
}
