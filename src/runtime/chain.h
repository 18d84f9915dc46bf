/*
 * runtime/chain.h
 *		A graph turned into sources and wired operators.
 */
#ifndef SE_CHAIN_H
#define SE_CHAIN_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "source/source.h"

typedef struct SeChainSource
{
	SeSource   *source;
	SeOperator *next;			/* where its rows go */
	int			next_input;
	SeBatch    *batch;			/* filled by every poll */
	SeTime		watermark;		/* last one passed on */
	bool		idle;			/* as last passed on */
	bool		ended;
} SeChainSource;

typedef struct SeChain
{
	const SeGraph *graph;
	SeOperator **operators;		/* by node id; NULL where a source stands */
	int			noperators;
	SeOperator *sink;
	SeChainSource *sources;
	int			nsources;
} SeChain;

/* Make sources and operators in env->memory and wire them. Needs a round. */
extern SeChain *se_chain_new(const SeGraph *graph, SeOperatorEnv *env);

/* Release what is not memory. Cannot fail; may be called twice. */
extern void se_chain_close(SeChain *chain);

#endif							/* SE_CHAIN_H */
