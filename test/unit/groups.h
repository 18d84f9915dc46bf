/*
 * test/unit/groups.h
 *		For tests of groups without windows: their node, and what a model of them begins with.
 */
#ifndef SE_TEST_GROUPS_H
#define SE_TEST_GROUPS_H

#include "model.h"

#include "operators/operators.h"

typedef struct Groups
{
	Model		model;			/* first */
	SeGroupAggNode *node;
	Table		now;			/* a row for each group */
	Table		shown;			/* what the result has of them */
	int64		clock;
} Groups;

static inline Groups *
new_groups(const Definition *definition, bool keys, int nsteps)
{
	Groups	   *groups = palloc0(sizeof(Groups));
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));

	se_model_init(&groups->model, definition, &node->node, SE_NODE_GROUP_AGG, keys ? 0 : -1, nsteps);
	groups->node = node;
	groups->model.present = !keys;
	node->keys = keys ? list_make1_int(0) : NIL;
	node->key_eq = keys ? list_make1_oid(96) : NIL;
	node->calls = se_model_calls();
	return groups;
}

static inline void
groups_forget(Model *model)
{
	Groups	   *groups = (Groups *) model;

	groups->now.n = groups->shown.n = 0;
	groups->clock = SE_TIME_MIN;
	if (model->present)
		se_model_put(&groups->shown, 0, &se_model_nothing);
}

/* The group of a row with the row added. */
static inline Result *
groups_add(Groups *groups, const Step *row)
{
	Result		it = se_model_result(row, 0, 0);
	int			at;

	if (groups->model.present)
		it.key = 0;
	at = se_model_find(&groups->now, &it, se_model_same_key);
	if (at == groups->now.n)
		se_model_put(&groups->now, at, &it);
	else
		se_model_add(&groups->now.rows[at], &it);
	return &groups->now.rows[at];
}

static inline void
groups_show_one(Groups *groups, const Result *group)
{
	se_model_put(&groups->shown, se_model_find(&groups->shown, group, se_model_same_key), group);
}

static inline void
groups_show_all(Groups *groups)
{
	for (int i = 0; i < groups->now.n; i++)
		groups_show_one(groups, &groups->now.rows[i]);
}

static inline void
groups_show(Model *model, Table *want)
{
	Groups	   *groups = (Groups *) model;

	for (int i = 0; i < groups->shown.n; i++)
		se_model_put(want, i, &groups->shown.rows[i]);
	model->entries = Max(groups->now.n, (int) model->present);
}

#endif							/* SE_TEST_GROUPS_H */
