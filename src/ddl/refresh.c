/*
 * ddl/refresh.c
 *		REFRESH MATERIALIZED VIEW of a continuous view: wait until all that is committed is reflected.
 *
 * Nothing is computed anew. A mark is written to the log and flushed; when the view has
 * committed everything before it, the command returns. No lock is taken on the
 * view, because its worker needs one; a session that holds one already gets an error
 * instead of a wait without end (runtime/wait.c finds the cycle).
 */
#include "postgres.h"

#include "base/fault.h"
#include "ddl/ddl_internal.h"
#include "log/append.h"
#include "miscadmin.h"
#include "runtime/runtime.h"
#include "utils/lsyscache.h"

bool
se_refresh(SeUtility *utility)
{
	RefreshMatViewStmt *stmt = castNode(RefreshMatViewStmt, utility->pstmt->utilityStmt);
	Oid			view = se_view_lookup(stmt->relation);
	XLogRecPtr	mark;

	if (!OidIsValid(view))
		return false;
	PreventCommandDuringRecovery("REFRESH MATERIALIZED VIEW");
	se_view_check_maintain(view);
	if (stmt->skipData)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("continuous view \"%s\" cannot be refreshed WITH NO DATA", get_rel_name(view)),
				 errhint("To empty it, drop it and create it again; to stop it, use stream_engine.stop.")));
	se_view_check_not_new(view);

	mark = se_mark_write(SE_MARK_REFRESH, InvalidOid, 0, 0, NULL, 0, true, NULL);
	SE_FAULT_POINT("refresh-after-mark");
	se_wait_reflected(view, stmt->relation->relname, mark, -1, true);
	return true;
}
