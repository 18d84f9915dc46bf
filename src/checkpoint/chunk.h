/*
 * checkpoint/chunk.h
 *		Chunks: records packed into pieces that a table row can hold. Pure bytes.
 *
 * Version 1. Integers are in the machine's byte order, as on-disk Datums are.
 *
 *		chunk:	offset	size
 *				0		1		version, 1
 *				1		1		flags, 0
 *				2		2		spare, 0
 *				4		4		continued: bytes that belong to the record which the chunk
 *								before began and did not end; they follow at offset 16
 *				16 + continued rounded up to 8: records, up to the end of the chunk
 *				8		8		oldest: number of the oldest chunk that is still state
 *								once this one is durable
 *
 *		record:	0		2		operator id
 *				2		2		spare, 0
 *				4		4		length, up to 256 MB
 *				8		length	the operator's bytes, padded to 8
 *
 * Only a record that no chunk can hold whole is split; it begins a chunk of its own.
 * So the boundary before a chunk with continued = 0 is always between records, and
 * chunks can be reclaimed up to there.
 */
#ifndef SE_CHUNK_H
#define SE_CHUNK_H

#include "base/se.h"

#define SE_CHUNK_VERSION	1
#define SE_CHUNK_BYTES		8000	/* what fits a heap page, with its header */
#define SE_CHUNK_MAX_RECORD ((Size) 256 * 1024 * 1024)

typedef struct SeChunkHeader
{
	uint8		version;
	uint8		flags;
	uint16		spare;
	uint32		continued;
	int64		oldest;
} SeChunkHeader;

typedef struct SeRecordHeader
{
	uint16		operator_id;
	uint16		spare;
	uint32		len;
} SeRecordHeader;

/* Takes a finished chunk; the bytes are reused when it returns. */
typedef void (*SeChunkFull) (void *arg, const char *bytes, Size len);

typedef struct SeChunkPacker
{
	SeChunkFull full;
	void	   *arg;
	int64		oldest;			/* the caller keeps it right; read when a chunk is finished */
	Size		used;			/* bytes of `bytes`, 0 = no chunk begun */
	char	   *bytes;			/* SE_CHUNK_BYTES, MAXALIGNed */
} SeChunkPacker;

extern void se_chunk_packer_init(SeChunkPacker *packer, SeChunkFull full, void *arg, int64 oldest);
extern void se_chunk_add(SeChunkPacker *packer, int operator_id, const void *bytes, Size len);

/* Finish the chunk in the making; with `even_empty` one without records if there is none. */
extern void se_chunk_finish(SeChunkPacker *packer, bool even_empty);

/* Takes a whole record, MAXALIGNed; the bytes are reused when it returns. */
typedef void (*SeChunkRecord) (void *arg, int operator_id, const void *record, Size len);

typedef struct SeChunkReader
{
	SeChunkRecord record;
	void	   *arg;
	/* a record that the last chunk began and did not end; NULL if none */
	char	   *partial;
	SeRecordHeader partial_header;
	Size		have;
} SeChunkReader;

extern void se_chunk_reader_init(SeChunkReader *reader, SeChunkRecord record, void *arg);

/*
 * Unpack one chunk (MAXALIGNed), in order. Every length is checked: what does not fit
 * raises data_corrupted. `oldest` as stored is returned.
 */
extern int64 se_chunk_read(SeChunkReader *reader, const char *bytes, Size len);

#endif							/* SE_CHUNK_H */
