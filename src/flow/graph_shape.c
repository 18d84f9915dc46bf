/*
 * flow/graph_shape.c
 *		The shape of a dataflow graph: may state that another database wrote be read here?
 *
 * State comes into another database, cluster or major version through pg_dump, a copied
 * database or pg_upgrade. The fingerprint (flow/graph.c) means nothing there: it is made
 * of OIDs and node text. The shape is made of what decides the bytes: nodes, windows,
 * methods of calls, lengths of keys, the machine; of OIDs only those that PostgreSQL
 * itself assigns for good. That the expressions are the same is the dump's promise.
 *
 * Values that hold OIDs inside are bytes of the database that wrote them, even if the
 * shape is the same; but those of an enum, which are saved with their labels.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "flow/graph.h"
#include "utils/lsyscache.h"

static void add_machine(StringInfo text);
static void add_window(StringInfo text, const SeWindow *window);
static void add_keys(StringInfo text, const SeNode *input, const List *keys, const List *equality);
static void add_calls(StringInfo text, const List *calls);
static void add_oid(StringInfo text, const char *what, Oid oid);
static bool is_stateless(const SeNode *node);
static bool is_enum(Oid type);
static bool type_holds_oids(Oid type);

uint64
se_graph_shape(const SeGraph *graph)
{
	StringInfoData text;
	ListCell   *cell;
	uint64		hash;

	initStringInfo(&text);
	add_machine(&text);
	foreach(cell, graph->nodes)
	{
		const SeNode *node = lfirst(cell);
		ListCell   *input;

		appendStringInfo(&text, "node %d", (int) node->kind);
		foreach(input, node->inputs)
			appendStringInfo(&text, " %d", ((SeNode *) lfirst(input))->id);
		appendStringInfoChar(&text, '\n');
		if (node->kind == SE_NODE_WINDOW_EXPAND)
			add_window(&text, &((const SeWindowExpandNode *) node)->window);
		else if (node->kind == SE_NODE_WINDOW_AGG)
		{
			const SeWindowAggNode *agg = (const SeWindowAggNode *) node;

			add_window(&text, &agg->window);
			appendStringInfo(&text, "sliced %d\n", agg->sliced);
			add_keys(&text, linitial(node->inputs), agg->keys, agg->key_eq);
		}
		else if (node->kind == SE_NODE_SESSION_AGG)
		{
			const SeSessionAggNode *agg = (const SeSessionAggNode *) node;

			appendStringInfo(&text, "session %d " INT64_FORMAT "\n", agg->gap_column >= 0, agg->gap);
			add_keys(&text, linitial(node->inputs), agg->keys, agg->key_eq);
		}
		else if (node->kind == SE_NODE_COUNT_AGG)
		{
			const SeCountAggNode *agg = (const SeCountAggNode *) node;

			appendStringInfo(&text, "count " INT64_FORMAT " " INT64_FORMAT " %d\n", agg->size, agg->slide,
							 agg->partial);
			add_keys(&text, linitial(node->inputs), agg->keys, agg->key_eq);
		}
		else if (node->kind == SE_NODE_GROUP_AGG)
		{
			const SeGroupAggNode *agg = (const SeGroupAggNode *) node;

			if (agg->ttl != SE_TTL_NONE)
				appendStringInfo(&text, "ttl %d\n", (int) agg->ttl);
			add_keys(&text, linitial(node->inputs), agg->keys, agg->key_eq);
		}
		add_calls(&text, se_graph_calls(node));
	}
	hash = hash_bytes_extended((const unsigned char *) text.data, text.len, 0);
	pfree(text.data);
	return hash;
}

/* State is in the machine's byte order; so is this. */
static void
add_machine(StringInfo text)
{
	uint32		order = 0x01020304;

	appendBinaryStringInfo(text, (const char *) &order, sizeof(order));
	appendStringInfo(text, "datum %d align %d\n", (int) sizeof(Datum), MAXIMUM_ALIGNOF);
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
add_keys(StringInfo text, const SeNode *input, const List *keys, const List *equality)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		Form_pg_attribute attr = TupleDescAttr(input->desc, lfirst_int(cell));

		appendStringInfo(text, "key %d %d", attr->attlen, attr->attbyval);
		add_oid(text, "type", attr->atttypid);
	}
	foreach(cell, equality)
		add_oid(text, "equality", lfirst_oid(cell));
}

static void
add_calls(StringInfo text, const List *calls)
{
	ListCell   *cell;

	foreach(cell, calls)
	{
		const SeAggCall *call = lfirst(cell);

		appendStringInfo(text, "call %d %d args %d filter %d order %d distinct %d",
						 (int) call->method, call->mergeable, list_length(call->args), call->filter >= 0,
						 list_length(call->aggref->aggorder), list_length(call->aggref->aggdistinct));
		add_oid(text, "function", call->aggref->aggfnoid);
		add_oid(text, "state", call->aggref->aggtranstype);
	}
}

/* An OID if it is the same everywhere. */
static void
add_oid(StringInfo text, const char *what, Oid oid)
{
	appendStringInfo(text, " %s %u\n", what, oid < FirstGenbkiObjectId ? oid : 0);
}

/* All others keep state. */
static bool
is_stateless(const SeNode *node)
{
	switch (node->kind)
	{
		case SE_NODE_LOG_SOURCE:
		case SE_NODE_CALC:
		case SE_NODE_WINDOW_EXPAND:
		case SE_NODE_TABLE_SINK:
			return true;
		default:
			return false;
	}
}

bool
se_graph_has_serial_state(const SeGraph *graph)
{
	ListCell   *cell;
	ListCell   *call;

	foreach(cell, graph->nodes)
		foreach(call, se_graph_calls(lfirst(cell)))
		if (((SeAggCall *) lfirst(call))->method == SE_AGG_SERIAL)
		return true;
	return false;
}

/*
 * Whole rows of an aggregate's input wait in its state while a firing goes on, so all
 * columns of the input count, keys and arguments among them.
 */
Oid
se_graph_type_with_oids(const SeGraph *graph)
{
	ListCell   *cell;
	ListCell   *call;

	foreach(cell, graph->nodes)
	{
		const SeNode *node = lfirst(cell);
		TupleDesc	desc;

		if (is_stateless(node))
			continue;
		desc = ((SeNode *) linitial(node->inputs))->desc;
		for (int i = 0; i < desc->natts; i++)
			if (!is_enum(TupleDescAttr(desc, i)->atttypid) && type_holds_oids(TupleDescAttr(desc, i)->atttypid))
				return TupleDescAttr(desc, i)->atttypid;
		foreach(call, se_graph_calls(node))
		{
			const SeAggCall *agg = lfirst(call);

			if (agg->method == SE_AGG_STATE && !is_enum(agg->aggref->aggtranstype) &&
				type_holds_oids(agg->aggref->aggtranstype))
				return agg->aggref->aggtranstype;
		}
	}
	return InvalidOid;
}

static bool
is_enum(Oid type)
{
	return type >= FirstNormalObjectId && get_typtype(getBaseType(type)) == TYPTYPE_ENUM;
}

static bool
type_holds_oids(Oid type)
{
	Oid			element;

	type = getBaseType(type);
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case ACLITEMOID:
			return true;
	}
	element = get_element_type(type);
	if (OidIsValid(element))
		return element >= FirstGenbkiObjectId || type_holds_oids(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_ENUM:
		case TYPTYPE_COMPOSITE:
		case TYPTYPE_PSEUDO:	/* record */
			return true;
		case TYPTYPE_RANGE:
			return type >= FirstGenbkiObjectId || type_holds_oids(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return type >= FirstGenbkiObjectId || type_holds_oids(get_multirange_range(type));
		default:
			return false;
	}
}
