/*
 * test/unit/test_chunk.c
 *		Chunks give back the records that were put in, and damaged ones are refused, never followed.
 */
#include "harness.h"

#include "checkpoint/chunk.h"

/* Chunks as a table would hold them. */
typedef struct Stored
{
	int			nchunks;
	Size		lens[4096];
	char	   *bytes[4096];
} Stored;

/* Records as they come back: operator, length and contents made from a number. */
typedef struct Expect
{
	int			next;
	const Size *lens;
	int			nrecords;
	bool		wrong;
} Expect;

static Stored stored;

static void
keep_chunk(void *arg, const char *bytes, Size len)
{
	Stored	   *to = arg;

	to->lens[to->nchunks] = len;
	to->bytes[to->nchunks] = palloc(SE_CHUNK_BYTES);
	memcpy(to->bytes[to->nchunks++], bytes, len);
}

static char *
record_bytes(int number, Size len)
{
	char	   *bytes = palloc(Max(len, 1));

	for (Size i = 0; i < len; i++)
		bytes[i] = (char) (number * 31 + i * 7);
	return bytes;
}

static void
check_record(void *arg, int operator_id, const void *record, Size len)
{
	Expect	   *expect = arg;
	int			number = expect->next++;

	if (number >= expect->nrecords || operator_id != number % 5 || len != expect->lens[number] ||
		record != (const void *) MAXALIGN(record) ||
		memcmp(record, record_bytes(number, len), len) != 0)
		expect->wrong = true;
}

static void
pack(const Size *lens, int nrecords)
{
	SeChunkPacker packer;

	stored.nchunks = 0;
	se_chunk_packer_init(&packer, keep_chunk, &stored, 77);
	for (int i = 0; i < nrecords; i++)
		se_chunk_add(&packer, i % 5, record_bytes(i, lens[i]), lens[i]);
	se_chunk_finish(&packer, false);
}

static void
ignore_record(void *arg, int operator_id, const void *record, Size len)
{
}

/* Counts records that are "abc" of operator 3. */
static void
check_abc(void *arg, int operator_id, const void *record, Size len)
{
	if (operator_id == 3 && len == 3 && memcmp(record, "abc", 3) == 0)
		(*(int *) arg)++;
}

/* Read all chunks; true if exactly the packed records came back. */
static bool
reads_back(const Size *lens, int nrecords)
{
	SeChunkReader reader;
	Expect		expect = {0, lens, nrecords, false};

	se_chunk_reader_init(&reader, check_record, &expect);
	for (int i = 0; i < stored.nchunks; i++)
		if (se_chunk_read(&reader, stored.bytes[i], stored.lens[i]) != 77)
			return false;
	return !expect.wrong && expect.next == nrecords && reader.partial == NULL;
}

static void
read_all(void)
{
	SeChunkReader reader;

	se_chunk_reader_init(&reader, ignore_record, NULL);
	for (int i = 0; i < stored.nchunks; i++)
		(void) se_chunk_read(&reader, stored.bytes[i], stored.lens[i]);
}

static bool
is_refused(void)
{
	volatile bool raised = false;

	PG_TRY();
	{
		read_all();
	}
	PG_CATCH();
	{
		raised = true;
	}
	PG_END_TRY();
	return raised;
}

SE_TEST(records_of_all_sizes_come_back)
{
	static const Size lens[] = {0, 1, 7, 8, 9, 100, 7968, 7969, 7975, 7976, 7977, 7984, 8000, 3,
	15960, 15968, 15969, 1000000, 1, 0, 4000, 4000, 4000, 100000};

	pack(lens, lengthof(lens));
	SE_CHECK(reads_back(lens, lengthof(lens)));
	for (int i = 0; i < stored.nchunks; i++)
		SE_CHECK(stored.lens[i] <= SE_CHUNK_BYTES);
}

SE_TEST(random_sequences_come_back)
{
	for (int round = 0; round < 200; round++)
	{
		Size		lens[50];
		int			n = 1 + se_harness_random(50);

		for (int i = 0; i < n; i++)
			lens[i] = se_harness_random(10) == 0 ? se_harness_random(30000) : se_harness_random(300);
		pack(lens, n);
		SE_CHECK(reads_back(lens, n));
	}
}

SE_TEST(small_records_share_a_chunk)
{
	Size		lens[100];

	for (int i = 0; i < 100; i++)
		lens[i] = 56;
	pack(lens, 100);
	SE_CHECK_INT(stored.nchunks, 1);
	SE_CHECK_INT(stored.lens[0], 16 + 100 * (8 + 56));
}

SE_TEST(a_chunk_without_records_can_be_written)
{
	SeChunkPacker packer;

	stored.nchunks = 0;
	se_chunk_packer_init(&packer, keep_chunk, &stored, 77);
	se_chunk_finish(&packer, false);
	SE_CHECK_INT(stored.nchunks, 0);
	se_chunk_finish(&packer, true);
	SE_CHECK_INT(stored.nchunks, 1);
	SE_CHECK_INT(stored.lens[0], 16);
	SE_CHECK(reads_back(NULL, 0));
}

SE_TEST(the_bytes_are_those_of_version_1)
{
	/* One record "abc" of operator 3 in a chunk whose oldest is 5; little-endian. */
	static const unsigned char version1[] = {
		1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
		3, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0
	};
	SeChunkPacker packer;
	SeChunkReader reader;
	int			found = 0;

	stored.nchunks = 0;
	se_chunk_packer_init(&packer, keep_chunk, &stored, 5);
	se_chunk_add(&packer, 3, "abc", 3);
	se_chunk_finish(&packer, false);
#ifndef WORDS_BIGENDIAN
	SE_CHECK_INT(stored.lens[0], sizeof(version1));
	SE_CHECK(memcmp(stored.bytes[0], version1, sizeof(version1)) == 0);

	/* And what was written so is read. */
	memcpy(stored.bytes[0], version1, sizeof(version1));
	se_chunk_reader_init(&reader, check_abc, &found);
	SE_CHECK_INT(se_chunk_read(&reader, stored.bytes[0], sizeof(version1)), 5);
	SE_CHECK_INT(found, 1);
#endif
}

SE_TEST(damage_is_refused)
{
	static const Size lens[] = {20, 30, 20000, 10};
	uint32		length;

	pack(lens, lengthof(lens));
	stored.bytes[0][0] = 2;
	SE_CHECK_ERROR("XX001", read_all());

	pack(lens, lengthof(lens));
	stored.bytes[0][1] = 1;
	SE_CHECK_ERROR("XX001", read_all());

	/* a record longer than its chunk */
	pack(lens, lengthof(lens));
	length = 5000;
	memcpy(stored.bytes[0] + 16 + 4, &length, 4);
	SE_CHECK_ERROR("XX001", read_all());

	/* the middle of a split record is missing */
	pack(lens, lengthof(lens));
	memmove(&stored.bytes[2], &stored.bytes[3], sizeof(char *) * (stored.nchunks - 3));
	memmove(&stored.lens[2], &stored.lens[3], sizeof(Size) * (stored.nchunks - 3));
	stored.nchunks--;
	SE_CHECK_ERROR("XX001", read_all());

	/* a chunk that is cut off, or empty */
	pack(lens, lengthof(lens));
	stored.lens[0] -= 8;
	SE_CHECK_ERROR("XX001", read_all());
	stored.lens[0] = 0;
	SE_CHECK_ERROR("XX001", read_all());
}

SE_TEST(no_damage_crashes)
{
	static const Size lens[] = {20, 0, 3000, 20000, 10, 7990, 500};
	int			refused = 0;

	for (int round = 0; round < 20000; round++)
	{
		int			chunk;

		pack(lens, lengthof(lens));
		chunk = se_harness_random(stored.nchunks);
		stored.bytes[chunk][se_harness_random(round % 2 ? 48 : stored.lens[chunk])] = (char) se_harness_random(256);
		refused += is_refused();
		for (int i = 0; i < stored.nchunks; i++)
			pfree(stored.bytes[i]);
	}
	SE_CHECK(refused > 1000);
}
