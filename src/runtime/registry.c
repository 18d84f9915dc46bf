/*
 * runtime/registry.c
 *		Which operator a graph node is: the only place that knows all of them.
 */
#include "postgres.h"

#include "operators/operators.h"
#include "runtime/runtime.h"
#include "sink/table_sink.h"

SeOperator *
se_registry_operator(const SeNode *node, SeOperatorEnv *env)
{
	switch (node->kind)
	{
		case SE_NODE_CALC:
			return se_calc_new((const SeCalcNode *) node, env);
		case SE_NODE_WINDOW_EXPAND:
			return se_window_expand_new((const SeWindowExpandNode *) node, env);
		case SE_NODE_WINDOW_AGG:
			return se_window_agg_new((const SeWindowAggNode *) node, env);
		case SE_NODE_SESSION_AGG:
			return se_session_agg_new((const SeSessionAggNode *) node, env);
		case SE_NODE_COUNT_AGG:
			return se_count_agg_new((const SeCountAggNode *) node, env);
		case SE_NODE_GROUP_AGG:
			if (((const SeGroupAggNode *) node)->ttl != SE_TTL_NONE)
				return se_group_ttl_new((const SeGroupAggNode *) node, env);
			if (se_emit_is_held(&((const SeGroupAggNode *) node)->emit))
				return se_group_held_new((const SeGroupAggNode *) node, env);
			return se_group_agg_new((const SeGroupAggNode *) node, env);
		case SE_NODE_TABLE_SINK:
			return se_table_sink_new((const SeTableSinkNode *) node,
									 ((SeNode *) linitial(node->inputs))->desc, env);
		case SE_NODE_LOG_SOURCE:
			break;				/* polled, not pushed into: runtime/chain.c makes it */
	}
	elog(ERROR, "graph node %d of kind %d is not an operator", node->id, node->kind);
	return NULL;
}
