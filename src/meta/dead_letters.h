/*
 * meta/dead_letters.h
 *		Catalog table stream_engine.dead_letter_rows: rows that were kept out, whole.
 *
 * A letter belongs to a continuous view (a row that raised an error there) or to a
 * stream (a row it refused when it was written). Written in the transaction that decides
 * about the row: the view's commit that moves the position behind it, or the inserting
 * session's own.
 */
#ifndef SE_META_DEAD_LETTERS_H
#define SE_META_DEAD_LETTERS_H

#include "base/se.h"
#include "access/tupdesc.h"
#include "datatype/timestamp.h"

typedef struct SeDeadLetter
{
	Oid			relation;		/* whose it is: the view, or the stream itself */
	Oid			stream;			/* that the row was written into */
	const char *position;		/* as se_place_describe; NULL = the row is not in the log */
	int64		ordinal;		/* in its transaction; with a position only */
	TimestampTz arrived;		/* commit of the row's transaction; of a refused row, its statement */
	const char *reason;			/* "error", "null_time", "infinite_time", "future_time" */
	int			sqlstate;
	const char *message;
	const char *detail;			/* may be NULL */
	Datum		row;			/* jsonb (se_dead_letters_row) */
	bool		no_row;			/* it cannot be shown */
} SeDeadLetter;

/*
 * A row of a stream as jsonb, in the current memory context: columns by their names. The
 * descriptor is the stream's own (RelationGetDescr). Calls the output functions of its
 * types, so it can raise, and needs the user switched to whoever may run them.
 */
extern Datum se_dead_letters_row(TupleDesc desc, const Datum *values, const bool *nulls);

/*
 * Add a letter. Needs a writing transaction and no privilege. What was added is seen from
 * the next command on: the caller increments the command counter if it must see it.
 */
extern void se_dead_letters_add(const SeDeadLetter *letter);

/* The relation is dropped. */
extern void se_dead_letters_delete(Oid relation);

/* Those with an id up to the given one; how many there were. */
extern int64 se_dead_letters_delete_up_to(Oid relation, int64 up_to);

#endif							/* SE_META_DEAD_LETTERS_H */
