/*
 * meta/readers.h
 *		Which jobs read a stream, through whatever plain views.
 */
#ifndef SE_META_READERS_H
#define SE_META_READERS_H

#include "base/se.h"
#include "nodes/pg_list.h"

/*
 * SeJobMeta * of the jobs of this database that read the stream; not those that came from elsewhere, whose positions
 * mean nothing here. Needs a transaction.
 */
extern List *se_readers_of(Oid stream);

#endif							/* SE_META_READERS_H */
