/*
 * base/draining.h
 *		Databases whose streams are being drained, in shared memory.
 *
 * Said before it is committed, so that whoever drains waits for the writers there are
 * and for no new ones. What is committed is meta/drained.c's.
 */
#ifndef SE_DRAINING_H
#define SE_DRAINING_H

#include "base/se.h"

/* From now to the end of this transaction the database is being drained; 53400 if too many are. */
extern void se_draining_begin(Oid database);

/* Is a database being drained? Ask after having locked the stream. */
extern bool se_draining_is_on(Oid database);

/*
 * Grows when something that was drained, or is so no more, has become visible: what was
 * looked up at a smaller value may be old. se_draining_changed: let it grow when this
 * transaction is committed.
 */
extern uint64 se_draining_generation(void);
extern void se_draining_changed(void);

/* Registers shared memory and transaction callback. Runs in: _PG_init. */
extern void se_draining_init(void);

#endif							/* SE_DRAINING_H */
