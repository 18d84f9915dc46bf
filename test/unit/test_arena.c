/*
 * test/unit/test_arena.c
 *		Pieces of an arena that are given back and taken again: none is two things at once, and memory stays.
 */
#include "harness.h"

#include "flow/operator.h"
#include "state/arena.h"

#define PIECES 2000

typedef struct Piece
{
	unsigned char *bytes;
	Size		size;
	unsigned char mark;
} Piece;

static SeOperatorEnv *
new_env(void)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));

	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 32;
	return env;
}

static Size
random_size(void)
{
	switch (se_harness_random(8))
	{
		case 0:
			return 1 + se_harness_random(200000);
		case 1:
			return 1 + se_harness_random(5000);
		default:
			return 1 + se_harness_random(300);
	}
}

static void
check(const Piece *piece)
{
	for (Size i = 0; i < piece->size; i++)
	{
		if (piece->bytes[i] == piece->mark)
			continue;
		SE_CHECK_INT(piece->bytes[i], piece->mark);
		return;
	}
}

SE_TEST(pieces_given_back_are_taken_again_and_never_shared)
{
	SeOperatorEnv *env = new_env();
	SeArena    *arena = se_arena_new(env);
	Piece	   *pieces = palloc0(PIECES * sizeof(Piece));
	uint64		before;

	se_arena_reuse(arena);
	for (int round = 0; round < 20000; round++)
	{
		Piece	   *piece = &pieces[se_harness_random(round < 10000 ? PIECES : 100)];

		if (piece->bytes != NULL)
		{
			check(piece);
			se_arena_give(arena, piece->bytes, piece->size);
		}
		piece->size = random_size();
		piece->mark = (unsigned char) se_harness_random(256);
		piece->bytes = se_arena_alloc(arena, piece->size);
		SE_CHECK_INT((uintptr_t) piece->bytes % 8, 0);
		memset(piece->bytes, piece->mark, piece->size);
	}
	for (int i = 0; i < PIECES; i++)
	{
		if (pieces[i].bytes == NULL)
			continue;
		check(&pieces[i]);
		se_arena_give(arena, pieces[i].bytes, pieces[i].size);
	}

	/* The same sizes again, any number of times. */
	before = 0;
	for (int round = 0; round < 100; round++)
	{
		for (int i = 0; i < PIECES; i++)
			pieces[i].bytes = se_arena_alloc(arena, pieces[i].size);
		for (int i = 0; i < PIECES; i++)
			se_arena_give(arena, pieces[i].bytes, pieces[i].size);
		if (round == 0)
			before = se_arena_bytes(arena);
		SE_CHECK_INT(se_arena_bytes(arena), before);
	}
	SE_CHECK_INT(env->state_bytes, before);
	se_arena_free(arena);
	SE_CHECK_INT(env->state_bytes, 0);
}

SE_TEST(without_reuse_giving_does_nothing)
{
	SeOperatorEnv *env = new_env();
	SeArena    *arena = se_arena_new(env);
	char	   *piece = se_arena_alloc(arena, 100);

	SE_CHECK(!se_arena_give(arena, piece, 100));
	SE_CHECK(se_arena_alloc(arena, 100) != (void *) piece);
	se_arena_free(arena);
	SE_CHECK_INT(env->state_bytes, 0);
}
