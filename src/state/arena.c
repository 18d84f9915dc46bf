/*
 * state/arena.c
 *		Memory for state that lives and dies together: bump allocation from big blocks.
 */
#include "postgres.h"

#include "state/arena.h"
#include "utils/dsa.h"

#define FIRST_BLOCK ((Size) 1024)
#define LARGEST_BLOCK ((Size) 256 * 1024)

/*
 * Sizes of pieces that are taken again: each multiple of 8 up to 1 kB, then powers of two up to what
 * always has a block of its own.
 */
#define SMALL_PIECE ((Size) 1024)
#define LARGEST_PIECE (LARGEST_BLOCK / 4)
#define PIECE_SIZES (1024 / 8 + 1 + 6)

/* In front of every block; its size is a multiple of 8. */
typedef struct Block
{
	struct Block *next;
	struct Block *prev;
	dsa_pointer handle;			/* InvalidDsaPointer: from malloc */
	Size		size;			/* with this header */
} Block;

struct SeArena
{
	SeOperatorEnv *env;
	Block	   *blocks;			/* all, in no order */
	char	   *free;			/* rest of the block in use */
	Size		left;
	Size		next_size;
	uint64		bytes;
	void	  **given;			/* per size the pieces given back, each begins with the next; NULL: none are */
};

static void **given_of_size(SeArena *arena, Size *size);
static Block *take_block(SeArena *arena, Size size);
static void give_block(SeArena *arena, Block *block);

SeArena *
se_arena_new(SeOperatorEnv *env)
{
	SeArena    *arena = MemoryContextAllocZero(env->memory, sizeof(SeArena));

	arena->env = env;
	arena->next_size = FIRST_BLOCK;
	return arena;
}

void *
se_arena_alloc(SeArena *arena, Size size)
{
	char	   *result;

	size = TYPEALIGN(8, size);
	if (arena->given != NULL)
	{
		void	  **given;

		/* What is given back as a block must be one. */
		if (size > LARGEST_PIECE)
			return se_arena_block(arena, size);
		given = given_of_size(arena, &size);
		if (*given != NULL)
		{
			result = *given;
			*given = *(void **) result;
			return result;
		}
	}
	if (size > arena->left)
	{
		Block	   *block;

		/* A big piece gets a block of its own; the one in use goes on. */
		if (size > arena->next_size / 4)
			return se_arena_block(arena, size);
		block = take_block(arena, arena->next_size);
		arena->free = (char *) (block + 1);
		arena->left = block->size - sizeof(Block);
		arena->next_size = Min(arena->next_size * 2, LARGEST_BLOCK);
	}
	result = arena->free;
	arena->free += size;
	arena->left -= size;
	return result;
}

void
se_arena_reuse(SeArena *arena)
{
	if (arena->given == NULL)
		arena->given = MemoryContextAllocZero(arena->env->memory, PIECE_SIZES * sizeof(void *));
}

bool
se_arena_give(SeArena *arena, void *piece, Size size)
{
	size = TYPEALIGN(8, size);
	if (arena->given == NULL || size == 0)
		return false;
	if (size > LARGEST_PIECE)
		se_arena_block_free(arena, piece);
	else
	{
		void	  **given = given_of_size(arena, &size);

		*(void **) piece = *given;
		*given = piece;
	}
	return true;
}

/* Where pieces of a size are kept; the size becomes that of all of them. */
static void **
given_of_size(SeArena *arena, Size *size)
{
	int			i = (int) (SMALL_PIECE / 8);

	if (*size <= SMALL_PIECE)
		return &arena->given[*size / 8];
	for (Size power = SMALL_PIECE;; power *= 2, i++)
	{
		if (*size <= power)
		{
			*size = power;
			Assert(i < PIECE_SIZES);
			return &arena->given[i];
		}
	}
}

void *
se_arena_block(SeArena *arena, Size size)
{
	return take_block(arena, TYPEALIGN(8, size) + sizeof(Block)) + 1;
}

void
se_arena_block_free(SeArena *arena, void *memory)
{
	give_block(arena, (Block *) memory - 1);
}

void
se_arena_free(SeArena *arena)
{
	while (arena->blocks != NULL)
		give_block(arena, arena->blocks);
	Assert(arena->bytes == 0);
	if (arena->given != NULL)
		pfree(arena->given);
	pfree(arena);
}

uint64
se_arena_bytes(const SeArena *arena)
{
	return arena->bytes;
}

/* Count first, then take: an error leaves nothing half done. */
static Block *
take_block(SeArena *arena, Size size)
{
	SeOperatorEnv *env = arena->env;
	dsa_pointer handle = InvalidDsaPointer;
	Block	   *block = NULL;

	se_env_account(env, size);
	if (env->area == NULL)
		block = malloc(size);
	else
	{
		handle = dsa_allocate_extended(env->area, size, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
		if (DsaPointerIsValid(handle))
			block = dsa_get_address(env->area, handle);
	}
	if (block == NULL)
	{
		se_env_account(env, -(int64) size);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of shared memory for the state of the continuous view"),
				 errdetail("It holds %llu kB and needs %zu bytes more.",
						   (unsigned long long) env->state_bytes / 1024, size),
				 errhint("Raise stream_engine.state_memory, or give the server more shared memory (/dev/shm).")));
	}

	block->handle = handle;
	block->size = size;
	block->prev = NULL;
	block->next = arena->blocks;
	if (block->next != NULL)
		block->next->prev = block;
	arena->blocks = block;
	arena->bytes += size;
	return block;
}

static void
give_block(SeArena *arena, Block *block)
{
	SeOperatorEnv *env = arena->env;

	if (block->next != NULL)
		block->next->prev = block->prev;
	if (block->prev != NULL)
		block->prev->next = block->next;
	else
		arena->blocks = block->next;
	arena->bytes -= block->size;
	se_env_account(env, -(int64) block->size);
	if (DsaPointerIsValid(block->handle))
		dsa_free(env->area, block->handle);
	else
		free(block);
}
