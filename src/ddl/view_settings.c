/*
 * ddl/view_settings.c
 *		The session settings a continuous view keeps: captured at CREATE, applied by its workers.
 *
 * Only settings that can change what an expression returns. search_path is kept
 * resolved: "$user" and schemas that appear later must not change which function a
 * SQL function body of the view's query finds; pg_temp comes last, so that nobody's
 * temporary object is found first.
 */
#include "postgres.h"

#include "base/fault.h"
#include "catalog/namespace.h"
#include "ddl/view_settings.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

static const char *const kept[] = {
	"TimeZone", "timezone_abbreviations", "DateStyle", "IntervalStyle",
	"lc_monetary", "lc_numeric", "lc_time",
	"extra_float_digits", "bytea_output", "xmlbinary", "xmloption",
	"default_text_search_config", "array_nulls",
};

/* The schemas of search_path as they are now, quoted, pg_temp last. */
static char *
resolved_search_path(void)
{
	List	   *schemas = fetch_search_path(true);
	StringInfoData path;
	ListCell   *cell;

	initStringInfo(&path);
	foreach(cell, schemas)
	{
		Oid			schema = lfirst_oid(cell);
		char	   *name;

		if (isAnyTempNamespace(schema))
			continue;
		name = get_namespace_name(schema);
		if (name != NULL)
			appendStringInfo(&path, "%s, ", quote_identifier(name));
	}
	appendStringInfoString(&path, "pg_temp");
	return path.data;
}

List *
se_view_settings_capture(void)
{
	List	   *settings = NIL;

	if (SE_FAULT_WRONG("wrong-settings-forgotten"))
		return NIL;
	for (int i = 0; i < lengthof(kept); i++)
	{
		const char *value = GetConfigOption(kept[i], true, false);

		if (value != NULL)
			settings = lappend(settings, makeDefElem(pstrdup(kept[i]), (Node *) makeString(pstrdup(value)), -1));
	}
	return lappend(settings, makeDefElem("search_path", (Node *) makeString(resolved_search_path()), -1));
}

void
se_view_settings_apply(List *settings)
{
	ListCell   *cell;

	foreach(cell, settings)
	{
		DefElem    *setting = lfirst_node(DefElem, cell);

		(void) set_config_option(setting->defname, strVal(setting->arg), PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, ERROR, false);
	}
}
