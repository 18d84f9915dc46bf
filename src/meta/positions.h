/*
 * meta/positions.h
 *		Catalog table stream_engine.job_positions: where each source of a unit stands.
 *
 * One row per (job, unit, source), updated in the commit that holds everything
 * derived from the rows before it (I8). The unit's exact late counters live here.
 */
#ifndef SE_META_POSITIONS_H
#define SE_META_POSITIONS_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

struct SnapshotData;

typedef struct SePositionMeta
{
	Oid			job;
	int32		unit;
	int32		source;			/* graph node id */
	int64		attempt;
	bytea	   *position;		/* the source's bytes */
	uint64		fingerprint;	/* of the graph that wrote it */
	uint64		shape;			/* of that graph, without what is this database's own */
	int64		chunk_seq;		/* last state chunk of the unit */
	int64		result_rows;	/* of the whole result once this is committed */
	int64		rows_in;
	int64		rows_out;
	int64		late_rows;
	int64		late_pairs;
	List	   *options;		/* DefElem: those that the log moves (meta/options.h), as in effect here */
	XLogRecPtr	options_lsn;	/* of the ALTER that said so: marks that are not newer were obeyed */
	bool		windowed;		/* groups have windows, which become final */
	SeTime		final_to;		/* windowed: rows of windows that end by then are never changed again */
	int64		error_rows;		/* left out by on_error */
	List	   *skip;			/* char *: positions to skip (start(view, skip)) */
} SePositionMeta;

extern SePositionMeta *se_positions_get(Oid job, int unit, int source); /* NULL if none */
extern List *se_positions_list(Oid job);
extern void se_positions_put(const SePositionMeta *meta);	/* insert or update */
extern void se_positions_delete(Oid job);

/*
 * final_to as a query with this snapshot sees it, the least of all units; false if there is
 * none, because the groups have no windows. SE_TIME_MIN if it sees nothing of the job.
 */
extern bool se_positions_final_to(Oid job, struct SnapshotData *snapshot, SeTime *final_to);

/* Were the job's rows written by the current transaction, so that no worker has begun there? */
extern bool se_positions_are_uncommitted(Oid job);

/* Append to stream_engine.job_errors; keeps the newest 100 per job. */
extern void se_errors_add(Oid job, int sqlstate, const char *message, const char *detail,
						  const char *position, const char *row, int64 attempt);
extern void se_errors_delete(Oid job);

#endif							/* SE_META_POSITIONS_H */
