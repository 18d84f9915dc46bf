/*
 * runtime/chain.c
 *		A graph turned into sources and wired operators.
 *
 * Nodes come inputs first, so one pass makes everything and a second one wires it.
 */
#include "postgres.h"

#include "base/settings.h"
#include "runtime/chain.h"
#include "runtime/runtime.h"

static void wire(SeChain *chain, const SeNode *input, SeOperator *next, int next_input);

SeChain *
se_chain_new(const SeGraph *graph, SeOperatorEnv *env)
{
	MemoryContext old = MemoryContextSwitchTo(env->memory);
	SeChain    *chain = palloc0(sizeof(SeChain));
	ListCell   *cell;

	chain->graph = graph;
	chain->noperators = list_length(graph->nodes);
	chain->operators = palloc0(sizeof(SeOperator *) * chain->noperators);
	chain->sources = palloc0(sizeof(SeChainSource) * chain->noperators);

	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);

		Assert(node->id == foreach_current_index(cell));
		if (node->kind == SE_NODE_LOG_SOURCE)
		{
			SeChainSource *place = &chain->sources[chain->nsources++];

			place->source = se_source_new(node, env->memory);
			place->batch = se_batch_new(env->memory, place->source->desc, se_batch_rows);
			place->watermark = SE_TIME_MIN;
		}
		else
			chain->operators[node->id] = se_registry_operator(node, env);
	}
	chain->sink = chain->operators[graph->sink->id];

	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);
		ListCell   *input;

		foreach(input, node->inputs)
			wire(chain, lfirst(input), chain->operators[node->id], foreach_current_index(input));
	}
	MemoryContextSwitchTo(old);
	return chain;
}

/* Let a node's output go to an operator's input. */
static void
wire(SeChain *chain, const SeNode *input, SeOperator *next, int next_input)
{
	SeOperator *op = chain->operators[input->id];

	if (op != NULL)
	{
		op->next = next;
		op->next_input = next_input;
		return;
	}
	for (int i = 0; i < chain->nsources; i++)
		if (chain->sources[i].source->node_id == input->id)
		{
			chain->sources[i].next = next;
			chain->sources[i].next_input = next_input;
			return;
		}
	elog(ERROR, "graph node %d is nowhere in the chain", input->id);
}

void
se_chain_close(SeChain *chain)
{
	for (int i = 0; i < chain->nsources; i++)
		chain->sources[i].source->ops->close(chain->sources[i].source);
	for (int i = 0; i < chain->noperators; i++)
		if (chain->operators[i] != NULL)
			chain->operators[i]->ops->close(chain->operators[i]);
}
