/*
 * checkpoint/checkpoint.h
 *		State as chunks in stream_engine.state_chunks: append, restore, reclaim.
 *
 * One store per unit. Records of operators (flow/snapshot.h) are packed into chunks
 * of at most 8,000 bytes; chunk numbers grow for ever. The live state is always the
 * records of all chunks in order. Bytes: docs/design/checkpoint.md.
 */
#ifndef SE_CHECKPOINT_H
#define SE_CHECKPOINT_H

#include "base/se.h"
#include "flow/operator.h"
#include "flow/snapshot.h"

typedef struct SeStore SeStore;

/* Open the store of a unit; last_seq as found in its position row (0 = new). */
extern SeStore *se_store_open(MemoryContext memory, Oid job, int unit, int64 last_seq);

/*
 * Play all records back into the operators (array by id, NULL where stateless).
 * Chunks above last_seq must not exist (I7 deleted them). Needs a transaction.
 */
extern void se_store_restore(SeStore *store, SeOperator **operators, int noperators);

/*
 * One commit: begin reclaims (calls rewrite of operators for records of the oldest
 * chunks, so much that writes are at most doubled); the caller then calls every
 * operator's snapshot with the returned writer; finish writes the last chunk and
 * returns the newest sequence number. All inside the caller's writing transaction.
 */
extern SeSnapshotWriter *se_store_begin(SeStore *store, SeOperator **operators, int noperators,
										uint64 live_bytes);
extern int64 se_store_finish(SeStore *store);

/* The same where all state is written anew: every older chunk is deleted, and no operator is asked. */
extern SeSnapshotWriter *se_store_begin_anew(SeStore *store);

/* Bytes appended by the last commit; bytes of all chunks. */
extern uint64 se_store_last_bytes(const SeStore *store);
extern uint64 se_store_total_bytes(const SeStore *store);

/* Are the chunks of a unit there without a gap, as its newest one says they must be? Needs a transaction. */
extern bool se_store_is_complete(Oid job, int unit, int64 last_seq);

/* Delete all chunks of a job. For DROP, and for a job that begins anew. */
extern void se_store_delete_job(Oid job);

#endif							/* SE_CHECKPOINT_H */
