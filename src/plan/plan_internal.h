/*
 * plan/plan_internal.h
 *		What the files of plan/ share: the query being planned and the steps made of it.
 *
 * Words: a *canonical* expression is one of the query's, with the Vars of exactly two
 * range table entries left in it: the stream's (attributes, or SE_COLUMN_PROCTIME
 * where proctime() stood, SE_COLUMN_WATERMARK for current_watermark()) and the window function's (1 start, 2 end, 3 time). A *step*
 * is a graph node together with the canonical expression each of its columns holds;
 * an expression moves on top of a step by replacing what a column already holds.
 *
 * Everything here runs in the current memory context, in any process with a snapshot.
 */
#ifndef SE_PLAN_INTERNAL_H
#define SE_PLAN_INTERNAL_H

#include "base/se.h"
#include "flow/graph.h"
#include "log/stream.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"

/* Columns of a window function's row; count_window() has the last alone. */
#define SE_WINDOW_START_ATTR	1
#define SE_WINDOW_END_ATTR		2
#define SE_WINDOW_TIME_ATTR		3
#define SE_WINDOW_ID_ATTR		1

typedef struct SePlan
{
	/* the query: a private copy */
	Query	   *query;
	ParseState *pstate;			/* carries the source text, for error positions */
	List	   *options;		/* DefElem: those of the view */

	/* FROM (from_clause.c) */
	List	   *views;			/* Oid: plain views merged into the query, inner ones first */
	int			stream_rti;
	SeStreamInfo *stream;
	int			window_rti;		/* 0 = no window function */
	bool		by_proctime;	/* its time is proctime(), not the stream's event time */
	SeWindow	window;
	bool		session;		/* the window function is session(); `window` says nothing */
	Expr	   *gap;			/* canonical: of a session, an interval */
	bool		counted;		/* the window function is count_window(); its row is window_id alone */
	int64		count_size;
	int64		count_slide;
	bool		emit_partial;	/* the option of this name */
	List	   *quals;			/* canonical: WHERE and ON, implicit AND */

	/* shape */
	bool		grouped;		/* groups, aggregates, HAVING or DISTINCT */
	List	   *group_clause;	/* SortGroupClause: GROUP BY, or DISTINCT */

	SeEmit		emit;			/* when results come (emit_options.c) */
	SeTtl		ttl;			/* when groups are forgotten (ttl_options.c) */
	int64		ttl_usecs;
	bool		ttl_delete;
	Var		   *ttl_time;		/* canonical: the time of a row */
	int64		ttl_tick;		/* SeGraph.tick_interval; 0 = by event time */

	List	   *group_keys;		/* canonical: what identifies a row of an updated result */

	/* the graph so far */
	List	   *nodes;
	StringInfo	identity;		/* text of the expressions that decide the meaning of state */
} SePlan;

typedef struct SeStep
{
	SeNode	   *node;
	List	   *columns;		/* canonical Expr *, one per column of node->desc */
} SeStep;

/* position.c: cursor positions for ereport; 0 where the source text is not known */
extern int	se_plan_position(SePlan *plan, int location);
extern int	se_plan_node_position(SePlan *plan, const void *node);
extern int	se_plan_word_position(SePlan *plan, const char *keyword, const char *word);
extern int	se_plan_rte_position(SePlan *plan, int rti);
extern int	se_plan_key_position(SePlan *plan, const void *key);

/* supported.c: what cannot be continuous at all, whatever its FROM is */
extern void se_supported_check_clauses(SePlan *plan);
extern void se_supported_check_expression(SePlan *plan, Node *expression);
extern void se_supported_check_targets(SePlan *plan);

/* functions.c: which functions may be called where, and which are ours */
extern const char *se_functions_our_name(Oid function);
extern const char *se_functions_window_name(Oid function);
extern void se_functions_check(SePlan *plan);

/* plain_views.c: views of FROM replaced by their queries */
extern void se_plain_views_merge(SePlan *plan);
extern void se_plain_views_identify(SePlan *plan);
extern void se_plain_views_point(void *arg);	/* ErrorContextCallback of an SePlan */

/* from_clause.c, window_call.c */
extern void se_from_clause_read(SePlan *plan);
extern void se_window_call_read(SePlan *plan, int rti);

/* session_call.c: session(); and what it cannot be without */
extern void se_session_call_read(SePlan *plan, const FuncExpr *call, List *arguments);
extern bool se_session_gap_is_constant(const SePlan *plan, int64 *usecs);
extern void se_session_refuse_ungrouped(SePlan *plan) SE_NORETURN;
extern void se_session_refuse_row_window(SePlan *plan, const void *where) SE_NORETURN;
extern void se_session_adapt_call(SeAggCall *call);

/* count_call.c: count_window(); and what it cannot be without, or with */
extern void se_count_call_read(SePlan *plan, const FuncExpr *call, List *arguments);
extern void se_count_check_option(const SePlan *plan);
extern void se_count_check_emit(const SePlan *plan);
extern void se_count_refuse_ungrouped(SePlan *plan) SE_NORETURN;
extern void se_count_refuse_row_window(SePlan *plan, const void *where) SE_NORETURN;
extern void se_count_adapt_call(const SePlan *plan, SeAggCall *call);

/* emit_options.c: the options that say when results come, against the query's shape */
extern void se_emit_options_read(SePlan *plan);
extern int64 se_emit_options_tick(const SePlan *plan);
extern const char *se_plan_option(const SePlan *plan, const char *name);
extern bool se_plan_groups_by_window(const SePlan *plan);

/* ttl_options.c: the options that say when groups are forgotten */
extern void se_ttl_options_read(SePlan *plan);

/* retention_option.c: the option that says when rows of the result are deleted */
extern void se_retention_read(SePlan *plan, SeTableSinkNode *sink);

/* expressions.c */
extern void se_expressions_canonicalise(SePlan *plan);
extern Expr *se_expr_over(SePlan *plan, Expr *expr, const SeStep *step);
extern Expr *se_expr_planned(Expr *expr);
extern List *se_expr_planned_quals(List *quals);
extern bool se_expr_uses(const void *expr, int rti);
extern bool se_expr_uses_only(const void *expr, int rti);
extern List *se_expr_stream_attnos(SePlan *plan);
extern Var *se_expr_window_var(SePlan *plan, int attr);
extern Var *se_expr_time_var(SePlan *plan);
extern Var *se_expr_event_time_var(SePlan *plan);
extern Var *se_expr_proctime_var(SePlan *plan);
extern bool se_expr_is_hashable(const SortGroupClause *clause);
extern const char *se_expr_column_name(SePlan *plan, const Var *column);

/* steps.c: making nodes */
extern SeStep *se_step_source(SePlan *plan);
extern SeStep *se_step_expand(SePlan *plan, SeStep *input);
extern List *se_step_conditions(SePlan *plan, const SeStep *input, List *quals);
extern SeStep *se_step_calc(SePlan *plan, SeStep *input, List *quals, List *targets, List *names,
							bool stateful);
extern SeStep *se_step_add(SePlan *plan, SeNode *node, SeNodeKind kind, SeNode *input,
						   SeChangeMode mode, List *columns, List *names);
extern int	se_step_column(const SeStep *step, const void *expr);
extern char *se_step_unique_name(List *names, const char *wanted);

/* translate_agg.c, agg_method.c */
extern SeStep *se_translate_agg(SePlan *plan, SeStep *input);
extern SeAggCall *se_agg_call_make(SePlan *plan, const Aggref *aggref, int number);
extern void se_agg_call_bind(SePlan *plan, SeAggCall *call, const SeStep *input);
extern List *se_agg_call_inputs(const Aggref *aggref);

#endif							/* SE_PLAN_INTERNAL_H */
