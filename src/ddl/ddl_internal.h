/*
 * ddl/ddl_internal.h
 *		What the files of the front door share: a utility statement on its way, and its handlers.
 *
 * Runs in: sessions.
 */
#ifndef SE_DDL_INTERNAL_H
#define SE_DDL_INTERNAL_H

#include "base/se.h"
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

/* Let the statement take its usual way: the next hook, or PostgreSQL. */
extern void se_utility_pass_on(SeUtility *utility);

/* A statement of our own making, as part of the one that is running. */
extern void se_utility_nested(SeUtility *utility, Node *statement);

/*
 * Make the statement ours to change: the caller's tree may be a cached one. Returns
 * the copy, which utility->pstmt then carries.
 */
extern Node *se_utility_own(SeUtility *utility);

/* ddl/object_access.c: what happens to relations, by whatever command. */
extern void se_object_access_init(void);

/*
 * Streams created or altered since the last call are brought up to date: layout,
 * options, dependencies. Runs in: the utility hook, after every statement.
 */
extern void se_object_access_settle(void);

/* ddl/drop_hook.c: a relation is being dropped; forget what we know of it. */
extern void se_drop_relation(Oid relation);

#endif							/* SE_DDL_INTERNAL_H */
