/*
 * source/source_kinds.c
 *		Which sources there are: by the node they are made for, by the tag of their positions.
 *
 * A position's first byte says whose it is. The rest is that source's business, so
 * whoever meets a stored position (the coordinator, a monitoring view) asks here.
 */
#include "postgres.h"

#include "base/fault.h"
#include "log/position.h"
#include "source/source.h"

static const SeSourceOps *ops_of_position(const void *position, Size len);

SeSource *
se_source_new(const SeNode *node, MemoryContext memory)
{
	Assert(node->kind == SE_NODE_LOG_SOURCE);
#ifdef SE_TEST_BUILD
	if (SE_FAULT_WRONG("counter-source"))
		return se_counter_source_new((const SeLogSourceNode *) node, memory);
#endif
	return se_log_source_new((const SeLogSourceNode *) node, memory);
}

char *
se_source_describe(const void *position, Size len)
{
	const SeSourceOps *ops = ops_of_position(position, len);

	/* Another release's: the log's source knows how to say so. */
	return (ops == NULL ? &se_log_source_ops : ops)->describe(position, len);
}

XLogRecPtr
se_source_needs_wal(const void *position, Size len)
{
	const SeSourceOps *ops = ops_of_position(position, len);

	return ops == NULL ? InvalidXLogRecPtr : ops->needs_wal(position, len);
}

/* NULL if this release has no such source. */
static const SeSourceOps *
ops_of_position(const void *position, Size len)
{
	switch (len == 0 ? 0 : *(const uint8 *) position)
	{
		case SE_POSITION_TAG_LOG:
			return &se_log_source_ops;
#ifdef SE_TEST_BUILD
		case SE_POSITION_TAG_COUNTER:
			return &se_counter_source_ops;
#endif
		default:
			return NULL;
	}
}
