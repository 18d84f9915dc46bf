/*
 * ddl/view_lookup.c
 *		From a name to a continuous view, and who may do what with it.
 *
 * No lock is taken: whoever needs the relation to stay takes one afterwards.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/compat.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "ddl/ddl_internal.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

Oid
se_view_lookup(const RangeVar *name)
{
	Oid			relation;

	if (!OidIsValid(se_meta_relation("job_catalog")))
		return InvalidOid;
	relation = RangeVarGetRelid(name, NoLock, true);
	return OidIsValid(relation) && se_jobs_exists(relation) ? relation : InvalidOid;
}

Oid
se_view_require(Oid relation)
{
	char	   *name = get_rel_name(relation);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!se_jobs_exists(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a continuous view", name),
				 errhint("stream_engine.jobs lists the continuous views of this database.")));
	return relation;
}

Oid
se_view_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

void
se_view_check_owner(Oid view)
{
	if (!se_compat_owns_relation(view, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_MATVIEW, get_rel_name(view));
}

void
se_view_check_maintain(Oid view)
{
	if (!se_compat_may_maintain(view, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_MATVIEW, get_rel_name(view));
}

void
se_view_check_watch(Oid view)
{
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		!se_compat_owns_relation(view, GetUserId()) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_MATVIEW, get_rel_name(view));
}

/*
 * The view's worker starts when its creation is committed: a session that waited for
 * it before would wait for itself. Looked up without a lock, as all that waits.
 */
void
se_view_check_not_new(Oid view)
{
	Relation	relation = RelationIdGetRelation(view);
	bool		is_new = relation != NULL && relation->rd_createSubid != InvalidSubTransactionId;

	if (relation != NULL)
		RelationClose(relation);
	if (is_new)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" cannot be waited for in the transaction that creates it", get_rel_name(view)),
				 errdetail("It begins to run when the transaction is committed."),
				 errhint("Commit first.")));
}

/* The same for what this transaction wants of it by stop or start. */
void
se_view_check_not_changed(Oid view)
{
	se_view_check_not_new(view);
	if (se_jobs_is_uncommitted(view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" cannot be waited for in the transaction that changes it", get_rel_name(view)),
				 errdetail("Stop, start and changed options take effect when the transaction is committed."),
				 errhint("Commit first.")));
}
