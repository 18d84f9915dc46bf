/*
 * plan/plan.h
 *		From the analysed Query to the dataflow graph, or to a refusal.
 */
#ifndef SE_PLAN_H
#define SE_PLAN_H

#include "base/se.h"
#include "flow/graph.h"
#include "nodes/parsenodes.h"

/*
 * Translate. `query` is an analysed, rewritten SELECT (not scribbled on); `source_text`
 * gives error positions, may be NULL; `result_table` may be InvalidOid (explain, CREATE
 * before the table exists); `options` are those of the view (DefElem: name without "stream_engine.",
 * String), as meta/jobs.h has them. What is not supported raises feature_not_supported (or the
 * errcode that fits) with the position in the query and a hint what to do instead.
 */
extern SeGraph *se_plan_query(Query *query, const char *source_text, Oid result_table, List *options);

/* One result column per non-junk target: names of columns that identify a row (NIL = append). */
extern List *se_plan_key_names(const SeGraph *graph, Query *query);

/* Graph of an existing view, from its definition view's rule. Needs a snapshot. */
extern SeGraph *se_plan_definition(Oid definition, Oid result_table, List *options);

/*
 * ERROR (42501) unless who reads may: the current user what an analysed SELECT names,
 * the owner of each plain view in FROM (with security_invoker the current user) what
 * the view reads.
 */
extern void se_plan_check_permissions(Query *query);

/* The same for the query of a definition view, in whose FROM its owner reads. */
extern void se_plan_check_definition(Oid definition);

/*
 * What planning a definition will open, Oid: itself, and the relations that it reads,
 * also through plain views. A view is locked only while it is looked at. Needs a
 * snapshot; NIL if the definition is gone.
 */
extern List *se_plan_relations_of(Oid definition);

/*
 * plan/privileges.c: ERROR (42501) unless the current user may call the functions and
 * aggregates of a graph. Needs a transaction.
 */
extern void se_plan_check_functions(const SeGraph *graph);

#endif							/* SE_PLAN_H */
