/*
 * ddl/ddl_internal.h
 *		What the files of the front door share: a utility statement on its way, and its handlers.
 *
 * Runs in: sessions.
 */
#ifndef SE_DDL_INTERNAL_H
#define SE_DDL_INTERNAL_H

#include "base/se.h"
#include "catalog/dependency.h"
#include "flow/graph.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

/* The arguments of one ProcessUtility call. */
typedef struct SeUtility
{
	PlannedStmt *pstmt;
	const char *query_string;
	bool		read_only_tree;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *environment;
	DestReceiver *dest;
	QueryCompletion *completion;
} SeUtility;

/* ddl/utility.c: put our hook in front of those that are there. At library load, once. */
extern void se_utility_init(ProcessUtility_hook_type hook);

/* Let the statement take its usual way: the next hook, or PostgreSQL. */
extern void se_utility_pass_on(SeUtility *utility);

/* A statement of our own making, as part of the one that is running. */
extern void se_utility_nested(SeUtility *utility, Node *statement);

/*
 * Make the statement ours to change: the caller's tree may be a cached one. Returns
 * the copy, which utility->pstmt then carries.
 */
extern Node *se_utility_own(SeUtility *utility);

/*
 * Run a statement of ours as the one command that event triggers see: `body` between
 * their ddl_command_start and ddl_command_end.
 */
typedef void (*SeUtilityBody) (SeUtility *utility, void *arg);
extern void se_utility_as_command(SeUtility *utility, SeUtilityBody body, void *arg);

/* Handlers of the utility hook: true if the statement is done. */
extern bool se_create_view(SeUtility *utility);
extern bool se_create_view_explain(SeUtility *utility);
extern bool se_refresh(SeUtility *utility);
extern bool se_matview_forms(SeUtility *utility);
extern bool se_write_guard_copy(SeUtility *utility);
extern bool se_alter_guard(SeUtility *utility);
extern bool se_trust_guard(SeUtility *utility);
extern bool se_misplaced(SeUtility *utility);
extern bool se_database_door(SeUtility *utility);
extern bool se_extension_door(SeUtility *utility);

/* ddl/view_lookup.c: the job behind a name; InvalidOid if it is none. */
extern Oid	se_view_lookup(const RangeVar *name);

/* As above for functions with a regclass argument; ERROR (42809) if it is none. */
extern Oid	se_view_require(Oid relation);

/* The owner of a result or a definition, InvalidOid if it is gone. */
extern Oid	se_view_owner(Oid relation);

/* ERROR (42501) unless the current user owns the view (or may MAINTAIN it). */
extern void se_view_check_owner(Oid view);
extern void se_view_check_maintain(Oid view);

/* ERROR (42501) unless the user may know how the job is: by SELECT, ownership, or pg_read_all_stats. */
extern void se_view_check_watch(Oid view);

/* ERROR (55000) if this very transaction made the view, or changed what is wanted of it. */
extern void se_view_check_not_new(Oid view);
extern void se_view_check_not_changed(Oid view);

/*
 * ddl/alter_options.c: SET and RESET of a view's options, in the order given; one to be reset has no value. The owner
 * has been checked.
 */
extern void se_alter_options(SeUtility *utility, Oid view, List *changes);

/* The schema of definition views. */
#define SE_DEFINITIONS_SCHEMA "stream_engine_definitions"

/* ddl/alter_guard.c: give the definition, if there is one, the owner of the result. */
extern void se_view_follow_owner(Oid view, Oid definition);

/* ddl/result_table.c: what a continuous view consists of. */
typedef struct SeViewParts
{
	Oid			table;			/* the result table: the view's own name */
	Oid			definition;		/* the definition view */
} SeViewParts;

/* Is it the index by which the job finds the rows of its groups? */
extern bool se_result_table_is_key(Oid index);

extern SeViewParts se_result_table_create(SeUtility *utility, IntoClause *into, Query *query,
										  const SeGraph *graph, List *storage_options);

/*
 * ddl/first_row.c: the row an aggregate without GROUP BY has before any input. Is there
 * one, and into the empty result with it; the positions are there already.
 */
extern bool se_first_row_is_due(const SeGraph *graph);
extern void se_first_row_insert(Oid table, Query *query, const char *query_string);

/* The definition view that was made for a result of this name, or InvalidOid. */
extern Oid	se_result_table_definition(Oid table);

/*
 * A result that becomes an updating one: its key, if it has none yet, and its replica identity. A unique index of the
 * user's that fits becomes the key.
 */
extern void se_result_table_give_key(SeUtility *utility, Oid table, const SeGraph *graph);

/*
 * The same parts of a view that is there already, as a restore leaves them: `definition`
 * becomes part of the table and its owner's, and so does the index over the key of an
 * updating result; ERROR (55000) if that index is missing.
 */
extern void se_result_table_adopt(Oid table, Oid definition, const SeGraph *graph);

/* Let changes of a result be published whole, also where it has no key. */
extern void se_result_table_identify(SeUtility *utility, RangeVar *table);

/* A dependency of a relation on another as a whole, recorded once; and is there one? */
extern void se_result_table_depend(Oid relation, Oid on, DependencyType type);
extern bool se_result_table_depends(Oid relation, Oid on, DependencyType type);

/*
 * ddl/result_retention.c: the index of the option `retention`: made or dropped as the dataflow says; found
 * again in a view that came out of a dump, ERROR (55000) if it is missing; and is it this one?
 */
extern void se_result_retention_apply(SeUtility *utility, Oid table, const SeGraph *graph);
extern void se_result_retention_adopt(Oid table, const SeGraph *graph);
extern bool se_result_retention_is_index(Oid index);

/* ddl/database_door.c: databases that come and go. */
extern void se_database_door_init(void);

/* ddl/start_position.c: where the sources of a new view begin; writes the position rows. */
extern void se_start_position_init(void);
extern void se_start_position(Oid job, const SeGraph *graph, bool earliest);

/*
 * Let the stored positions of a job that was made elsewhere go on at a mark of this log, under these of the options that
 * are moved; what they say of watermark, counters and state stays.
 */
extern void se_start_position_continue(Oid job, const SeGraph *graph, List *options);

/* ddl/write_guard.c: nobody but the job writes to a result. */
extern void se_write_guard_init(void);
extern void se_write_guard_check(Oid relation);
extern void se_write_guard_changed(Oid relation);

/* ddl/object_access.c: what happens to relations, by whatever command. */
extern void se_object_access_init(void);

/*
 * Streams created or altered since the last call are brought up to date: layout,
 * options, dependencies. Runs in: the utility hook, after every statement.
 */
extern void se_object_access_settle(void);

/* ddl/stream_children.c: ERROR (0A000) if continuous views read the stream that is to have a child. */
extern void se_stream_children_check(Oid parent);

/*
 * ddl/restore.c: a dump without data has the result and its definition view, but no row that
 * says what they are. Fills in the job's row from the definition's comment; false if the
 * table is not such a result.
 */
struct SeJobMeta;
extern bool se_restore_recognise(Oid table, struct SeJobMeta *meta);

/* ddl/drop_hook.c: a relation is being dropped; forget what we know of it. */
extern void se_drop_relation(Oid relation);

/* Drop what dropped results have left behind. Runs in: the utility hook, after every statement. */
extern void se_drop_settle(void);
extern void se_drop_init(void);

#endif							/* SE_DDL_INTERNAL_H */
