/*
 * ddl/stream_check.h
 *		Do the rows that a stream has already fit what an ALTER says of all its rows?
 */
#ifndef SE_STREAM_CHECK_H
#define SE_STREAM_CHECK_H

#include "base/se.h"
#include "log/layout.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/* A stream before the statement that alters it. */
typedef struct SeStreamShape
{
	int			natts;
	Bitmapset  *not_null;		/* attribute numbers */
	bool		new_bounds;		/* it, or a table above or beside it, became a partition */
	List	   *constraints;	/* Oid: constraints that the statement added or validated */
} SeStreamShape;

/*
 * The shape of a relation as the running statement's own changes do not show yet: to be called from the object
 * access hook. In the current context.
 */
extern SeStreamShape *se_stream_check_shape(Oid relation);

/* The foreign table whose CHECK or NOT NULL constraint is being added, or validated, as a valid one; else InvalidOid. */
extern Oid	se_stream_check_constraint(Oid constraint, bool created);

/*
 * The statement is over and visible: raise if it says something of all rows that is not true of those in the log, as
 * PostgreSQL does for a table. `layout` is the newest layout before it. Reads the retained log if there is something
 * to check.
 */
extern void se_stream_check_rows(Oid stream, const SeStreamShape *before, const SeLayout *layout);

#endif							/* SE_STREAM_CHECK_H */
