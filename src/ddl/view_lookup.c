/*
 * ddl/view_lookup.c
 *		From a name to a continuous view, and who may do what with it.
 *
 * No lock is taken: whoever needs the relation to stay takes one afterwards.
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/namespace.h"
#include "ddl/ddl_internal.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

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
