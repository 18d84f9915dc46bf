/*
 * checkpoint/chunk.c
 *		Packing records into chunks, and unpacking what may be damaged.
 *
 * Pure: no table, no transaction. The bytes are specified in chunk.h.
 */
#include "postgres.h"

#include "checkpoint/chunk.h"

#define RECORDS_AT		MAXALIGN(sizeof(SeChunkHeader))
#define ROOM_FOR_RECORD	(SE_CHUNK_BYTES - RECORDS_AT - sizeof(SeRecordHeader))

StaticAssertDecl(sizeof(SeChunkHeader) == 16, "chunk header as specified");
StaticAssertDecl(sizeof(SeRecordHeader) == 8, "record header as specified");
StaticAssertDecl(SE_CHUNK_BYTES % 8 == 0, "padding never crosses the end of a chunk");

static void begin_chunk(SeChunkPacker *packer);
static void put_record_header(SeChunkPacker *packer, int operator_id, Size len);
static void split_record(SeChunkPacker *packer, int operator_id, const char *bytes, Size len);
static const SeChunkHeader *checked_header(const char *bytes, Size len);
static Size read_continued(SeChunkReader *reader, const char *bytes, Size len, Size continued);
static Size read_record(SeChunkReader *reader, const char *bytes, Size len, Size at);
static void corrupted(const char *what) SE_NORETURN;

/* Prepare to pack; the caller's memory context is current and outlives the packer. */
void
se_chunk_packer_init(SeChunkPacker *packer, SeChunkFull full, void *arg, int64 oldest)
{
	packer->full = full;
	packer->arg = arg;
	packer->oldest = oldest;
	packer->used = 0;
	packer->bytes = palloc(SE_CHUNK_BYTES);
}

/* Append a record; hands over every chunk that it fills. */
void
se_chunk_add(SeChunkPacker *packer, int operator_id, const void *bytes, Size len)
{
	Assert(operator_id >= 0 && operator_id <= PG_UINT16_MAX);
	if (len > SE_CHUNK_MAX_RECORD)
		elog(ERROR, "state record of %zu bytes is longer than %zu", len, SE_CHUNK_MAX_RECORD);

	if (len > ROOM_FOR_RECORD)
	{
		split_record(packer, operator_id, bytes, len);
		return;
	}
	if (packer->used + sizeof(SeRecordHeader) + len > SE_CHUNK_BYTES)
		se_chunk_finish(packer, false);
	if (packer->used == 0)
		begin_chunk(packer);
	put_record_header(packer, operator_id, len);
	memcpy(packer->bytes + packer->used, bytes, len);
	memset(packer->bytes + packer->used + len, 0, MAXALIGN(len) - len);
	packer->used += MAXALIGN(len);
	Assert(packer->used <= SE_CHUNK_BYTES);
}

void
se_chunk_finish(SeChunkPacker *packer, bool even_empty)
{
	Size		used;

	if (packer->used == 0)
	{
		if (!even_empty)
			return;
		begin_chunk(packer);
	}
	((SeChunkHeader *) packer->bytes)->oldest = packer->oldest;
	used = packer->used;
	packer->used = 0;
	packer->full(packer->arg, packer->bytes, used);
}

static void
begin_chunk(SeChunkPacker *packer)
{
	SeChunkHeader *header = (SeChunkHeader *) packer->bytes;

	memset(header, 0, RECORDS_AT);
	header->version = SE_CHUNK_VERSION;
	packer->used = RECORDS_AT;
}

static void
put_record_header(SeChunkPacker *packer, int operator_id, Size len)
{
	SeRecordHeader header = {.operator_id = operator_id,.len = len};

	memcpy(packer->bytes + packer->used, &header, sizeof(header));
	packer->used += sizeof(header);
}

/* A record over several chunks; later records may share the last one. */
static void
split_record(SeChunkPacker *packer, int operator_id, const char *bytes, Size len)
{
	Size		done;

	se_chunk_finish(packer, false);
	begin_chunk(packer);
	put_record_header(packer, operator_id, len);
	done = SE_CHUNK_BYTES - packer->used;
	memcpy(packer->bytes + packer->used, bytes, done);
	packer->used = SE_CHUNK_BYTES;

	while (done < len)
	{
		Size		part = Min(len - done, SE_CHUNK_BYTES - RECORDS_AT);

		se_chunk_finish(packer, false);
		begin_chunk(packer);
		((SeChunkHeader *) packer->bytes)->continued = part;
		memcpy(packer->bytes + packer->used, bytes + done, part);
		memset(packer->bytes + packer->used + part, 0, MAXALIGN(part) - part);
		packer->used += MAXALIGN(part);
		done += part;
	}
}

void
se_chunk_reader_init(SeChunkReader *reader, SeChunkRecord record, void *arg)
{
	memset(reader, 0, sizeof(SeChunkReader));
	reader->record = record;
	reader->arg = arg;
}

int64
se_chunk_read(SeChunkReader *reader, const char *bytes, Size len)
{
	const SeChunkHeader *header = checked_header(bytes, len);
	Size		at;

	at = read_continued(reader, bytes, len, header->continued);
	while (at < len)
		at = read_record(reader, bytes, len, at);
	return header->oldest;
}

static const SeChunkHeader *
checked_header(const char *bytes, Size len)
{
	const SeChunkHeader *header = (const SeChunkHeader *) bytes;

	Assert(bytes == (const char *) MAXALIGN(bytes));
	if (len < RECORDS_AT || len > SE_CHUNK_BYTES || len != MAXALIGN(len))
		corrupted("its length");
	if (header->version != SE_CHUNK_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("saved state has the unknown format version %d", header->version),
				 errdetail("This version of stream_engine reads version %d.", SE_CHUNK_VERSION),
				 errhint("Was it written by a newer version?")));
	if (header->flags != 0 || header->spare != 0)
		corrupted("its header");
	if (header->continued > len - RECORDS_AT)
		corrupted("the length of its first part");
	return header;
}

/* Take the rest of a split record; returns where records begin. */
static Size
read_continued(SeChunkReader *reader, const char *bytes, Size len, Size continued)
{
	Size		missing = reader->partial ? reader->partial_header.len - reader->have : 0;

	/* Exactly as much as is missing, or a chunk full of it. */
	if (continued != Min(missing, SE_CHUNK_BYTES - RECORDS_AT))
		corrupted("the length of its first part");
	if (continued == 0)
		return RECORDS_AT;

	memcpy(reader->partial + reader->have, bytes + RECORDS_AT, continued);
	reader->have += continued;
	if (reader->have == reader->partial_header.len)
	{
		char	   *whole = reader->partial;

		reader->partial = NULL;
		reader->record(reader->arg, reader->partial_header.operator_id,
					   whole, reader->partial_header.len);
		pfree(whole);
	}
	return RECORDS_AT + MAXALIGN(continued);
}

/* Take the record at an offset; returns where the next one begins. */
static Size
read_record(SeChunkReader *reader, const char *bytes, Size len, Size at)
{
	SeRecordHeader header;

	if (reader->partial || len - at < sizeof(header))
		corrupted("the end of a record");
	memcpy(&header, bytes + at, sizeof(header));
	at += sizeof(header);
	if (header.spare != 0 || header.len > SE_CHUNK_MAX_RECORD)
		corrupted("the header of a record");

	if (header.len > ROOM_FOR_RECORD)
	{
		if (len != SE_CHUNK_BYTES || at != RECORDS_AT + sizeof(header))
			corrupted("the place of a long record");
		reader->partial_header = header;
		reader->partial = palloc(header.len);
		reader->have = len - at;
		memcpy(reader->partial, bytes + at, reader->have);
		return len;
	}
	if (MAXALIGN(header.len) > len - at)
		corrupted("the length of a record");
	reader->record(reader->arg, header.operator_id, bytes + at, header.len);
	return at + MAXALIGN(header.len);
}

static void
corrupted(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a chunk of saved state is damaged"),
			 errdetail("What is wrong is %s.", what)));
}
