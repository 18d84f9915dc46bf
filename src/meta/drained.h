/*
 * meta/drained.h
 *		Catalog table stream_engine.drained: one row while the streams of the database take no rows.
 */
#ifndef SE_META_DRAINED_H
#define SE_META_DRAINED_H

#include "base/se.h"

/* As of now, in the catalog, whatever other sessions are about to commit. */
extern bool se_drained_is_set(void);

/* Set and clear it in this transaction; both may be done twice. */
extern void se_drained_set(void);
extern void se_drained_clear(void);

/*
 * ERROR (55000) with a hint if the streams of this database are drained or being drained.
 * The caller has locked the stream, as who writes to it does, until the end of its
 * transaction.
 */
extern void se_drained_check(Oid stream);

#endif							/* SE_META_DRAINED_H */
