/*
 * source/bounded_read.h
 *		Plain SELECT on a stream: what the log still holds, by the statement's snapshot (N27).
 */
#ifndef SE_BOUNDED_READ_H
#define SE_BOUNDED_READ_H

#include "base/se.h"
#include "foreign/fdwapi.h"

/* Set the scan callbacks of a handler's routine. */
extern void se_bounded_read_fill(FdwRoutine *routine);

/*
 * While set, scans of streams in this backend return no rows. CREATE of a view with
 * an aggregate over everything computes its first row so. Whoever sets it clears it
 * on every way out.
 */
extern bool se_bounded_read_empty;

/*
 * The proctime of the row that a bounded read of this backend returned last. False if
 * none is being read.
 */
extern bool se_bounded_read_proctime(SeTime *proctime);

#endif							/* SE_BOUNDED_READ_H */
