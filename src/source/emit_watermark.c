/*
 * source/emit_watermark.c
 *		stream_engine.emit_watermark: a writer says how far the stream has come.
 *
 * The mark is part of the transaction: it counts if that commits, at its place among
 * the transaction's rows.  It takes an INSERT's privilege and lock, so whoever waits for
 * open writers waits for it too.
 *
 * Runs in: sessions.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/se.h"
#include "base/shmem.h"
#include "log/append.h"
#include "log/stream.h"
#include "source/event_time.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

SE_FUNCTION_INFO_V1(stream_engine_emit_watermark);

Datum
stream_engine_emit_watermark(PG_FUNCTION_ARGS)
{
	SeStreamInfo *info;
	Relation	stream;
	TimestampTz ts;
	SeTime		watermark;
	AclResult	allowed;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the stream of emit_watermark must not be null")));
	info = se_stream_info(PG_GETARG_OID(0));
	allowed = pg_class_aclcheck(info->relation, GetUserId(), ACL_INSERT);
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_TABLE, get_rel_name(info->relation));
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a watermark must not be null")));
	ts = PG_GETARG_TIMESTAMPTZ(1);
	if (TIMESTAMP_IS_NOBEGIN(ts))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("a watermark must not be \"-infinity\""),
				 errdetail("It would say that no row has arrived yet, which is so without it.")));
	watermark = se_stream_event_time(info, ts);
	if (!TIMESTAMP_IS_NOEND(ts) && watermark > se_event_time_limit(info))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the watermark is too far in the future for stream \"%s\"", get_rel_name(info->relation)),
				 errdetail("Option max_future of the stream bounds it."),
				 errhint("Set the clock of the producer right. To say that no more rows come, give 'infinity'.")));
	se_shmem_require();
	PreventCommandIfReadOnly("stream_engine.emit_watermark()");
	PreventCommandIfParallelMode("stream_engine.emit_watermark()");

	stream = table_open(info->relation, RowExclusiveLock);
	se_append_watermark(info->relation, watermark);
	table_close(stream, NoLock);
	PG_RETURN_VOID();
}
