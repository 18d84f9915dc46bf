/*
 * ddl/stream_ddl.h
 *		What CREATE, ALTER and DROP FOREIGN TABLE mean for a stream.
 *
 * All run in sessions, inside the statement's transaction and under its locks.
 */
#ifndef SE_STREAM_DDL_H
#define SE_STREAM_DDL_H

#include "base/se.h"
#include "access/attnum.h"
#include "ddl/stream_check.h"
#include "nodes/pg_list.h"

/* Registers transaction callbacks. Runs in: _PG_init. */
extern void se_stream_ddl_init(void);

/*
 * An object is being altered (its new catalog row is not visible yet). Returns the
 * OIDs of the streams whose watermark may mention it: for each, se_stream_ddl_altered
 * must be called when the statement is over. Raises if it is a column (`sub_id` its
 * number) of a composite type that streams or states have values of, and its type changes.
 */
extern List *se_stream_ddl_altering(Oid class_id, Oid object, int sub_id);

/* ddl/stored_types.c: raises (0A000) if a column of a composite type changes its type and values of it are kept. */
extern void se_stored_types_check_change(Oid relation, AttrNumber attno);

/* A column is about to be dropped; raises if the stream's watermark uses it. */
extern void se_stream_ddl_dropping_column(Oid relation, AttrNumber attno);

/*
 * The statement that created or altered a stream is over: check, normalise, store the layout, look whether the rows
 * that are there fit.
 */
extern void se_stream_ddl_created(Oid relation);
extern void se_stream_ddl_altered(Oid relation, const SeStreamShape *before);

/* A stream is being dropped. */
extern void se_stream_ddl_dropped(Oid relation);

#endif							/* SE_STREAM_DDL_H */
