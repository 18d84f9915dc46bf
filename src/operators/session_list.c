/*
 * operators/session_list.c
 *		The open sessions of one key, in order of time: found, added and removed in logarithmic time.
 *
 * Sessions of a key never touch, so they are in order of their starts and of their ends
 * alike, and the first that a row touches is found by bisection. Most keys have one
 * session, which stands in the list itself. More are kept in *blocks* of at most
 * BLOCK_ROOM; one session more or less moves part of one block, and the sessions that are
 * over are taken off the left without moving anything.
 *
 *		list --> one                            a single session
 *		list --> block                          a few
 *		list --> many: block, block, block      in order, each with one session at least
 *
 * Memory: the arena's, given back block by block.
 */
#include "postgres.h"

#include "operators/session_list.h"

#define BLOCK_ROOM 128
#define FIRST_ROOM 4

/* Sessions sit at `first` and behind it, so that there may be room on either side. */
typedef struct SeSessionBlock
{
	uint32		first;
	uint32		n;
	uint32		room;
	SeSession  *sessions[FLEXIBLE_ARRAY_MEMBER];
} SeSessionBlock;

static SeSessionBlock **blocks_of(SeSessionList *list);
static bool place(SeSessionList *list, SeTime start, uint32 *b, uint32 *i);
static SeSessionBlock *new_block(SeArena *arena, uint32 room, uint32 first);
static SeSessionBlock *make_block_room(SeArena *arena, SeSessionList *list, uint32 *b, uint32 *i);
static void add_block(SeArena *arena, SeSessionList *list, uint32 b, SeSessionBlock *block);
static void drop_block(SeArena *arena, SeSessionList *list, uint32 b);
static void insert_into(SeSessionBlock *block, uint32 i, SeSession *session);

SeSession *
se_session_list_find(SeSessionList *list, SeTime start)
{
	uint32		b;
	uint32		i;
	SeSessionBlock *block;

	if (list->nblocks == 0)
		return list->n == 1 && list->only.one->end >= start ? list->only.one : NULL;
	if (!place(list, start, &b, &i))
		return NULL;
	block = blocks_of(list)[b];
	return block->sessions[block->first + i];
}

SeSession *
se_session_list_next(SeSessionList *list, const SeSession *session)
{
	uint32		b;
	uint32		i;
	SeSessionBlock *block;

	if (list->nblocks == 0 || !place(list, session->end, &b, &i))
		return NULL;
	block = blocks_of(list)[b];
	Assert(block->sessions[block->first + i] == session);
	if (i + 1 == block->n)
	{
		if (++b == list->nblocks)
			return NULL;
		block = blocks_of(list)[b];
		return block->sessions[block->first];
	}
	return block->sessions[block->first + i + 1];
}

SeSession *
se_session_list_first(SeSessionList *list)
{
	SeSessionBlock *block;

	if (list->nblocks == 0)
		return list->n == 1 ? list->only.one : NULL;
	block = blocks_of(list)[0];
	return block->sessions[block->first];
}

void
se_session_list_insert(SeSessionList *list, SeArena *arena, SeSession *session)
{
	SeSessionBlock *block;
	uint32		b = 0;
	uint32		i;

	if (list->n == 0)
	{
		list->only.one = session;
		list->n = 1;
		return;
	}
	if (list->nblocks == 0)
	{
		block = new_block(arena, FIRST_ROOM, 0);
		block->sessions[0] = list->only.one;
		block->n = 1;
		list->only.block = block;
		list->nblocks = 1;
	}
	if (!place(list, session->start, &b, &i))
	{
		b = list->nblocks - 1;
		i = blocks_of(list)[b]->n;
	}
	block = make_block_room(arena, list, &b, &i);
	insert_into(block, i, session);
	list->n++;
}

void
se_session_list_remove(SeSessionList *list, SeArena *arena, const SeSession *session)
{
	uint32		b;
	uint32		i;
	SeSessionBlock *block;
	SeSession **sessions;

	list->n--;
	if (list->nblocks == 0)
	{
		Assert(list->n == 0 && list->only.one == session);
		list->only.one = NULL;
		return;
	}
	if (!place(list, session->end, &b, &i))
		elog(ERROR, "a session is not in the list of its key");
	block = blocks_of(list)[b];
	sessions = block->sessions + block->first;
	Assert(sessions[i] == session);
	if (i < block->n / 2)
	{
		memmove(sessions + 1, sessions, i * sizeof(SeSession *));
		block->first++;
	}
	else
		memmove(sessions + i, sessions + i + 1, (block->n - i - 1) * sizeof(SeSession *));
	if (--block->n == 0)
		drop_block(arena, list, b);
}

static SeSessionBlock **
blocks_of(SeSessionList *list)
{
	return list->many == NULL ? &list->only.block : list->many + list->first;
}

/* Block and number in it of the first session that ends at `start` or later; false if none does. */
static bool
place(SeSessionList *list, SeTime start, uint32 *b, uint32 *i)
{
	SeSessionBlock **blocks = blocks_of(list);
	SeSessionBlock *block;
	uint32		low = 0;
	uint32		high = list->nblocks;

	while (low < high)
	{
		uint32		middle = (low + high) / 2;

		block = blocks[middle];
		if (block->sessions[block->first + block->n - 1]->end >= start)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == list->nblocks)
		return false;
	*b = low;
	block = blocks[low];
	low = 0;
	high = block->n - 1;
	while (low < high)
	{
		uint32		middle = (low + high) / 2;

		if (block->sessions[block->first + middle]->end >= start)
			high = middle;
		else
			low = middle + 1;
	}
	*i = low;
	return true;
}

static SeSessionBlock *
new_block(SeArena *arena, uint32 room, uint32 first)
{
	SeSessionBlock *block = se_arena_block(arena, offsetof(SeSessionBlock, sessions) + room * sizeof(SeSession *));

	block->first = first;
	block->n = 0;
	block->room = room;
	return block;
}

/*
 * A block with room for one more at a place, which may move. A full one gets larger, then a
 * neighbour: an empty one where sessions come in order, either way, else one with half of it.
 */
static SeSessionBlock *
make_block_room(SeArena *arena, SeSessionList *list, uint32 *b, uint32 *i)
{
	SeSessionBlock *block = blocks_of(list)[*b];
	SeSessionBlock *other;
	uint32		kept;

	if (block->n < block->room)
		return block;
	if (block->room < BLOCK_ROOM)
	{
		other = new_block(arena, block->room * 2, 0);
		memcpy(other->sessions, block->sessions, block->n * sizeof(SeSession *));
		other->n = block->n;
		blocks_of(list)[*b] = other;
		se_arena_block_free(arena, block);
		return other;
	}
	if (*b == 0 && *i == 0)
	{
		other = new_block(arena, BLOCK_ROOM, BLOCK_ROOM);
		add_block(arena, list, 0, other);
		return other;
	}
	other = new_block(arena, BLOCK_ROOM, 0);
	add_block(arena, list, *b + 1, other);
	kept = *b + 2 == list->nblocks && *i == block->n ? block->n : block->n / 2;
	other->n = block->n - kept;
	memcpy(other->sessions, block->sessions + kept, other->n * sizeof(SeSession *));
	block->n = kept;
	if (*i < kept)
		return block;
	*i -= kept;
	*b += 1;
	return other;
}

/* The new block becomes the b-th. */
static void
add_block(SeArena *arena, SeSessionList *list, uint32 b, SeSessionBlock *block)
{
	SeSessionBlock **blocks = blocks_of(list);

	if (list->nblocks == 1 || list->first + list->nblocks == list->room)
	{
		uint32		room = Max(8, list->nblocks * 2);
		SeSessionBlock **many = se_arena_block(arena, room * sizeof(SeSessionBlock *));

		memcpy(many, blocks, list->nblocks * sizeof(SeSessionBlock *));
		if (list->many != NULL)
			se_arena_block_free(arena, list->many);
		list->many = blocks = many;
		list->first = 0;
		list->room = room;
	}
	memmove(blocks + b + 1, blocks + b, (list->nblocks - b) * sizeof(SeSessionBlock *));
	blocks[b] = block;
	list->nblocks++;
}

/* The b-th block has no session left. */
static void
drop_block(SeArena *arena, SeSessionList *list, uint32 b)
{
	SeSessionBlock **blocks = blocks_of(list);

	se_arena_block_free(arena, blocks[b]);
	if (b == 0)
		list->first++;
	else
		memmove(blocks + b, blocks + b + 1, (list->nblocks - b - 1) * sizeof(SeSessionBlock *));
	list->nblocks--;
	if (list->nblocks > 1 || list->many == NULL)
	{
		if (list->many == NULL)
			list->first = 0;
		return;
	}
	list->only.block = blocks_of(list)[0];
	se_arena_block_free(arena, list->many);
	list->many = NULL;
	list->first = list->room = 0;
}

/* The block has room; the shorter side moves if there is room on it. */
static void
insert_into(SeSessionBlock *block, uint32 i, SeSession *session)
{
	SeSession **sessions = block->sessions + block->first;

	if (block->first > 0 && (i < block->n / 2 || i == 0 || block->first + block->n == block->room))
	{
		memmove(sessions - 1, sessions, i * sizeof(SeSession *));
		block->first--;
		sessions--;
	}
	else
		memmove(sessions + i + 1, sessions + i, (block->n - i) * sizeof(SeSession *));
	sessions[i] = session;
	block->n++;
}
