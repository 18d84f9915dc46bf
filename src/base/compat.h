/*
 * base/compat.h
 *		The only file that knows PostgreSQL versions: 15 to 18, and what is known of 19.
 *
 * Everything has a name of our own; a PostgreSQL name is never redefined.
 */
#ifndef SE_COMPAT_H
#define SE_COMPAT_H

#include <limits.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xloginsert.h"
#include "access/xlogreader.h"
#include "catalog/pg_constraint.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parse_relation.h"
#include "replication/slot.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/relcache.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000
#error "stream_engine needs PostgreSQL 15 or newer"
#endif

/* The major version, which is part of what stored state depends on. */
#define SE_COMPAT_PG_MAJOR (PG_VERSION_NUM / 10000)

/* pg_database.datconnlimit of what an interrupted DROP DATABASE has left (a name since 15.4). */
#define SE_COMPAT_INVALID_DATABASE (-2)

/* Is there a setting transaction_timeout?  It would end workers, too. */
#define SE_COMPAT_HAS_TRANSACTION_TIMEOUT (PG_VERSION_NUM >= 170000)

/* The error of old_snapshot_threshold; from 17 on there is neither. */
#define SE_COMPAT_SNAPSHOT_TOO_OLD MAKE_SQLSTATE('7', '2', '0', '0', '0')

/* For the stand-ins of unit tests: what the server exports of its memory and Assert code. */
#define SE_COMPAT_CHUNK_CONTEXT_IS_EXPORTED (PG_VERSION_NUM >= 160000)
#define SE_COMPAT_XID_COMPARE_IS_INLINE (PG_VERSION_NUM >= 190000)
#if PG_VERSION_NUM >= 160000
#define SE_COMPAT_CONDITION_TYPE
#else
#define SE_COMPAT_CONDITION_TYPE const char *errorType,
#endif

/* Below 16 the magic function is hidden like everything else unless declared visible first. */
#if PG_VERSION_NUM < 160000
extern __attribute__((visibility("default")))
const Pg_magic_struct *Pg_magic_func(void);
#endif

#if PG_VERSION_NUM >= 180000
#define SE_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "stream_engine", .version = "1.0")
#else
#define SE_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/*
 * Expressions of an analysed query; macros, so that only plan/ needs
 * optimizer/optimizer.h. GROUP BY's expressions written out where the parser put Vars
 * of an entry of their own (18); and Vars of join aliases replaced by their columns.
 */
#if PG_VERSION_NUM >= 180000
#define se_compat_flatten_groups(query, node) \
	((query)->hasGroupRTE ? flatten_group_exprs(NULL, query, (Node *) (node)) : (Node *) (node))
#else
#define se_compat_flatten_groups(query, node) ((Node *) (node))
#endif
#if PG_VERSION_NUM >= 160000
#define se_compat_flatten_join_aliases(query, node) flatten_join_alias_vars(NULL, query, node)
#else
#define se_compat_flatten_join_aliases(query, node) flatten_join_alias_vars(query, node)
#endif

/*
 * Vars of a range table entry replaced by the columns of a target list. A macro, so
 * that only plan/ needs rewrite/rewriteManip.h.
 */
#if PG_VERSION_NUM >= 180000
#define se_compat_replace_vars(node, rti, entry, targets, has_sublinks) \
	ReplaceVarsFromTargetList((Node *) (node), rti, 0, entry, targets, 0, REPLACEVARS_REPORT_ERROR, 0, has_sublinks)
#else
#define se_compat_replace_vars(node, rti, entry, targets, has_sublinks) \
	ReplaceVarsFromTargetList((Node *) (node), rti, 0, entry, targets, REPLACEVARS_REPORT_ERROR, 0, has_sublinks)
#endif

/* XLogRegisterData with const data; the caller's bytes are only read. */
static inline void
se_compat_xlog_register(const void *data, uint32 len)
{
#if PG_VERSION_NUM >= 180000
	XLogRegisterData(data, len);
#else
	XLogRegisterData((char *) data, len);
#endif
}

/* The first record at or after a place; invalid if there is none that can be read. */
static inline XLogRecPtr
se_compat_find_next_record(XLogReaderState *state, XLogRecPtr lsn)
{
#if PG_VERSION_NUM >= 190000
	char	   *error;

	return XLogFindNextRecord(state, lsn, &error);
#else
	return XLogFindNextRecord(state, lsn);
#endif
}

/* ERROR unless the server can have replication slots. */
#if PG_VERSION_NUM >= 190000
#define se_compat_check_slot_requirements() CheckSlotRequirements(false)
#else
#define se_compat_check_slot_requirements() CheckSlotRequirements()
#endif

/* The process that holds a slot, or 0. */
static inline int
se_compat_slot_holder(const ReplicationSlot *slot)
{
#if PG_VERSION_NUM >= 190000
	return slot->active_proc == INVALID_PROC_NUMBER ? 0 : GetPGProcByNumber(slot->active_proc)->pid;
#else
	return slot->active_pid;
#endif
}

/* Create a physical, persistent slot and keep it acquired. */
static inline void
se_compat_slot_create(const char *name)
{
#if PG_VERSION_NUM >= 190000
	ReplicationSlotCreate(name, false, RS_PERSISTENT, false, false, false, false);
#elif PG_VERSION_NUM >= 170000
	ReplicationSlotCreate(name, false, RS_PERSISTENT, false, false, false);
#else
	ReplicationSlotCreate(name, false, RS_PERSISTENT, false);
#endif
}

/* Acquire a slot; raises if another process holds it. */
static inline void
se_compat_slot_acquire(const char *name)
{
#if PG_VERSION_NUM >= 180000
	ReplicationSlotAcquire(name, true, false);
#else
	ReplicationSlotAcquire(name, true);
#endif
}

/* After so many milliseconds in which nobody holds it a slot is given up; 0 = never. */
static inline int
se_compat_idle_slot_timeout(void)
{
#if PG_VERSION_NUM >= 180000
	return Min(idle_replication_slot_timeout_secs, INT_MAX / 1000) * 1000;
#else
	return 0;
#endif
}

/* Has a slot lost WAL it was asked to keep? The caller holds the slot or its mutex. */
static inline bool
se_compat_slot_data_is_lost(const ReplicationSlotPersistentData *data)
{
#if PG_VERSION_NUM >= 160000
	return data->invalidated != RS_INVAL_NONE;
#else
	return data->invalidated_at != InvalidXLogRecPtr;
#endif
}

/* The same of the acquired slot. */
static inline bool
se_compat_slot_is_lost(void)
{
	return se_compat_slot_data_is_lost(&MyReplicationSlot->data);
}

/*
 * Rows of a table as the cumulative statistics count them; macros, so that only their
 * users need pgstat.h. `entry` is evaluated more than once.
 */
#if PG_VERSION_NUM >= 160000
#define se_compat_dead_rows(entry) ((entry) != NULL ? (double) (entry)->dead_tuples : 0.0)
#define se_compat_live_rows(entry) ((entry) != NULL ? (double) (entry)->live_tuples : 0.0)
#else
#define se_compat_dead_rows(entry) ((entry) != NULL ? (double) (entry)->n_dead_tuples : 0.0)
#define se_compat_live_rows(entry) ((entry) != NULL ? (double) (entry)->n_live_tuples : 0.0)
#endif

/* What get_ordering_op_properties tells last. */
#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
typedef CompareType SeCompatStrategy;
#else
typedef int16 SeCompatStrategy;
#endif

/* A named wait event; below 17 every extension waits as "Extension". */
static inline uint32
se_compat_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* A tranche of lightweight locks. Below 19 each process may tell its name, else it is "extension". */
#if PG_VERSION_NUM >= 190000
#define se_compat_new_tranche(name) LWLockNewTrancheId(name)
#define se_compat_name_tranche(tranche, name) ((void) (tranche))
#else
#define se_compat_new_tranche(name) LWLockNewTrancheId()
#define se_compat_name_tranche(tranche, name) LWLockRegisterTranche(tranche, name)
#endif

/* The index of a process in ProcGlobal->allProcs, from 0. */
static inline int
se_compat_my_proc_number(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProcNumber;
#else
	return MyProc->pgprocno;
#endif
}

/*
 * The path of a foreign scan of one relation. A macro, so that only its user needs
 * optimizer/pathnode.h.
 */
#if PG_VERSION_NUM >= 180000
#define se_compat_foreign_scan_path(root, rel, rows, startup_cost, total_cost) \
	create_foreignscan_path(root, rel, NULL, rows, 0, startup_cost, total_cost, \
							NIL, (rel)->lateral_relids, NULL, NIL, NIL)
#elif PG_VERSION_NUM >= 170000
#define se_compat_foreign_scan_path(root, rel, rows, startup_cost, total_cost) \
	create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, \
							NIL, (rel)->lateral_relids, NULL, NIL, NIL)
#else
#define se_compat_foreign_scan_path(root, rel, rows, startup_cost, total_cost) \
	create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, \
							NIL, (rel)->lateral_relids, NULL, NIL)
#endif

/*
 * What the front door needs; macros, so that only it needs the headers.
 *
 * ERROR (42501) unless the current user may read what an analysed SELECT reads.
 */
#if PG_VERSION_NUM >= 160000
#define se_compat_check_permissions(query) \
	((void) ExecCheckPermissions((query)->rtable, (query)->rteperminfos, true))
#define se_compat_owns_relation(relation, user) object_ownercheck(RelationRelationId, relation, user)
#define se_compat_owns_database(database, user) object_ownercheck(DatabaseRelationId, database, user)
#define se_compat_owns_extension(extension, user) object_ownercheck(ExtensionRelationId, extension, user)
#else
#define se_compat_check_permissions(query) ((void) ExecCheckRTPerms((query)->rtable, true))
#define se_compat_owns_relation(relation, user) pg_class_ownercheck(relation, user)
#define se_compat_owns_database(database, user) pg_database_ownercheck(database, user)
#define se_compat_owns_extension(extension, user) pg_extension_ownercheck(extension, user)
#endif

/* May the user call the function? */
#if PG_VERSION_NUM >= 160000
#define se_compat_may_execute(function, user) \
	(object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE) == ACLCHECK_OK)
#else
#define se_compat_may_execute(function, user) \
	(pg_proc_aclcheck(function, user, ACL_EXECUTE) == ACLCHECK_OK)
#endif

/* May the user REFRESH? The owner; from 17 on whoever has MAINTAIN. */
#if PG_VERSION_NUM >= 170000
#define se_compat_may_maintain(relation, user) \
	(pg_class_aclcheck(relation, user, ACL_MAINTAIN) == ACLCHECK_OK)
#else
#define se_compat_may_maintain(relation, user) se_compat_owns_relation(relation, user)
#endif

/* The parts of a qualified name. A macro, so that only its user needs utils/regproc.h. */
#if PG_VERSION_NUM >= 160000
#define se_compat_qualified_names(text) stringToQualifiedNameList(text, NULL)
#else
#define se_compat_qualified_names(text) stringToQualifiedNameList(text)
#endif

/* Does an ALTER CONSTRAINT make it initially deferred? `def` is the command's node. */
#if PG_VERSION_NUM >= 180000
#define se_compat_alters_to_deferred(def) (castNode(ATAlterConstraint, def)->initdeferred)
#else
#define se_compat_alters_to_deferred(def) (castNode(Constraint, def)->initdeferred)
#endif

/* Arithmetic of numeric values, with errors; macros, so that only their user needs utils/numeric.h. */
#if PG_VERSION_NUM >= 190000
#define se_compat_numeric_add(a, b) numeric_add_safe(a, b, NULL)
#define se_compat_numeric_mul(a, b) numeric_mul_safe(a, b, NULL)
#define se_compat_numeric_div(a, b) numeric_div_safe(a, b, NULL)
#else
#define se_compat_numeric_add(a, b) numeric_add_opt_error(a, b, NULL)
#define se_compat_numeric_mul(a, b) numeric_mul_opt_error(a, b, NULL)
#define se_compat_numeric_div(a, b) numeric_div_opt_error(a, b, NULL)
#endif

/* The scanner shall not warn of backslashes; from 19 on it never does. */
#if PG_VERSION_NUM >= 190000
#define se_compat_quiet_scanner(extra) ((void) (extra))
#else
#define se_compat_quiet_scanner(extra) ((void) ((extra)->escape_string_warning = false))
#endif

/* Range table indexes of the relations a plan writes to. */
static inline List *
se_compat_result_relations(const PlannedStmt *plan)
{
#if PG_VERSION_NUM >= 190000
	List	   *relations = NIL;
	int			rti = -1;

	while ((rti = bms_next_member(plan->resultRelationRelids, rti)) >= 0)
		relations = lappend_int(relations, rti);
	return relations;
#else
	return plan->resultRelations;
#endif
}

/* A plan of a rewritten query; a macro, so that only its user needs tcop/tcopprot.h. */
#if PG_VERSION_NUM >= 190000
#define se_compat_plan_query(query, string, options) pg_plan_query(query, string, options, NULL, NULL)
#else
#define se_compat_plan_query(query, string, options) pg_plan_query(query, string, options, NULL)
#endif

/* Run a started query to its end. */
#if PG_VERSION_NUM >= 180000
#define se_compat_executor_run(query) ExecutorRun(query, ForwardScanDirection, 0)
#else
#define se_compat_executor_run(query) ExecutorRun(query, ForwardScanDirection, 0, true)
#endif

/* The index of a relation's primary key. */
#if PG_VERSION_NUM >= 180000
#define se_compat_primary_key(relation) RelationGetPrimaryKeyIndex(relation, false)
#else
#define se_compat_primary_key(relation) RelationGetPrimaryKeyIndex(relation)
#endif

/* Where ExplainProperty… and ExplainState are declared: #include SE_COMPAT_EXPLAIN_HEADER. */
#if PG_VERSION_NUM >= 180000
#define SE_COMPAT_EXPLAIN_HEADER "commands/explain_format.h"
#define SE_COMPAT_EXPLAIN_STATE_HEADER "commands/explain_state.h"
#else
#define SE_COMPAT_EXPLAIN_HEADER "commands/explain.h"
#define SE_COMPAT_EXPLAIN_STATE_HEADER "commands/explain.h"
#endif

/* Index entries of a row that was just inserted. Deferrable indexes are the caller's care. */
static inline void
se_compat_insert_index_tuples(ResultRelInfo *target, TupleTableSlot *slot, EState *estate)
{
#if PG_VERSION_NUM >= 190000
	(void) ExecInsertIndexTuples(target, estate, 0, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	(void) ExecInsertIndexTuples(target, slot, estate, false, false, NULL, NIL, false);
#else
	(void) ExecInsertIndexTuples(target, slot, estate, false, false, NULL, NIL);
#endif
}

/* An index scan of rows of a table. */
static inline IndexScanDesc
se_compat_index_beginscan(Relation table, Relation index, Snapshot snapshot, int nkeys)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(table, index, snapshot, NULL, nkeys, 0, 0);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(table, index, snapshot, NULL, nkeys, 0);
#else
	return index_beginscan(table, index, snapshot, nkeys, 0);
#endif
}

/* A scan of all rows of a table; a macro, so that only its user needs access/tableam.h. */
#if PG_VERSION_NUM >= 190000
#define se_compat_table_beginscan(table, snapshot) table_beginscan(table, snapshot, 0, NULL, 0)
#else
#define se_compat_table_beginscan(table, snapshot) table_beginscan(table, snapshot, 0, NULL)
#endif

/* The state that BEFORE triggers ask for; no plan stands behind it. */
static inline void
se_compat_epq_init(EPQState *epqstate, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	EvalPlanQualInit(epqstate, estate, NULL, NIL, -1, NIL);
#else
	EvalPlanQualInit(epqstate, estate, NULL, NIL, -1);
#endif
}

/* Make a table, whose columns in `updated` may be set, range table entry 1 of a state. */
static inline void
se_compat_init_range_table(EState *estate, Relation table, Bitmapset *updated)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(table);
	rte->relkind = table->rd_rel->relkind;
	rte->rellockmode = RowExclusiveLock;
#if PG_VERSION_NUM >= 160000
	{
		List	   *perminfos = NIL;
		RTEPermissionInfo *perminfo = addRTEPermissionInfo(&perminfos, rte);

		perminfo->insertedCols = updated;
		perminfo->updatedCols = updated;
#if PG_VERSION_NUM >= 180000
		ExecInitRangeTable(estate, list_make1(rte), perminfos, bms_make_singleton(1));
#else
		ExecInitRangeTable(estate, list_make1(rte), perminfos);
#endif
	}
#else
	rte->insertedCols = updated;
	rte->updatedCols = updated;
	ExecInitRangeTable(estate, list_make1(rte));
#endif
}

/* A descriptor made column by column is whole; to be said before it is used. */
static inline TupleDesc
se_compat_finish_desc(TupleDesc desc)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(desc);
#endif
	return desc;
}

/* Column i of a descriptor, and where a value of it must begin. */
#define se_compat_attr(desc, i) TupleDescAttr(desc, i)

/* Does a row have bytes for the column?  Not if dropped, nor (18) GENERATED … VIRTUAL. */
#define se_compat_attr_is_stored(attr) (!(attr)->attisdropped && (attr)->attgenerated != 'v')

/*
 * A column's NOT NULL that was declared NOT VALID (18) says nothing of older rows. Looks at the catalog as the running
 * command sees it.
 */
#if PG_VERSION_NUM >= 180000
#define SE_COMPAT_CONSTRAINT_NOT_NULL CONSTRAINT_NOTNULL
static inline bool
se_compat_not_null_is_valid(Oid relation, AttrNumber attno)
{
	HeapTuple	tuple = findNotNullConstraintAttnum(relation, attno);

	return !HeapTupleIsValid(tuple) || ((Form_pg_constraint) GETSTRUCT(tuple))->convalidated;
}
#else
#define SE_COMPAT_CONSTRAINT_NOT_NULL '\0'
#define se_compat_not_null_is_valid(relation, attno) (true)
#endif

#endif							/* SE_COMPAT_H */
