/*
 * flow/graph.c
 *		The fingerprint of a dataflow graph: may stored state be loaded into it?
 *
 * State is stored by node id, entry and place of a call, without names. It fits a
 * graph that has the same nodes, windows, keys and calls over the same expressions.
 * What comes above the last aggregate only looks at state and is not part of it.
 *
 * Expressions are hashed as node text before planning: planning would put the body of
 * an SQL function into them, and a function that is replaced is the user's decision,
 * like one that cannot be looked into. Node text names objects by OID, so renames do
 * not count; it differs between major versions, and after a dump and restore, where a
 * job is dormant.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "flow/graph.h"

static void add_node(StringInfo text, const SeNode *node);
static void add_window(StringInfo text, const SeWindow *window);
static void add_ints(StringInfo text, const char *what, const List *ints);
static void add_key_types(StringInfo text, const SeNode *input, const List *keys, const List *key_eq);
static void add_calls(StringInfo text, const List *calls);
static void add_without_locations(StringInfo text, const char *node_text);

/* See graph.h. */
const SeNode *
se_graph_aggregate(const SeGraph *graph)
{
	ListCell   *lc;

	foreach(lc, graph->nodes)
	{
		const SeNode *node = lfirst(lc);

		switch (node->kind)
		{
			case SE_NODE_WINDOW_AGG:
			case SE_NODE_SESSION_AGG:
			case SE_NODE_COUNT_AGG:
			case SE_NODE_GROUP_AGG:
				return node;
			default:
				break;
		}
	}
	return NULL;
}

/* See graph.h. */
List *
se_graph_calls(const SeNode *node)
{
	switch (node->kind)
	{
		case SE_NODE_WINDOW_AGG:
			return ((const SeWindowAggNode *) node)->calls;
		case SE_NODE_SESSION_AGG:
			return ((const SeSessionAggNode *) node)->calls;
		case SE_NODE_COUNT_AGG:
			return ((const SeCountAggNode *) node)->calls;
		case SE_NODE_GROUP_AGG:
			return ((const SeGroupAggNode *) node)->calls;
		default:
			return NIL;
	}
}

/* See graph.h. */
bool
se_graph_is_windowed(const SeGraph *graph, int64 *lateness)
{
	ListCell   *lc;

	foreach(lc, graph->nodes)
	{
		const SeNode *node = lfirst(lc);

		if (node->kind == SE_NODE_WINDOW_AGG)
			*lateness = ((const SeWindowAggNode *) node)->emit.lateness;
		else if (node->kind == SE_NODE_SESSION_AGG)
			*lateness = ((const SeSessionAggNode *) node)->emit.lateness;
		else
			continue;
		return true;
	}
	return false;
}

/* See graph.h. */
uint64
se_graph_fingerprint(const SeGraph *graph, const char *expressions)
{
	StringInfoData text;
	ListCell   *lc;
	uint64		hash;

	initStringInfo(&text);
	foreach(lc, graph->nodes)
		add_node(&text, lfirst(lc));
	foreach(lc, graph->streams)
		appendStringInfo(&text, "stream %u\n", lfirst_oid(lc));
	add_without_locations(&text, expressions);

	hash = hash_bytes_extended((const unsigned char *) text.data, text.len, 0);
	pfree(text.data);
	return hash;
}

static void
add_node(StringInfo text, const SeNode *node)
{
	ListCell   *lc;

	appendStringInfo(text, "node %d id %d inputs", (int) node->kind, node->id);
	foreach(lc, node->inputs)
		appendStringInfo(text, " %d", ((SeNode *) lfirst(lc))->id);
	appendStringInfoChar(text, '\n');

	switch (node->kind)
	{
		case SE_NODE_WINDOW_EXPAND:
			add_window(text, &((const SeWindowExpandNode *) node)->window);
			break;
		case SE_NODE_WINDOW_AGG:
			{
				const SeWindowAggNode *agg = (const SeWindowAggNode *) node;

				add_window(text, &agg->window);
				appendStringInfo(text, "sliced %d time %d start %d end %d\n", agg->sliced,
								 agg->time_column, agg->start_column, agg->end_column);
				if (agg->by_start)
					appendStringInfoString(text, "by start\n");
				add_key_types(text, linitial(node->inputs), agg->keys, agg->key_eq);
				add_calls(text, agg->calls);
				break;
			}
		case SE_NODE_SESSION_AGG:
			{
				const SeSessionAggNode *agg = (const SeSessionAggNode *) node;

				appendStringInfo(text, "session time %d gap %d " INT64_FORMAT "\n", agg->time_column,
								 agg->gap_column, agg->gap);
				add_key_types(text, linitial(node->inputs), agg->keys, agg->key_eq);
				add_calls(text, agg->calls);
				break;
			}
		case SE_NODE_COUNT_AGG:
			{
				const SeCountAggNode *agg = (const SeCountAggNode *) node;

				appendStringInfo(text, "count " INT64_FORMAT " " INT64_FORMAT " partial %d\n", agg->size,
								 agg->slide, agg->partial);
				add_key_types(text, linitial(node->inputs), agg->keys, agg->key_eq);
				add_calls(text, agg->calls);
				break;
			}
		case SE_NODE_GROUP_AGG:
			{
				const SeGroupAggNode *agg = (const SeGroupAggNode *) node;

				if (agg->ttl != SE_TTL_NONE)
					appendStringInfo(text, "ttl %d time %d\n", (int) agg->ttl, agg->time_column);
				add_key_types(text, linitial(node->inputs), agg->keys, agg->key_eq);
				add_calls(text, agg->calls);
				break;
			}
		default:
			break;
	}
}

static void
add_window(StringInfo text, const SeWindow *window)
{
	appendStringInfo(text, "window %d " INT64_FORMAT " " INT64_FORMAT " " INT64_FORMAT "\n",
					 (int) window->kind, window->size, window->slide, window->shift);
	if (window->calendar.zone != NULL)
		appendStringInfo(text, "calendar %s months %d shift " INT64_FORMAT "\n",
						 pg_get_timezone_name(window->calendar.zone), window->calendar.months, window->calendar.shift);
}

static void
add_ints(StringInfo text, const char *what, const List *ints)
{
	ListCell   *lc;

	appendStringInfoString(text, what);
	foreach(lc, ints)
		appendStringInfo(text, " %d", lfirst_int(lc));
	appendStringInfoChar(text, '\n');
}

/* Keys are stored as values, so their types count; their equality decides the groups. */
static void
add_key_types(StringInfo text, const SeNode *input, const List *keys, const List *key_eq)
{
	ListCell   *lc;

	add_ints(text, "keys", keys);
	foreach(lc, keys)
	{
		Form_pg_attribute attr = TupleDescAttr(input->desc, lfirst_int(lc));

		appendStringInfo(text, "type %u collation %u\n", attr->atttypid, attr->attcollation);
	}
	foreach(lc, key_eq)
		appendStringInfo(text, "equality %u\n", lfirst_oid(lc));
}

static void
add_calls(StringInfo text, const List *calls)
{
	ListCell   *lc;

	foreach(lc, calls)
	{
		const SeAggCall *call = lfirst(lc);

		appendStringInfo(text, "call method %d mergeable %d filter %d ",
						 (int) call->method, call->mergeable, call->filter);
		add_ints(text, "args", call->args);
		add_without_locations(text, nodeToString(call->aggref));
		appendStringInfoChar(text, '\n');
	}
}

/*
 * Node text with the positions in the source text left out: a definition read back
 * from its view has others. A value cannot be mistaken for a field: values are printed
 * as numbers, and blanks and colons inside names are escaped.
 */
static void
add_without_locations(StringInfo text, const char *node_text)
{
	static const char field[] = ":location ";
	const char *here = node_text;
	const char *next;

	while ((next = strstr(here, field)) != NULL)
	{
		appendBinaryStringInfo(text, here, next - here);
		here = next + strlen(field);
		here += strspn(here, "-0123456789");
	}
	appendStringInfoString(text, here);
}
