/*
 * runtime/vacuum.h
 *		Our own tables are vacuumed by ourselves.
 */
#ifndef SE_VACUUM_H
#define SE_VACUUM_H

#include "base/se.h"

/*
 * Is it time? Then start the worker that does it. In a transaction; returns ms until it
 * wants to be called again, -1 if only for news. Runs in: coordinator.
 */
extern long se_vacuum_if_due(void);

/* Has a worker that was started ended? Its end wakes the coordinator. */
extern bool se_vacuum_has_ended(void);

#endif							/* SE_VACUUM_H */
