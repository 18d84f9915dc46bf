/*
 * flow/snapshot.h
 *		How an operator hands its state to a checkpoint, and gets it back.
 *
 * State is a log of *records*: opaque bytes that belong to one operator of one unit.
 * At each commit an operator appends records for what changed since the last one;
 * a restore plays all live records back in the order they were written. The
 * checkpoint packs records into chunks (docs/design/checkpoint.md) and reclaims old
 * ones: it shows the oldest records to `rewrite` and then deletes them, so an operator
 * must append anew, in the same commit, whatever of them is still its state. Records
 * come back MAXALIGNed.
 */
#ifndef SE_SNAPSHOT_H
#define SE_SNAPSHOT_H

#include "base/se.h"

typedef struct SeSnapshotWriter SeSnapshotWriter;

/*
 * Append one record. Copies the bytes at once; any length up to 256 MB.
 * Context: inside the writing transaction of a commit (I5). May raise.
 */
struct SeSnapshotWriter
{
	void		(*append) (SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len);
};

static inline void
se_snapshot_append(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	writer->append(writer, operator_id, bytes, len);
}

#endif							/* SE_SNAPSHOT_H */
