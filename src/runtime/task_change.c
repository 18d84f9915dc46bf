/*
 * runtime/task_change.c
 *		Notices that something the chain was made of has changed.
 *
 * Invalidation messages only say "look again", and most mean nothing to us (a vacuum,
 * a new statistic). So the worker keeps a fingerprint of the relations it was built
 * on, as the catalogs describe them, and compares it when a message named one of them
 * or a function its expressions use. A difference ends the worker after a commit, and
 * the successor builds everything anew.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "base/se.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "log/stream.h"
#include "meta/jobs.h"
#include "meta/options.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "plan/plan.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Of what there is a fingerprint. */
typedef struct Watched
{
	List	   *relations;		/* Oid: result, definition, streams, plain views */
	List	   *views;			/* Oid: the plain views */
	List	   *functions;		/* Oid: the users' functions in expressions */
	List	   *domains;		/* Oid: domains whose constraints expressions check */
} Watched;

static Watched watched;
static List *function_hashes = NIL; /* int: syscache hash values of watched.functions */
static bool uses_text_search = false;
static uint64 option_changes = 0;	/* of the slot, when we last looked */
static bool look_again = false;
static bool outdated = false;
static uint64 seen = 0;			/* fingerprint the chain was built on */

static void register_callbacks(void);
static void relation_changed(Datum arg, Oid relation);
static void function_changed(Datum arg, int cacheid, uint32 hash);
static void stream_changed(Datum arg, int cacheid, uint32 hash);
static void constraint_changed(Datum arg, int cacheid, uint32 hash);
static void text_search_changed(Datum arg, int cacheid, uint32 hash);
static void collect_functions(const SeGraph *graph, Oid definition);
static void collect_watermark(Oid oid);
static bool walk_functions(Node *node, void *context);
static Query *query_of_view(Oid view);
static uint64 fingerprint(const SeJobMeta *meta, const Watched *of);

void
se_task_watch_begin(SeTask *task, const SeJobMeta *meta)
{
	MemoryContext old = MemoryContextSwitchTo(task->memory);
	ListCell   *cell;

	register_callbacks();
	watched.relations = lappend_oid(se_plan_relations_of(meta->definition), task->job);
	foreach(cell, watched.relations)
	{
		Query	   *query = query_of_view(lfirst_oid(cell));

		if (query == NULL)
			continue;
		watched.views = lappend_oid(watched.views, lfirst_oid(cell));
		(void) walk_functions((Node *) query, NULL);
	}
	MemoryContextSwitchTo(old);
	option_changes = pg_atomic_read_u64(&task->slot->option_changes);
	seen = fingerprint(meta, &watched);
}

/*
 * From what the definition names to what the chain has been made of. All this takes locks, so an ALTER that waited for
 * the setup may come through at any line of it. What the new fingerprint knows of it the old one, taken once more after
 * it, knows, too; what neither does is told by a message.
 */
void
se_task_watch(SeTask *task)
{
	Watched		before = watched;
	uint64		seen_before = seen;
	MemoryContext old;
	SeJobMeta  *meta;

	se_worker_begin_own();
	meta = se_jobs_get(task->job);
	old = MemoryContextSwitchTo(task->memory);
	watched.relations = lappend_oid(list_copy(task->chain->graph->streams), task->job);
	watched.views = list_copy(task->chain->graph->views);
	watched.relations = list_concat(watched.relations, watched.views);
	if (meta != NULL)
		watched.relations = lappend_oid(watched.relations, meta->definition);
	watched.functions = list_copy(before.functions);
	watched.domains = list_copy(before.domains);
	collect_functions(task->chain->graph, meta != NULL ? meta->definition : InvalidOid);
	MemoryContextSwitchTo(old);

	seen = fingerprint(meta, &watched);
	outdated |= fingerprint(meta, &before) != seen_before;
	se_worker_commit_own();
}

static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, function_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNTABLEREL, stream_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(CONSTROID, constraint_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, constraint_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TSCONFIGOID, text_search_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TSCONFIGMAP, text_search_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TSDICTOID, text_search_changed, (Datum) 0);
}

/* The memory of the task goes, and what is remembered in it; a new setup begins. */
void
se_task_watch_end(void)
{
	memset(&watched, 0, sizeof(watched));
	function_hashes = NIL;
	uses_text_search = look_again = outdated = false;
	seen = 0;
}

/*
 * In a transaction, whose begin has taken in the messages. Once true it stays so.
 *
 * Messages are sent a moment after their transaction is visible, and after its commit has
 * woken anybody: that options were changed is told in the slot, or a worker that has
 * nothing else to do would look too early and then sleep.
 */
bool
se_task_is_outdated(SeTask *task)
{
	uint64		now = pg_atomic_read_u64(&task->slot->option_changes);

	if (now != option_changes)
	{
		option_changes = now;
		look_again = true;
	}
	if (look_again && !outdated)
	{
		look_again = false;
		outdated = fingerprint(se_jobs_get(task->job), &watched) != seen;
	}
	return outdated;
}

static void
relation_changed(Datum arg, Oid relation)
{
	if (relation == InvalidOid || list_member_oid(watched.relations, relation))
		look_again = true;
}

/* hash 0: the whole cache was thrown away. */
static void
function_changed(Datum arg, int cacheid, uint32 hash)
{
	if (hash == 0 || list_member_int(function_hashes, (int) hash))
		look_again = true;
}

static void
stream_changed(Datum arg, int cacheid, uint32 hash)
{
	look_again = true;
}

/* A constraint of a domain, or NOT NULL, which the domain's own row has. */
static void
constraint_changed(Datum arg, int cacheid, uint32 hash)
{
	if (watched.domains != NIL)
		look_again = true;
}

/*
 * A query in a constant was made when the expression was planned; it must not meet rows
 * that are read by another configuration. Rare, so there is no fingerprint of them.
 */
static void
text_search_changed(Datum arg, int cacheid, uint32 hash)
{
	if (uses_text_search)
		outdated = true;
}

/* check_functions_in_node callback: remember the function, and go on. */
static bool
remember_function(Oid function, void *context)
{
	if (function >= FirstNormalObjectId && !list_member_oid(watched.functions, function))
	{
		watched.functions = lappend_oid(watched.functions, function);
		function_hashes = lappend_int(function_hashes,
									  (int) GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function)));
	}
	return false;
}

/* An aggregate is replaced by itself, and so is each function it is made of. */
static void
remember_aggregate(Oid aggregate)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;

	(void) remember_function(aggregate, NULL);
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	(void) remember_function(form->aggtransfn, NULL);
	(void) remember_function(form->aggfinalfn, NULL);
	(void) remember_function(form->aggcombinefn, NULL);
	(void) remember_function(form->aggserialfn, NULL);
	(void) remember_function(form->aggdeserialfn, NULL);
	ReleaseSysCache(tuple);
}

/*
 * Constraints of a domain are compiled into the expression that checks them. While it
 * has none, planning leaves a mere change of the type.
 */
static void
remember_types(Node *node)
{
	Oid			domain = InvalidOid;

	if (IsA(node, CoerceToDomain))
		domain = ((CoerceToDomain *) node)->resulttype;
	else if (IsA(node, RelabelType) && get_typtype(((RelabelType *) node)->resulttype) == TYPTYPE_DOMAIN)
		domain = ((RelabelType *) node)->resulttype;
	if (OidIsValid(domain))
		watched.domains = list_append_unique_oid(watched.domains, domain);
	if (IsA(node, FuncExpr) || IsA(node, OpExpr) || IsA(node, Const))
	{
		Oid			type = exprType(node);

		uses_text_search |= type == TSVECTOROID || type == TSQUERYOID || type == REGCONFIGOID ||
			(IsA(node, OpExpr) && exprType(linitial(((OpExpr *) node)->args)) == TSVECTOROID);
	}
}

static bool
walk_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, walk_functions, context, 0);
	(void) check_functions_in_node(node, remember_function, context);
	remember_types(node);
	return expression_tree_walker(node, walk_functions, context);
}

/* A copy of a view's query, NULL if it is gone. */
static Query *
query_of_view(Oid view)
{
	Relation	relation = OidIsValid(view) ? try_relation_open(view, AccessShareLock) : NULL;
	Query	   *query = NULL;

	if (relation == NULL)
		return NULL;
	if (relation->rd_rel->relkind == RELKIND_VIEW && relation->rd_rules != NULL)
		query = copyObject(get_view_query(relation));
	relation_close(relation, AccessShareLock);
	return query;
}

/*
 * The users' functions in all expressions; PostgreSQL's own do not change. Those that
 * planning puts the body of in their place are found only in the definition and the
 * plain views it reads.
 */
static void
collect_functions(const SeGraph *graph, Oid definition)
{
	ListCell   *cell;

	foreach(cell, lappend_oid(list_copy(graph->views), definition))
	{
		Query	   *query = query_of_view(lfirst_oid(cell));

		if (query != NULL)
			(void) walk_functions((Node *) query, NULL);
	}
	foreach(cell, graph->streams)
		collect_watermark(lfirst_oid(cell));
	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);
		ListCell   *call;

		if (node->kind == SE_NODE_CALC)
		{
			(void) walk_functions((Node *) ((SeCalcNode *) node)->quals, NULL);
			(void) walk_functions((Node *) ((SeCalcNode *) node)->targets, NULL);
		}
		foreach(call, se_graph_calls(node))
			remember_aggregate(((SeAggCall *) lfirst(call))->aggref->aggfnoid);
	}
}

/* The functions that a stream's watermark calls, before planning puts bodies in their place. */
static void
collect_watermark(Oid oid)
{
	Relation	stream = try_relation_open(oid, AccessShareLock);
	SeStreamInfo *info;
	int			level;
	Oid			user;
	int			context;

	if (stream == NULL)
		return;
	info = se_stream_is(oid) ? se_stream_info(oid) : NULL;
	if (info != NULL && info->watermark != NULL)
	{
		/* reading a literal calls its type's input function */
		GetUserIdAndSecContext(&user, &context);
		SetUserIdAndSecContext(info->owner, context | SECURITY_RESTRICTED_OPERATION);
		level = se_stream_pin_settings(info, false);
		(void) walk_functions(se_stream_analyse_watermark(stream, info, se_stream_parse_watermark(info->watermark)),
							  NULL);
		AtEOXact_GUC(false, level);
		SetUserIdAndSecContext(user, context);
	}
	relation_close(stream, AccessShareLock);
}

static uint64
mix_bytes(uint64 hash, const void *bytes, Size len)
{
	return hash_combine64(hash, hash_bytes_extended(bytes, (int) len, 0));
}

/* A variable-length column of a catalog row, if it is there. */
static uint64
mix_varlena(uint64 hash, int cache, HeapTuple tuple, AttrNumber attno)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(cache, tuple, attno, &isnull);
	struct varlena *bytes;

	if (isnull)
		return hash_combine64(hash, 0);
	bytes = PG_DETOAST_DATUM_PACKED(value);
	return mix_bytes(hash, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

static uint64
mix_column(uint64 hash, HeapTuple tuple)
{
	Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

	hash = mix_bytes(hash, NameStr(form->attname), strlen(NameStr(form->attname)));
	hash = hash_combine64(hash, form->atttypid);
	hash = hash_combine64(hash, (uint32) form->atttypmod);
	hash = hash_combine64(hash, form->attcollation);
	hash = hash_combine64(hash, (form->attnotnull << 3) | (form->atthasdef << 2) |
						  (form->attisdropped << 1) | (form->attgenerated != '\0'));
	return mix_varlena(hash, ATTNUM, tuple, Anum_pg_attribute_attfdwoptions);
}

/* What of a relation's description decides how rows are read, computed and written. */
static uint64
mix_relation(uint64 hash, Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return hash_combine64(hash, 1);
	form = (Form_pg_class) GETSTRUCT(tuple);
	hash = hash_combine64(hash, relation);
	hash = hash_combine64(hash, form->relnatts);
	hash = hash_combine64(hash, form->relam);
	hash = hash_combine64(hash, form->relowner);
	hash = hash_combine64(hash, (form->relhasindex << 2) | (form->relhastriggers << 1) |
						  form->relhasrules);
	hash = hash_combine64(hash, form->relchecks);
	for (int i = 1; i <= form->relnatts; i++)
	{
		HeapTuple	column = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(i));

		if (!HeapTupleIsValid(column))
			continue;
		hash = mix_column(hash, column);
		ReleaseSysCache(column);
	}
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relation));
	if (HeapTupleIsValid(tuple))
	{
		hash = mix_varlena(hash, FOREIGNTABLEREL, tuple, Anum_pg_foreign_table_ftoptions);
		ReleaseSysCache(tuple);
	}
	return hash;
}

/* Which version of a function's row it is. */
static uint64
mix_function(uint64 hash, Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(tuple))
		return hash_combine64(hash, 1);
	hash = hash_combine64(hash, HeapTupleHeaderGetRawXmin(tuple->t_data));
	hash = mix_bytes(hash, &tuple->t_self, sizeof(ItemPointerData));
	ReleaseSysCache(tuple);
	return hash;
}

/* A view's query. */
static uint64
mix_rule(uint64 hash, Oid view)
{
	HeapTuple	tuple = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view), CStringGetDatum(ViewSelectRuleName));

	if (!HeapTupleIsValid(tuple))
		return hash_combine64(hash, 1);
	hash = mix_varlena(hash, RULERELNAME, tuple, Anum_pg_rewrite_ev_action);
	ReleaseSysCache(tuple);
	return hash;
}

/* What a domain checks, by its own constraints and those of the domains it is made of. */
static uint64
mix_domain(uint64 hash, Oid domain)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine domain", ALLOCSET_SMALL_SIZES);
	DomainConstraintRef *constraints = MemoryContextAlloc(scratch, sizeof(DomainConstraintRef));
	ListCell   *cell;

	InitDomainConstraintRef(domain, constraints, scratch, false);
	foreach(cell, constraints->constraints)
	{
		DomainConstraintState *constraint = lfirst(cell);
		char	   *text = constraint->check_expr ? nodeToString(constraint->check_expr) : "";

		hash = hash_combine64(hash, constraint->constrainttype);
		hash = mix_bytes(hash, text, strlen(text));
	}
	MemoryContextDelete(scratch);	/* lets go of the constraints, too */
	return hash;
}

/* Of everything watched: options, relations as described, functions as defined. */
static uint64
fingerprint(const SeJobMeta *meta, const Watched *of)
{
	uint64		hash = 0;
	ListCell   *cell;

	if (meta != NULL)
		foreach(cell, meta->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (se_options_is_moved(option->defname))
			continue;			/* the log says when */
		hash = mix_bytes(hash, option->defname, strlen(option->defname));
		hash = mix_bytes(hash, strVal(option->arg), strlen(strVal(option->arg)));
	}

	foreach(cell, of->relations)
		hash = mix_relation(hash, lfirst_oid(cell));
	foreach(cell, of->views)
		hash = mix_rule(hash, lfirst_oid(cell));
	foreach(cell, of->functions)
		hash = mix_function(hash, lfirst_oid(cell));
	foreach(cell, of->domains)
		hash = mix_domain(hash, lfirst_oid(cell));
	return hash;
}
