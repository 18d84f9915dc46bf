/*
 * flow/graph.h
 *		The dataflow graph: what plan/ makes of a query and runtime/ turns into operators.
 *
 * Nodes are read-only once made. Columns are numbered from 0; expressions refer to
 * column c of the node's input as Var(varno = 1, varattno = c + 1), ready for
 * ExecInitExpr with the input row as scan tuple. Node ids are stable for a query (in
 * depth-first order, sink last) and name the state records, so a changed query must
 * not load old state: the graph's fingerprint says so.
 */
#ifndef SE_GRAPH_H
#define SE_GRAPH_H

#include "base/se.h"
#include "access/tupdesc.h"
#include "flow/emit.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "time/window.h"

typedef enum SeNodeKind
{
	SE_NODE_LOG_SOURCE = 1,
	SE_NODE_CALC,
	SE_NODE_WINDOW_EXPAND,
	SE_NODE_WINDOW_AGG,
	SE_NODE_GROUP_AGG,
	SE_NODE_TABLE_SINK,
	SE_NODE_SESSION_AGG,
	SE_NODE_COUNT_AGG
} SeNodeKind;

/* How a node's output changes: only +I, or also updates of rows with a key. */
typedef enum SeChangeMode
{
	SE_MODE_APPEND = 1,
	SE_MODE_UPSERT
} SeChangeMode;

/* The base of every node: first member. */
typedef struct SeNode
{
	SeNodeKind	kind;
	int			id;
	List	   *inputs;			/* SeNode *, in input order */
	TupleDesc	desc;			/* output columns; NULL for a sink */
	SeChangeMode mode;			/* of the output */
} SeNode;

/* A tick_interval: as often as the server allows (stream_engine.tick_interval). */
#define SE_TICK_FINEST	INT64CONST(1)

/* Column sources that are not attributes of the stream. */
#define SE_COLUMN_PROCTIME	(-100)	/* commit time of the row, running maximum */
#define SE_COLUMN_WATERMARK	(-101)	/* the stream's watermark before the row, in the event time's units; NULL = none
									 * yet */
#define SE_COLUMN_PASSED	(-102)	/* boolean: the row never moves the watermark */

typedef struct SeLogSourceNode
{
	SeNode		node;
	Oid			stream;			/* the foreign table */
	AttrNumber *attnos;			/* one per output column: attribute number or SE_COLUMN_… */
	AttrNumber	event_time;		/* attribute number of the event time, 0 = none */
	Oid			event_time_type;	/* TIMESTAMPOID or TIMESTAMPTZOID */
	bool		by_proctime;	/* rows are stamped by processing time: it is their time and their watermark */
} SeLogSourceNode;

/* Filter, then project. */
typedef struct SeCalcNode
{
	SeNode		node;
	List	   *quals;			/* Expr *, implicit AND, planned (expression_planner) */
	List	   *targets;		/* Expr *, one per output column, planned */
} SeCalcNode;

/* One output row per window of the row: input columns, then start, end, time. */
typedef struct SeWindowExpandNode
{
	SeNode		node;
	SeWindow	window;
	int			time_column;
} SeWindowExpandNode;

/* How an aggregate call is computed. */
typedef enum SeAggMethod
{
	SE_AGG_NATIVE = 1,			/* count, sum, avg, min, max over common types */
	SE_AGG_STATE,				/* transition state kept: by value or flat */
	SE_AGG_SERIAL,				/* internal state, with serial and deserial functions */
	SE_AGG_REPLAY				/* arguments kept, transition and final run at emission */
} SeAggMethod;

/* One aggregate call; equal calls share one. */
typedef struct SeAggCall
{
	Aggref	   *aggref;			/* args as Vars over the input columns; for AggGetAggref */
	List	   *args;			/* int: input column of each (direct, then aggregated) argument */
	int			filter;			/* input column of the FILTER boolean, -1 = none */
	SeAggMethod method;			/* DISTINCT is NATIVE or REPLAY only (plan/agg_method.c) */
	bool		mergeable;		/* states of slices can be combined */
} SeAggCall;

/*
 * The end of windows at which groups are emitted. Output columns: keys…,
 * window_start, window_end, window_time (= end - 1 µs), one per call.
 */
typedef struct SeWindowAggNode
{
	SeNode		node;
	SeWindow	window;
	bool		sliced;			/* true: by time_column into slices; false: rows carry their window */
	int			time_column;	/* sliced */
	int			start_column;	/* not sliced: input columns of the row's window */
	int			end_column;
	bool		by_start;		/* not sliced: a group has all windows with its start, until the last ends */
	List	   *keys;			/* int: input columns, window columns not among them */
	List	   *key_eq;			/* Oid: equality operator of each key */
	List	   *calls;			/* SeAggCall * */
	List	   *conditions;		/* sliced: Expr *, planned, over the output: windows that fail are left out above */
	SeEmit		emit;			/* when results come; they change if se_emit_is_updating */
} SeWindowAggNode;

/*
 * Rows of a key that are at most a gap apart, emitted when the watermark has passed the
 * session's end. Output columns as of SeWindowAggNode.
 */
typedef struct SeSessionAggNode
{
	SeNode		node;
	int			time_column;
	int			gap_column;		/* an interval of the row, -1 = `gap` for all */
	int64		gap;			/* µs */
	List	   *keys;			/* int: input columns, window columns not among them */
	List	   *key_eq;			/* Oid */
	List	   *calls;			/* SeAggCall *: mergeable, or replayed */
	SeEmit		emit;
} SeSessionAggNode;

/*
 * The rows of a key in windows of so many, by their numbers in order of arrival, from 0: window
 * i has those from i * slide to i * slide + size - 1, and is emitted when it is full. With
 * `partial` window i has those of the `size` rows before row (i + 1) * slide that there are, and is
 * emitted when the last of them has come, or, the first such one, when the input ends. Output columns: keys…, window_id, one per call.
 */
typedef struct SeCountAggNode
{
	SeNode		node;
	int64		size;
	int64		slide;
	bool		partial;
	List	   *keys;			/* int: input columns */
	List	   *key_eq;			/* Oid */
	List	   *calls;			/* SeAggCall *: none SERIAL or distinct; mergeable or replayed if windows overlap */
} SeCountAggNode;

/* By which clock groups are forgotten that nothing was written to for a while. */
typedef enum SeTtl
{
	SE_TTL_NONE = 0,			/* they never are */
	SE_TTL_EVENT,				/* event times of rows, and the watermark */
	SE_TTL_PROCESSING			/* proctime() of rows, and ticks */
} SeTtl;

/* One row per group, kept up to date; output: keys, aggregates. */
typedef struct SeGroupAggNode
{
	SeNode		node;
	List	   *keys;			/* int: input columns; NIL = one row from the start on */
	List	   *key_eq;			/* Oid */
	List	   *calls;			/* SeAggCall * */
	SeEmit		emit;			/* no early, no every: with each commit */
	SeTtl		ttl;
	int64		ttl_usecs;		/* since the last write */
	bool		ttl_delete;		/* the row of a forgotten group is deleted */
	int			time_column;	/* ttl: event time, or proctime(), of a row */
} SeGroupAggNode;

typedef struct SeTableSinkNode
{
	SeNode		node;
	Oid			table;			/* InvalidOid while only explaining */
	List	   *key_columns;	/* int: input columns that identify a row; NIL = append only */
	int			retention_column;	/* the end of a row's window; -1 = rows are kept for ever */
	int64		retention;		/* µs: it is deleted so long after its window became final */
} SeTableSinkNode;

typedef struct SeGraph
{
	List	   *nodes;			/* SeNode *, inputs before users; index = id */
	SeNode	   *sink;
	uint64		fingerprint;	/* of everything that decides the meaning of state */
	uint64		shape;			/* the same without OIDs of this database and texts of this version */
	int64		tick_interval;	/* µs: timer() is needed so often; 0 = never */
	List	   *streams;		/* Oid */
	List	   *views;			/* Oid: plain views whose queries are part of it */
	const char *late_output;	/* for explain: the options of these names, NULL = not given */
	const char *on_error;
} SeGraph;

/* The one node that remembers rows: the aggregate; NULL if there is none. */
extern const SeNode *se_graph_aggregate(const SeGraph *graph);

/* The aggregate calls (SeAggCall *) of a node; NIL if it is no aggregate. */
extern List *se_graph_calls(const SeNode *node);

/* Do groups of the graph have windows, which become final? And how long after their end, µs. */
extern bool se_graph_is_windowed(const SeGraph *graph, int64 *lateness);

/*
 * A hash of everything that decides the meaning of state: nodes, ids, windows, keys,
 * aggregate calls, and `expressions`, the text (nodeToString) of conditions, keys and
 * arguments below an aggregate, as they were before planning. Equal for equal queries
 * of one major version, whatever is renamed (flow/graph.c).
 */
extern uint64 se_graph_fingerprint(const SeGraph *graph, const char *expressions);

/*
 * A hash of what decides the *bytes* of state: equal for the same definition in any
 * database, cluster and major version, unless it is planned differently there or the
 * machine has other integers. Whether expressions mean the same it does not say.
 */
extern uint64 se_graph_shape(const SeGraph *graph);

/*
 * The first type whose saved values hold OIDs of this database among those that state of
 * the graph is made of (composites, arrays of enums …; enums themselves are saved with their
 * labels); InvalidOid if there is none.
 */
extern Oid	se_graph_type_with_oids(const SeGraph *graph);

/* Does the graph keep what PostgreSQL's serial functions write, whose bytes a major version may change? */
extern bool se_graph_has_serial_state(const SeGraph *graph);

/* The graph as indented text, for explain and golden tests (flow/graph_print.c). */
typedef void (*SeGraphAnnotate) (StringInfo out, const SeNode *node, void *arg);
extern char *se_graph_print(const SeGraph *graph, SeGraphAnnotate annotate, void *arg);

#endif							/* SE_GRAPH_H */
