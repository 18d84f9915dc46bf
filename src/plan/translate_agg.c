/*
 * plan/translate_agg.c
 *		Groups and aggregates: from GROUP BY to a window or group aggregate.
 *
 *		input --> [expand] --> [calc: conditions, keys, arguments] --> aggregate --> [calc: HAVING, targets]
 *
 * GROUP BY a window of the window function makes a *windowed* aggregate: groups are
 * final when the watermark passes their window, and its rows are inserted once, unless
 * the view's options ask for results that change (flow/emit.h). It is
 * *sliced* when a row needs to be counted in its slice of time only; then the window
 * columns exist only above the aggregate. Otherwise rows are first expanded, one for
 * each of their windows. Any other grouping is updated while the stream goes on.
 *
 * A window is known by its end; by its start where windows with different ends never
 * share one. Where they do (cumulate), GROUP BY window_start alone makes groups of all
 * windows with that start, final when the last of them is.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

typedef struct Grouping
{
	/* GROUP BY */
	bool		windowed;
	bool		by_start;		/* several windows, those with the same start */
	List	   *keys;			/* canonical; what only depends on the window is not among them */
	List	   *key_eq;			/* Oid */
	List	   *key_names;

	/* aggregate calls, equal ones once */
	List	   *aggrefs;		/* canonical */
	List	   *calls;			/* SeAggCall * */

	/* how */
	bool		sliced;
	bool		expanded;
	List	   *below;			/* conditions on rows */
	List	   *above;			/* conditions on windows, checked on finished groups */
} Grouping;

static void keep_groups_apart(const Grouping *grouping);
static void read_windows(SePlan *plan, Grouping *grouping);
static bool follows_from_window(SePlan *plan, const Grouping *grouping, void *expr);
static void read_keys(SePlan *plan, Grouping *grouping);
static void check_key(SePlan *plan, const Grouping *grouping, const SortGroupClause *clause, Node *key);
static bool read_calls(Node *node, Grouping *grouping);
static void split_conditions(SePlan *plan, Grouping *grouping);
static bool rows_need_windows(SePlan *plan, const Grouping *grouping);
static void check_rows_need_no_window(SePlan *plan, const Grouping *grouping);
static void refuse_row_window(SePlan *plan, const void *where) SE_NORETURN;
static bool calls_mergeable(const Grouping *grouping);
static SeStep *prepare_rows(SePlan *plan, Grouping *grouping, SeStep *input);
static SeStep *add_window_agg(SePlan *plan, Grouping *grouping, SeStep *input);
static SeStep *add_group_agg(SePlan *plan, Grouping *grouping, SeStep *input);
static SeStep *add_session_agg(SePlan *plan, Grouping *grouping, SeStep *input);
static SeChangeMode windowed_mode(SePlan *plan, const Grouping *grouping);
static Var *window_key(SePlan *plan, const Grouping *grouping);
static SeStep *add_count_agg(SePlan *plan, Grouping *grouping, SeStep *input);
static void windowed_columns(SePlan *plan, const Grouping *grouping, List **columns, List **names);
static void add_call_columns(const Grouping *grouping, List **columns, List **names);
static List *columns_of(const SeStep *input, List *exprs);
static void want(List **exprs, List **names, void *expr, const char *name);
static const char *expr_name(SePlan *plan, void *expr, const char *otherwise);

/* The aggregation of a grouped query, HAVING and targets on top of it included. */
SeStep *
se_translate_agg(SePlan *plan, SeStep *input)
{
	Grouping	grouping = {false};
	Query	   *query = plan->query;
	List	   *targets = NIL;
	List	   *names = NIL;
	SeStep	   *agg;
	ListCell   *lc;

	read_windows(plan, &grouping);
	read_keys(plan, &grouping);
	read_calls((Node *) query->targetList, &grouping);
	read_calls(query->havingQual, &grouping);
	foreach(lc, grouping.aggrefs)
		grouping.calls = lappend(grouping.calls,
								 se_agg_call_make(plan, lfirst(lc), foreach_current_index(lc)));
	split_conditions(plan, &grouping);
	if (plan->ttl != SE_TTL_NONE)
		keep_groups_apart(&grouping);

	input = prepare_rows(plan, &grouping, input);
	foreach(lc, grouping.calls)
		se_agg_call_bind(plan, lfirst(lc), input);
	if (plan->session)
		agg = add_session_agg(plan, &grouping, input);
	else if (plan->counted)
		agg = add_count_agg(plan, &grouping, input);
	else if (grouping.windowed)
	{
		agg = add_window_agg(plan, &grouping, input);
		((SeWindowAggNode *) agg->node)->conditions = se_step_conditions(plan, agg, grouping.above);
	}
	else
		agg = add_group_agg(plan, &grouping, input);

	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
		{
			targets = lappend(targets, target->expr);
			names = lappend(names, target->resname);
		}
	}
	return se_step_calc(plan, agg,
						list_concat(grouping.above, make_ands_implicit((Expr *) query->havingQual)),
						targets, names, false);
}

/*
 * Groups that come and go singly share nothing: what DISTINCT has met is kept with each.
 */
static void
keep_groups_apart(const Grouping *grouping)
{
	ListCell   *lc;

	foreach(lc, grouping->calls)
	{
		SeAggCall  *call = lfirst(lc);

		if (call->aggref->aggdistinct != NIL)
			call->method = SE_AGG_REPLAY;
	}
}

/* Do the groups belong to one window each, or to those with one start? */
static void
read_windows(SePlan *plan, Grouping *grouping)
{
	bool		start = false;
	bool		end = false;
	ListCell   *lc;

	foreach(lc, plan->group_clause)
	{
		Node	   *key = get_sortgroupclause_expr(lfirst(lc), plan->query->targetList);

		if (!IsA(key, Var) || ((Var *) key)->varno != plan->window_rti)
			continue;
		if (((Var *) key)->varattno == SE_WINDOW_START_ATTR)
			start = true;
		else
			end = true;
	}
	grouping->windowed = start || end;
	grouping->by_start = start && !end && !plan->session && !plan->counted && se_window_starts_repeat(&plan->window);
}

/* Is an expression decided by the window, or windows, of a group? */
static bool
follows_from_window(SePlan *plan, const Grouping *grouping, void *expr)
{
	ListCell   *lc;

	if (!grouping->windowed || !se_expr_uses_only(expr, plan->window_rti))
		return false;
	if (!grouping->by_start)
		return true;
	foreach(lc, pull_var_clause(expr, PVC_RECURSE_AGGREGATES))
	{
		if (lfirst_node(Var, lc)->varattno != SE_WINDOW_START_ATTR)
			return false;
	}
	return true;
}

/* Keys of a group beside its window. */
static void
read_keys(SePlan *plan, Grouping *grouping)
{
	ListCell   *lc;

	foreach(lc, plan->group_clause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *target = get_sortgroupclause_tle(clause, plan->query->targetList);
		Node	   *key = (Node *) target->expr;

		/* what the window decides is computed from it afterwards */
		if (follows_from_window(plan, grouping, key))
			continue;
		if (list_member(grouping->keys, key))
			continue;
		check_key(plan, grouping, clause, key);
		grouping->keys = lappend(grouping->keys, key);
		grouping->key_eq = lappend_oid(grouping->key_eq, clause->eqop);
		grouping->key_names = lappend(grouping->key_names,
									  (char *) (target->resname ? target->resname : expr_name(plan, key, "key")));
	}
}

/*
 * Groups are found by hashing, and rows of an updated result by a unique index. The
 * parser has seen to it that a key has a collation.
 */
static void
check_key(SePlan *plan, const Grouping *grouping, const SortGroupClause *clause, Node *key)
{
	Oid			type = exprType(key);

	if (!se_expr_is_hashable(clause))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("grouping by type %s is not supported in a continuous view", format_type_be(type)),
				 errdetail("Groups are found by hashing, and the type cannot be hashed."),
				 errhint("Group by the value cast to text."),
				 se_plan_key_position(plan, key)));
	if ((!grouping->windowed || se_emit_is_updating(&plan->emit)) &&
		!OidIsValid(lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("grouping by type %s is not supported in a continuous view that is updated", format_type_be(type)),
				 errdetail("The result needs a unique index, and the type cannot be indexed by btree."),
				 errhint("Group by the value cast to text."),
				 se_plan_key_position(plan, key)));
}

/* Collect aggregate calls. */
static bool
read_calls(Node *node, Grouping *grouping)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		grouping->aggrefs = list_append_unique(grouping->aggrefs, node);
		return false;
	}
	return expression_tree_walker(node, read_calls, grouping);
}

/* Decide how rows meet their windows, and where conditions on windows are checked. */
static void
split_conditions(SePlan *plan, Grouping *grouping)
{
	ListCell   *lc;

	foreach(lc, plan->quals)
	{
		if (follows_from_window(plan, grouping, lfirst(lc)))
			grouping->above = lappend(grouping->above, lfirst(lc));
		else
			grouping->below = lappend(grouping->below, lfirst(lc));
	}

	if (plan->session || plan->counted)
	{
		if (!grouping->windowed && plan->session)
			se_session_refuse_ungrouped(plan);
		if (!grouping->windowed)
			se_count_refuse_ungrouped(plan);
		check_rows_need_no_window(plan, grouping);
		foreach(lc, grouping->calls)
		{
			if (plan->session)
				se_session_adapt_call(lfirst(lc));
			else
				se_count_adapt_call(plan, lfirst(lc));
		}
		return;
	}

	grouping->sliced = grouping->windowed && !grouping->by_start && !rows_need_windows(plan, grouping) &&
		(plan->window.kind == SE_WINDOW_TUMBLE ||
		 (calls_mergeable(grouping) && !se_emit_is_updating(&plan->emit)));
	if (!grouping->sliced)
	{
		grouping->below = plan->quals;
		grouping->above = NIL;
	}

	/* a row is in exactly one tumbling window: nothing to multiply if nobody looks at it */
	grouping->expanded = plan->window_rti != 0 && !grouping->sliced &&
		(grouping->windowed || plan->window.kind != SE_WINDOW_TUMBLE || rows_need_windows(plan, grouping));
}

/* Does anything computed for each row look at its window? */
static bool
rows_need_windows(SePlan *plan, const Grouping *grouping)
{
	ListCell   *lc;

	if (plan->window_rti == 0)
		return false;
	if (se_expr_uses(grouping->keys, plan->window_rti))
		return true;
	foreach(lc, grouping->aggrefs)
	{
		if (se_expr_uses(se_agg_call_inputs(lfirst(lc)), plan->window_rti))
			return true;
	}
	return se_expr_uses(grouping->below, plan->window_rti);
}

/* The same, of sessions and count windows: refused. */
static void
check_rows_need_no_window(SePlan *plan, const Grouping *grouping)
{
	ListCell   *lc;

	foreach(lc, grouping->keys)
		if (se_expr_uses(lfirst(lc), plan->window_rti))
		refuse_row_window(plan, lfirst(lc));
	foreach(lc, grouping->aggrefs)
		if (se_expr_uses(se_agg_call_inputs(lfirst(lc)), plan->window_rti))
		refuse_row_window(plan, lfirst(lc));
	foreach(lc, grouping->below)
		if (se_expr_uses(lfirst(lc), plan->window_rti))
		refuse_row_window(plan, lfirst(lc));
}

static void
refuse_row_window(SePlan *plan, const void *where)
{
	if (plan->session)
		se_session_refuse_row_window(plan, where);
	se_count_refuse_row_window(plan, where);
}

static bool
calls_mergeable(const Grouping *grouping)
{
	ListCell   *lc;

	foreach(lc, grouping->calls)
	{
		if (!((SeAggCall *) lfirst(lc))->mergeable)
			return false;
	}
	return true;
}

/* Rows with everything the aggregate needs as columns. */
static SeStep *
prepare_rows(SePlan *plan, Grouping *grouping, SeStep *input)
{
	List	   *wanted = NIL;
	List	   *names = NIL;
	ListCell   *lc;
	ListCell   *name;
	bool		all_there = grouping->below == NIL;

	if (grouping->expanded)
		input = se_step_expand(plan, input);

	forboth(lc, grouping->keys, name, grouping->key_names)
		want(&wanted, &names, lfirst(lc), lfirst(name));
	if (grouping->sliced || plan->session)
		want(&wanted, &names, se_expr_time_var(plan), expr_name(plan, se_expr_time_var(plan), NULL));
	else if (grouping->windowed && !plan->counted)
	{
		want(&wanted, &names, se_expr_window_var(plan, SE_WINDOW_START_ATTR), "window_start");
		want(&wanted, &names, se_expr_window_var(plan, SE_WINDOW_END_ATTR), "window_end");
	}
	if (plan->ttl_time != NULL)
		want(&wanted, &names, plan->ttl_time, expr_name(plan, plan->ttl_time, NULL));
	if (plan->session && !IsA(plan->gap, Const))
		want(&wanted, &names, plan->gap, expr_name(plan, plan->gap, "gap"));
	foreach(lc, grouping->aggrefs)
	{
		Aggref	   *aggref = lfirst_node(Aggref, lc);
		ListCell   *argument;

		foreach(argument, se_agg_call_inputs(aggref))
			want(&wanted, &names, lfirst(argument),
				 expr_name(plan, lfirst(argument),
						   lfirst(argument) == (void *) aggref->aggfilter ? "filter" : "arg"));
	}

	/* the aggregate takes its columns from anywhere in the row */
	foreach(lc, wanted)
	{
		if (se_step_column(input, lfirst(lc)) < 0)
			all_there = false;
	}
	return all_there ? input : se_step_calc(plan, input, grouping->below, wanted, names, true);
}

static SeStep *
add_window_agg(SePlan *plan, Grouping *grouping, SeStep *input)
{
	SeWindowAggNode *node = palloc0(sizeof(SeWindowAggNode));
	List	   *columns;
	List	   *names;

	node->window = plan->window;
	node->sliced = grouping->sliced;
	node->by_start = grouping->by_start;
	node->time_column = node->start_column = node->end_column = -1;
	if (grouping->sliced)
		node->time_column = se_step_column(input, se_expr_time_var(plan));
	else
	{
		node->start_column = se_step_column(input, se_expr_window_var(plan, SE_WINDOW_START_ATTR));
		node->end_column = se_step_column(input, se_expr_window_var(plan, SE_WINDOW_END_ATTR));
	}
	node->keys = columns_of(input, grouping->keys);
	node->key_eq = grouping->key_eq;
	node->calls = grouping->calls;
	node->emit = plan->emit;

	windowed_columns(plan, grouping, &columns, &names);
	return se_step_add(plan, &node->node, SE_NODE_WINDOW_AGG, input->node,
					   windowed_mode(plan, grouping), columns, names);
}

/* Rows that change are found again by the keys of their group and its window. */
static SeChangeMode
windowed_mode(SePlan *plan, const Grouping *grouping)
{
	if (!se_emit_is_updating(&plan->emit))
		return SE_MODE_APPEND;
	plan->group_keys = lappend(list_copy(grouping->keys), window_key(plan, grouping));
	return SE_MODE_UPSERT;
}

/*
 * The column of the window that names it in the result: the end; or what says as much
 * and is in the SELECT list.
 */
static Var *
window_key(SePlan *plan, const Grouping *grouping)
{
	static const int attrs[] = {SE_WINDOW_END_ATTR, SE_WINDOW_TIME_ATTR, SE_WINDOW_START_ATTR};
	ListCell   *lc;

	for (int i = 0; i < lengthof(attrs); i++)
	{
		Var		   *var = se_expr_window_var(plan, attrs[i]);

		/* sessions of a key never end at the same time; one that is opened late may start where an older one did */
		if (attrs[i] == SE_WINDOW_START_ATTR &&
			(plan->session || (!grouping->by_start && se_window_starts_repeat(&plan->window))))
			continue;
		foreach(lc, plan->query->targetList)
		{
			TargetEntry *target = lfirst_node(TargetEntry, lc);

			if (!target->resjunk && equal(target->expr, var))
				return var;
		}
	}
	return se_expr_window_var(plan, grouping->by_start ? SE_WINDOW_START_ATTR : SE_WINDOW_END_ATTR);
}

static SeStep *
add_session_agg(SePlan *plan, Grouping *grouping, SeStep *input)
{
	SeSessionAggNode *node = palloc0(sizeof(SeSessionAggNode));
	List	   *columns;
	List	   *names;

	node->time_column = se_step_column(input, se_expr_time_var(plan));
	node->gap_column = -1;
	if (!se_session_gap_is_constant(plan, &node->gap))
		node->gap_column = se_step_column(input, plan->gap);
	node->keys = columns_of(input, grouping->keys);
	node->key_eq = grouping->key_eq;
	node->calls = grouping->calls;
	node->emit = plan->emit;
	windowed_columns(plan, grouping, &columns, &names);
	return se_step_add(plan, &node->node, SE_NODE_SESSION_AGG, input->node,
					   windowed_mode(plan, grouping), columns, names);
}

static SeStep *
add_count_agg(SePlan *plan, Grouping *grouping, SeStep *input)
{
	SeCountAggNode *node = palloc0(sizeof(SeCountAggNode));
	List	   *columns;
	List	   *names;

	node->size = plan->count_size;
	node->slide = plan->count_slide;
	node->partial = plan->emit_partial;
	node->keys = columns_of(input, grouping->keys);
	node->key_eq = grouping->key_eq;
	node->calls = grouping->calls;
	windowed_columns(plan, grouping, &columns, &names);
	return se_step_add(plan, &node->node, SE_NODE_COUNT_AGG, input->node, SE_MODE_APPEND, columns, names);
}

/* What an aggregate per window puts out: keys, the window, calls. */
static void
windowed_columns(SePlan *plan, const Grouping *grouping, List **columns, List **names)
{
	ListCell   *lc;

	*columns = list_copy(grouping->keys);
	*names = NIL;
	foreach(lc, grouping->key_names)
		* names = lappend(*names, se_step_unique_name(*names, lfirst(lc)));
	if (plan->counted)
		want(columns, names, se_expr_window_var(plan, SE_WINDOW_ID_ATTR), "window_id");
	else
	{
		want(columns, names, se_expr_window_var(plan, SE_WINDOW_START_ATTR), "window_start");
		want(columns, names, se_expr_window_var(plan, SE_WINDOW_END_ATTR), "window_end");
		want(columns, names, se_expr_window_var(plan, SE_WINDOW_TIME_ATTR), "window_time");
	}
	add_call_columns(grouping, columns, names);
}

static SeStep *
add_group_agg(SePlan *plan, Grouping *grouping, SeStep *input)
{
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));
	List	   *columns = list_copy(grouping->keys);
	List	   *names = NIL;
	ListCell   *lc;

	node->keys = columns_of(input, grouping->keys);
	node->key_eq = grouping->key_eq;
	node->calls = grouping->calls;
	node->emit = plan->emit;
	node->ttl = plan->ttl;
	node->ttl_usecs = plan->ttl_usecs;
	node->ttl_delete = plan->ttl_delete;
	node->time_column = plan->ttl == SE_TTL_NONE ? -1 : se_step_column(input, plan->ttl_time);
	foreach(lc, grouping->key_names)
		names = lappend(names, se_step_unique_name(names, lfirst(lc)));
	add_call_columns(grouping, &columns, &names);
	plan->group_keys = grouping->keys;
	return se_step_add(plan, &node->node, SE_NODE_GROUP_AGG, input->node, SE_MODE_UPSERT, columns, names);
}

/* One output column per call, named as the function. */
static void
add_call_columns(const Grouping *grouping, List **columns, List **names)
{
	ListCell   *lc;

	foreach(lc, grouping->aggrefs)
	{
		char	   *name = get_func_name(lfirst_node(Aggref, lc)->aggfnoid);

		*columns = lappend(*columns, lfirst(lc));
		*names = lappend(*names, se_step_unique_name(*names, name));
	}
}

static List *
columns_of(const SeStep *input, List *exprs)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		columns = lappend_int(columns, se_step_column(input, lfirst(lc)));
	return columns;
}

/* Add an expression to a list of columns unless it is there. */
static void
want(List **exprs, List **names, void *expr, const char *name)
{
	if (list_member(*exprs, expr))
		return;
	*exprs = lappend(*exprs, expr);
	*names = lappend(*names, se_step_unique_name(*names, name));
}

/* What a person would call an expression: its column's name. */
static const char *
expr_name(SePlan *plan, void *expr, const char *otherwise)
{
	return IsA(expr, Var) ? se_expr_column_name(plan, expr) : otherwise;
}
