/*
 * operators/operators.h
 *		The constructors of all operators, one per node kind; each in its own file.
 *
 * Context: task worker, in a round, env->memory current. `child` nodes' descriptors
 * tell the input columns. The operator is wired (next, next_input) by the caller.
 */
#ifndef SE_OPERATORS_H
#define SE_OPERATORS_H

#include "flow/graph.h"
#include "flow/operator.h"

extern SeOperator *se_calc_new(const SeCalcNode *node, SeOperatorEnv *env);
extern SeOperator *se_window_expand_new(const SeWindowExpandNode *node, SeOperatorEnv *env);
extern SeOperator *se_window_agg_new(const SeWindowAggNode *node, SeOperatorEnv *env);
extern SeOperator *se_session_agg_new(const SeSessionAggNode *node, SeOperatorEnv *env);
extern SeOperator *se_count_agg_new(const SeCountAggNode *node, SeOperatorEnv *env);
extern SeOperator *se_group_agg_new(const SeGroupAggNode *node, SeOperatorEnv *env);
extern SeOperator *se_group_held_new(const SeGroupAggNode *node, SeOperatorEnv *env);
extern SeOperator *se_group_ttl_new(const SeGroupAggNode *node, SeOperatorEnv *env);

#endif							/* SE_OPERATORS_H */
