/*
 * operators/meta_record.h
 *		What records of aggregates have in common, and the one in which an operator says where it stands.
 *
 * Every record begins with 1 version and 1 sort. Sort M is about the operator itself; 4 number of the snapshot
 * follow, then what the operator adds. It is written whole whenever something of it has changed, and the newest
 * counts; records of groups (operators/agg_set.h) only ever add.
 */
#ifndef SE_META_RECORD_H
#define SE_META_RECORD_H

#include "base/se.h"
#include "flow/operator.h"
#include "state/value.h"

#define SE_STATE_VERSION 1
#define SE_SORT_META 'M'

typedef struct SeMetaRecord
{
	uint32		snapshots;		/* number of the last one */
	uint32		saved;			/* the snapshot that wrote the newest M */
	bool		dirty;			/* the operator does not stand there any more */
} SeMetaRecord;

/* The sort of a record; ERROR if it has another version. The reader goes on behind it. */
extern uint8 se_meta_record_sort(SeRecordReader *reader);

/* Write M: begin, put in what the operator adds, append. */
extern void se_meta_record_begin(const SeMetaRecord *meta, StringInfo out);
extern void se_meta_record_append(SeMetaRecord *meta, StringInfo out, SeOperator *op, SeSnapshotWriter *writer);

/* Restore M: up to what the operator adds. */
extern void se_meta_record_read(SeMetaRecord *meta, SeRecordReader *reader);

/* An M that is about to be deleted: if it is the newest, it is to be written again. What rewrite returns. */
extern Size se_meta_record_rewrite(SeMetaRecord *meta, SeRecordReader *reader, Size len);

#endif							/* SE_META_RECORD_H */
