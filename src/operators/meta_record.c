/*
 * operators/meta_record.c
 *		What records of aggregates have in common, and the one in which an operator says where it stands.
 *
 * Runs in: task worker; as flow/operator.h says of snapshot, rewrite and restore.
 */
#include "postgres.h"

#include "operators/meta_record.h"

uint8
se_meta_record_sort(SeRecordReader *reader)
{
	if (se_record_u8(reader) != SE_STATE_VERSION)
		se_record_corrupted();
	return se_record_u8(reader);
}

void
se_meta_record_begin(const SeMetaRecord *meta, StringInfo out)
{
	initStringInfo(out);
	se_record_put_u8(out, SE_STATE_VERSION);
	se_record_put_u8(out, SE_SORT_META);
	se_record_put_u32(out, meta->snapshots);
}

void
se_meta_record_append(SeMetaRecord *meta, StringInfo out, SeOperator *op, SeSnapshotWriter *writer)
{
	se_snapshot_append(writer, op->id, out->data, out->len);
	pfree(out->data);
	meta->saved = meta->snapshots;
	meta->dirty = false;
}

void
se_meta_record_read(SeMetaRecord *meta, SeRecordReader *reader)
{
	meta->saved = se_record_u32(reader);
	meta->snapshots = Max(meta->snapshots, meta->saved);
}

Size
se_meta_record_rewrite(SeMetaRecord *meta, SeRecordReader *reader, Size len)
{
	if (se_record_u32(reader) != meta->saved || meta->dirty)
		return 0;
	meta->dirty = true;
	return len;
}
