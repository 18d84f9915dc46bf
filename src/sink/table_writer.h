/*
 * sink/table_writer.h
 *		Writing rows into a user's table as its owner, for one commit. Internal to sink/.
 *
 * Result column i is attribute i + 1 of the table: renaming and adding columns is the
 * user's right; an added column takes its default, and keeps its value in an update.
 */
#ifndef SE_TABLE_WRITER_H
#define SE_TABLE_WRITER_H

#include "base/se.h"
#include "executor/tuptable.h"
#include "flow/operator.h"
#include "flow/row.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

/* An added column that is not NULL in a new row. */
typedef struct SeAddedDefault
{
	int			column;			/* from 0 */
	ExprState  *state;
} SeAddedDefault;

/* Rows that wait for one multi-insert. */
#define SE_WRITER_BATCH_ROWS	1000
#define SE_WRITER_BATCH_BYTES	(64 * 1024)

typedef struct SeTableWriter
{
	/* the table, open from open to close */
	Relation	table;
	TupleDesc	input;			/* the result's columns */
	int			ncolumns;		/* how many; the table may have more */
	EState	   *estate;
	ResultRelInfo *target;
	EPQState	epqstate;
	TupleTableSlot *slot;		/* the row as it will be stored */
	int			ndefaults;
	SeAddedDefault *defaults;

	/* multi-insert */
	bool		row_by_row;		/* something about the table forbids it */
	int			nbatch;
	Size		batch_bytes;
	TupleTableSlot **batch;
	SePlace    *batch_places;

	/* lookup by key (table_upsert.c) */
	bool		upsert;
	int			nkeys;			/* 0: the table has one row */
	int		   *key_columns;	/* of the result, in the index's order */
	struct ScanKeyData *scan_keys;
	struct SnapshotData *dirty; /* sees what this transaction wrote so far */
	struct IndexScanDescData *scan; /* of the index over the key; one for all rows */
	TupleTableSlot *old;		/* the row found */
	bool		moving;			/* it was found by a -U, for the +U that comes next */

	/* the row being written, for whoever reports an error: a batch of one */
	SeOperatorEnv *env;
	SeBatch    *shown;

	/* counters of this commit */
	int64		written;		/* inserted or updated */
	int64		growth;			/* inserted less deleted */
	int64		not_taken;		/* turned away by a BEFORE trigger */
} SeTableWriter;

/*
 * Open the table and check that it still fits the result. key_columns as in the node.
 * Needs the writing transaction with the owner switched to; pushes a snapshot.
 */
extern SeTableWriter *se_table_writer_open(SeOperatorEnv *env, Oid table, TupleDesc input,
										   bool upsert, List *key_columns);

/* Add a row (append mode); it may wait for others until flush or close. */
extern void se_table_writer_insert(SeTableWriter *writer, SePlace place,
								   const Datum *values, const bool *nulls);

/* Write what waits; the table then has all rows that were added. */
extern void se_table_writer_flush(SeTableWriter *writer);

/*
 * Write what waits, fire what is left to fire, check what is left to check, close.
 * The counters are given out because the writer is gone afterwards.
 */
extern void se_table_writer_close(SeTableWriter *writer, int64 *written, int64 *not_taken, int64 *growth);

/* table_upsert.c: bring the row of a key up to date, or remove it. */
extern void se_table_upsert_open(SeTableWriter *writer, List *key_columns);
extern void se_table_upsert_apply(SeTableWriter *writer, SeRowKind kind, SePlace place,
								  const Datum *values, const bool *nulls);
extern void se_table_upsert_close(SeTableWriter *writer);

/* The row that errors are about from now on; {0, 0} if it comes from no single one. */
static inline void
se_table_writer_at(SeTableWriter *writer, SePlace place, const Datum *values, const bool *nulls)
{
	writer->shown->values = (Datum *) values;
	writer->shown->nulls = (bool *) nulls;
	writer->shown->places[0] = place;
	writer->env->current_batch = writer->shown;
	writer->env->current_row = 0;
}

static inline void
se_table_writer_nowhere(SeTableWriter *writer)
{
	writer->env->current_batch = NULL;
}

/*
 * Each row of a table with triggers is a command of its own: which rows share a commit
 * is a matter of timing, and no trigger shall depend on it. And an error of an AFTER
 * trigger, such as a foreign key's, then belongs to its row.
 */
extern void se_table_writer_begin_row(SeTableWriter *writer, SePlace place,
									  const Datum *values, const bool *nulls);
extern void se_table_writer_end_row(SeTableWriter *writer);

/* Shared by both: a new row in writer->slot, and inserting it now. */
extern void se_table_writer_fill_new(SeTableWriter *writer, TupleTableSlot *slot,
									 const Datum *values, const bool *nulls);
extern void se_table_writer_insert_now(SeTableWriter *writer);

#endif							/* SE_TABLE_WRITER_H */
