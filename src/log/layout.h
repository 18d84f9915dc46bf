/*
 * log/layout.h
 *		What the bytes of a stream's rows are: attributes, types, order, and the values
 *		that later-added columns had for them.
 *
 * A layout is written to stream_engine.stream_layouts by CREATE/ALTER FOREIGN TABLE
 * and never changed. A session whose table has no fitting one puts a layout message
 * before its rows in the same transaction. Stored bytes: docs/design/log.md.
 */
#ifndef SE_LAYOUT_H
#define SE_LAYOUT_H

#include "base/se.h"
#include "access/attnum.h"
#include "access/tupdesc.h"
#include "access/xlogdefs.h"
#include "utils/relcache.h"

typedef struct SeLayoutColumn
{
	AttrNumber	attno;
	Oid			type;
	int32		typmod;
	Oid			collation;
	int16		len;
	bool		byval;
	char		align;			/* 'c' 's' 'i' 'd' */
	uint8		align_bytes;	/* not stored: the same as a number */
	bool		packable;		/* writer only, not stored: short varlena headers allowed */
	bool		has_missing;	/* rows of older layouts read as `missing`, else NULL */
	Datum		missing;
} SeLayoutColumn;

typedef struct SeLayout
{
	Oid			relation;
	uint32		id;
	XLogRecPtr	since;			/* where the WAL stood when it was stored; not part of the bytes */
	int			ncolumns;		/* live (not dropped, not virtual) attributes in order */
	SeLayoutColumn *columns;
	Size		fixed_room;		/* not stored: bytes that columns of fixed length need, padding of every value and
								 * the row included */
	uint64		fingerprint;	/* of attnos, types, typmods, len/align */
} SeLayout;

/* The layout a relation's descriptor asks for (id 0, no missing values). */
extern SeLayout *se_layout_of_desc(Oid relation, TupleDesc desc);

/* A layout's column, or NULL if it lacks the attribute. */
extern const SeLayoutColumn *se_layout_column(const SeLayout *layout, AttrNumber attno);

/* Bytes <-> layout. Decoding checks every length. Palloc'd in the current context. */
extern bytea *se_layout_encode(const SeLayout *layout);
extern SeLayout *se_layout_decode(const void *bytes, Size len);

/*
 * The catalog layout that fits a relation as this transaction sees it, or NULL (the
 * session must then send one). Cached per backend; invalidated with the relation.
 */
extern const SeLayout *se_layout_current(Relation relation);

/* All layouts of a stream, ascending id. Uses the active snapshot or the catalog's. */
extern List *se_layout_list(Oid relation);

/*
 * Write the layout of a relation if the newest one does not fit; columns that the
 * newest lacks get their DEFAULT, evaluated now, as missing value. For DDL.
 */
extern void se_layout_store(Oid relation);

/* Remove all layouts of a dropped stream. */
extern void se_layout_remove(Oid relation);

#endif							/* SE_LAYOUT_H */
