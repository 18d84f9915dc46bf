/*
 * ddl/restore_rows.c
 *		How rows of our catalog come back from a dump: names that become OIDs, or are missing.
 *
 * Tables of jobs, positions and state are dumped by pg_dump as an extension's
 * configuration, as a whole, whatever else a dump or a restore leaves out (-t, -n, -T, -L).
 * One name that does not exist would turn away a whole COPY, and with it all views. So
 * type stream_engine.relation reads it as none, and rows that are about none are not taken.
 *
 * Runs in: the sessions that restore. We ourselves write these tables below the executor,
 * where no trigger is.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/se.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "meta/jobs.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/regproc.h"
#include "utils/rel.h"

SE_FUNCTION_INFO_V1(stream_engine_relation_in);
SE_FUNCTION_INFO_V1(stream_engine_relation_out);
SE_FUNCTION_INFO_V1(stream_engine_take_restored_row);

/* The result's name that was last read and does not exist, for the warning about its row. */
static char missing[4 * NAMEDATALEN];

/* As regclassin, but none for a name that does not exist. */
Datum
stream_engine_relation_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Oid			relation;

	if (strcmp(text, "-") == 0 || strspn(text, "0123456789") == strlen(text))
		return DirectFunctionCall1(regclassin, CStringGetDatum(text));
	relation = RangeVarGetRelid(makeRangeVarFromNameList(se_compat_qualified_names(text)), NoLock, true);
	if (!OidIsValid(relation) && strncmp(text, "stream_engine_definitions.", 26) != 0)
		strlcpy(missing, text, sizeof(missing));
	PG_RETURN_OID(relation);
}

Datum
stream_engine_relation_out(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(regclassout, PG_GETARG_DATUM(0));
}

/* Is it one of the tables that pg_dump dumps, whose first column is the job? */
static bool
is_dumped(Oid table)
{
	return table == se_meta_relation("job_catalog") || table == se_meta_relation("job_positions") ||
		table == se_meta_relation("state_chunks") || table == se_meta_relation("dead_letter_rows");
}

/* BEFORE INSERT: a row whose first column is none is left out; the coordinator hears of new jobs. */
Datum
stream_engine_take_restored_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	bool		isnull;
	Datum		job;
	bool		is_catalog;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || !is_dumped(RelationGetRelid(trigger->tg_relation)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("stream_engine.take_restored_row() is a trigger of stream_engine's own tables")));
	job = heap_getattr(trigger->tg_trigtuple, 1, RelationGetDescr(trigger->tg_relation), &isnull);
	is_catalog = RelationGetRelid(trigger->tg_relation) == se_meta_relation("job_catalog");
	if (isnull || OidIsValid(DatumGetObjectId(job)))
	{
		if (is_catalog)
			se_meta_notify_at_commit(); /* the view shows as dormant */
		return PointerGetDatum(trigger->tg_trigtuple);
	}
	if (is_catalog)
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("continuous view %s is not restored", missing),
				 errdetail("Its table does not exist."),
				 errhint("Dump and restore it too, or create it again.")));
	return PointerGetDatum(NULL);
}
