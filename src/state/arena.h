/*
 * state/arena.h
 *		Memory for state that lives and dies together: bump allocation from big blocks.
 *
 * Blocks come from the job's DSA area (shared memory, so that what a job holds is
 * bounded and seen), or from malloc when there is none (unit tests). They grow from
 * 1 kB to 256 kB, so a small slice costs little and a big one few blocks. Every byte
 * is counted with se_env_account before it is taken: a limit that is reached is an
 * error before anything was stored (I10). Addresses are this process's own: state has
 * one writer and no other reader (design 8).
 */
#ifndef SE_ARENA_H
#define SE_ARENA_H

#include "base/se.h"
#include "flow/operator.h"

typedef struct SeArena SeArena;

extern SeArena *se_arena_new(SeOperatorEnv *env);

/* 8-aligned memory that lives as long as the arena; not zeroed. */
extern void *se_arena_alloc(SeArena *arena, Size size);

/* A block of its own that can be given back alone; not zeroed. */
extern void *se_arena_block(SeArena *arena, Size size);
extern void se_arena_block_free(SeArena *arena, void *block);

/*
 * From now on pieces that are given back are taken again, each for one of its size. Pieces
 * of se_arena_alloc only, with the size they were taken with; without this, giving does nothing, and says so (false).
 */
extern void se_arena_reuse(SeArena *arena);
extern bool se_arena_give(SeArena *arena, void *piece, Size size);

/* Give everything back. */
extern void se_arena_free(SeArena *arena);

extern uint64 se_arena_bytes(const SeArena *arena);

#endif							/* SE_ARENA_H */
