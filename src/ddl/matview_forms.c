/*
 * ddl/matview_forms.c
 *		COMMENT, ALTER, DROP … MATERIALIZED VIEW v, where v is a continuous view, mean its table.
 *
 * To PostgreSQL a continuous view is a table, and it would say "v is not a
 * materialized view". The statement is turned into the form for tables and takes its
 * usual way, with PostgreSQL's own checks. One table below says where each statement
 * keeps the kind and the name of its object. DROP has a list of them, and may mix
 * continuous views with PostgreSQL's materialized views.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "ddl/ddl_internal.h"
#include "nodes/makefuncs.h"

typedef struct Form
{
	NodeTag		tag;
	size_t		kind;			/* offset of an ObjectType */
	size_t		name;			/* offset of a RangeVar *, or of a List * of strings */
	bool		name_is_list;
} Form;

static const Form forms[] = {
	{T_AlterTableStmt, offsetof(AlterTableStmt, objtype), offsetof(AlterTableStmt, relation), false},
	{T_RenameStmt, offsetof(RenameStmt, renameType), offsetof(RenameStmt, relation), false},
	{T_RenameStmt, offsetof(RenameStmt, relationType), offsetof(RenameStmt, relation), false},
	{T_AlterObjectSchemaStmt, offsetof(AlterObjectSchemaStmt, objectType), offsetof(AlterObjectSchemaStmt, relation), false},
	{T_AlterObjectDependsStmt, offsetof(AlterObjectDependsStmt, objectType), offsetof(AlterObjectDependsStmt, relation), false},
	{T_CommentStmt, offsetof(CommentStmt, objtype), offsetof(CommentStmt, object), true},
	{T_SecLabelStmt, offsetof(SecLabelStmt, objtype), offsetof(SecLabelStmt, object), true},
};

#define FIELD(statement, type, offset) ((type *) ((char *) (statement) + (offset)))

static void map(SeUtility *utility, const Form *form);
static bool drop(SeUtility *utility);

bool
se_matview_forms(SeUtility *utility)
{
	NodeTag		tag = nodeTag(utility->pstmt->utilityStmt);

	if (tag == T_DropStmt)
		return drop(utility);
	for (int i = 0; i < lengthof(forms); i++)
		if (forms[i].tag == tag)
			map(utility, &forms[i]);
	return false;
}

/* If the statement names a continuous view as a materialized view: make it a table. */
static void
map(SeUtility *utility, const Form *form)
{
	Node	   *statement = utility->pstmt->utilityStmt;
	RangeVar   *name;

	if (*FIELD(statement, ObjectType, form->kind) != OBJECT_MATVIEW)
		return;
	if (form->name_is_list)
		name = makeRangeVarFromNameList(*FIELD(statement, List *, form->name));
	else
		name = *FIELD(statement, RangeVar *, form->name);
	if (name == NULL || !OidIsValid(se_view_lookup(name)))
		return;
	statement = se_utility_own(utility);
	*FIELD(statement, ObjectType, form->kind) = OBJECT_TABLE;
}

/*
 * DROP MATERIALIZED VIEW a, b, …: PostgreSQL's own first, because one of them may read
 * a continuous view, and never the other way round.
 */
static bool
drop(SeUtility *utility)
{
	DropStmt   *stmt = castNode(DropStmt, utility->pstmt->utilityStmt);
	List	   *ours = NIL;
	List	   *others = NIL;
	ListCell   *cell;
	SeUtility	rest;

	if (stmt->removeType != OBJECT_MATVIEW)
		return false;
	foreach(cell, stmt->objects)
	{
		List	   *name = lfirst_node(List, cell);

		if (OidIsValid(se_view_lookup(makeRangeVarFromNameList(name))))
			ours = lappend(ours, name);
		else
			others = lappend(others, name);
	}
	if (ours == NIL)
		return false;

	if (others != NIL)
	{
		rest = *utility;
		rest.read_only_tree = true;
		stmt = (DropStmt *) se_utility_own(&rest);
		stmt->objects = copyObject(others);
		rest.pstmt->queryId = 0;	/* statistics count the statement once, with the part below */
		se_utility_pass_on(&rest);
	}
	stmt = (DropStmt *) se_utility_own(utility);
	stmt->objects = ours;
	stmt->removeType = OBJECT_TABLE;
	return false;
}
