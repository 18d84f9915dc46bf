/*
 * sink/table_sink.h
 *		Results into the result table, written in the unit's one commit (I5).
 */
#ifndef SE_TABLE_SINK_H
#define SE_TABLE_SINK_H

#include "flow/graph.h"
#include "flow/operator.h"

/*
 * Pending rows wait in a tuplestore (work_mem, then disk) and are written by the
 * snapshot callback: multi-insert without keys, upsert and delete by key otherwise,
 * indexes, constraints and triggers as for any INSERT, as the table's owner.
 */
extern SeOperator *se_table_sink_new(const SeTableSinkNode *node, TupleDesc input, SeOperatorEnv *env);

#endif							/* SE_TABLE_SINK_H */
