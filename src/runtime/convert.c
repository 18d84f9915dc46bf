/*
 * runtime/convert.c
 *		Options under which the state is kept in another way: at their mark it is laid out anew.
 *
 * The mark is met by a clean unit: all rows before it are committed, nothing is stashed or half emitted. The query is
 * planned under the new options; if that graph's fingerprint is another, its operators are made beside the old ones, and
 * the aggregate of the new chain adopts what the old one's knows (flow/operator.h). The commit that follows holds all of
 * it: the position behind the mark with the new options and the new fingerprint, the state as new chunks, and none of the
 * old ones. So the fingerprint of a position is always that of the graph its state was written by, and whoever dies
 * before that commit leaves the old state and meets the mark again.
 *
 * Both states are in memory meanwhile, and count.
 *
 * Runs in: task worker.
 */
#include "postgres.h"

#include "base/fault.h"
#include "meta/options.h"
#include "plan/plan.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "utils/memutils.h"

static const SeGraph *plan(SeTask *task, const SeJobMeta *meta);
static void convert(SeTask *task, const SeGraph *graph);
static void adopt(SeChain *chain, SeChain *from);
static void take_sources(SeChain *chain, SeChain *from);

SeRoundOutcome
se_convert_run(SeTask *task)
{
	SeRoundOutcome outcome = SE_ROUND_MORE;
	SeJobMeta  *meta;

	if (!se_worker_begin(task->job, true))
		return SE_ROUND_GONE;
	meta = se_jobs_get(task->job);
	if (meta == NULL || !se_task_lock_sources(task, meta))
		outcome = SE_ROUND_GONE;
	else
	{
		const SeGraph *graph = plan(task, meta);

		/* Another query has another state, whatever its options are. The locks are taken: it stays as it is. */
		if (se_task_is_outdated(task))
			outcome = SE_ROUND_OUTDATED;
		else if (graph->fingerprint != task->chain->graph->fingerprint)
			convert(task, graph);
	}
	se_worker_commit();
	return outcome;
}

/* Under the options that count from the mark on. */
static const SeGraph *
plan(SeTask *task, const SeJobMeta *meta)
{
	MemoryContext old = MemoryContextSwitchTo(task->memory);
	const SeGraph *graph = se_plan_definition(meta->definition, task->job,
											  se_options_in_effect(meta->options, task->options));

	MemoryContextSwitchTo(old);
	return graph;
}

static void
convert(SeTask *task, const SeGraph *graph)
{
	SeChain    *from = task->chain;
	SeChain    *chain;
	MemoryContext old;

	SE_FAULT_POINT("convert-begin");
	task->env.converting = true;
	chain = se_chain_new(graph, &task->env);
	old = MemoryContextSwitchTo(task->commit_memory);
	adopt(chain, from);
	MemoryContextSwitchTo(old);
	task->env.converting = false;
	SE_FAULT_POINT("convert-adopted");

	take_sources(chain, from);
	se_chain_close(from);
	task->rows_out_base += (int64) from->sink->rows_in;
	task->sink_rows = 0;
	task->windowed = se_graph_is_windowed(graph, &task->lateness);
	task->chain = chain;
	task->converted = true;
}

/* The state of one chain goes over into the other. */
static void
adopt(SeChain *chain, SeChain *from)
{
	const SeNode *node = se_graph_aggregate(chain->graph);
	const SeNode *former = se_graph_aggregate(from->graph);
	SeOperator *op;

	if (node == NULL || former == NULL || node->kind != former->kind)
		elog(ERROR, "no operator can take over the state of the former options");
	op = chain->operators[node->id];
	if (op->ops->adopt == NULL)
		elog(ERROR, "operator %d (%s) cannot take over the state of former options", op->id, op->ops->name);
	op->ops->adopt(op, from->operators[former->id]);
}

/* The sources stay where they stand; those of the new chain were never opened. */
static void
take_sources(SeChain *chain, SeChain *from)
{
	Assert(chain->nsources == from->nsources);
	for (int i = 0; i < chain->nsources; i++)
	{
		SeChainSource *place = &chain->sources[i];
		const SeChainSource *former = &from->sources[i];

		Assert(place->source->node_id == former->source->node_id);
		place->source->ops->close(place->source);
		place->source = former->source;
		place->watermark = former->watermark;
		place->idle = former->idle;
		place->ended = former->ended;
	}
	from->nsources = 0;
}
