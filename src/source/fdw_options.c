/*
 * source/fdw_options.c
 *		The options of servers, streams and their columns: one table, and the validator.
 *
 * The validator sees one object's options alone; what needs the whole table (is the
 * watermark an expression over it?) is checked by stream DDL.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "base/se.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "log/stream.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_fdw_validator);
SE_FUNCTION_INFO_V1(stream_engine_stream_options);

typedef void (*CheckOption) (DefElem *option);

typedef struct StreamOption
{
	const char *name;
	Oid			catalog;		/* of the objects that may have it */
	const char *type;
	const char *default_value;	/* NULL = none */
	CheckOption check;
	const char *help;
} StreamOption;

static void check_connector(DefElem *option);
static void check_boolean(DefElem *option);
static void check_timezone(DefElem *option);
static void check_text(DefElem *option);
static void check_action(DefElem *option);
static void check_length(DefElem *option);
static void length_context(void *arg);
static void check_positive_length(DefElem *option);
static void check_idle_action(DefElem *option);
static void check_together(List *options);
static bool is_among(List *options, const char *name);

static const StreamOption stream_options[] = {
	{
		"connector", ForeignServerRelationId, "text", "native", check_connector,
		"Where the rows live. native: in this server's WAL."
	},
	{
		"watermark", ForeignTableRelationId, "expression", NULL, check_text,
		"After this row no row with an earlier event time is expected: an expression over the row, of the event time's type. NULL asserts nothing. Without the option only stream_engine.emit_watermark moves the watermark."
	},
	{
		"timezone", ForeignTableRelationId, "text", "UTC", check_timezone,
		"The time zone in which the watermark expression is evaluated, and in which an event time of type timestamp meets the clock."
	},
	{
		"null_time", ForeignTableRelationId, "text", "error", check_action,
		"What is done with a row whose event time is NULL: error, drop (not written, but counted), pass (written; never moves the watermark), dead_letter (kept in stream_engine.dead_letters instead)."
	},
	{
		"infinite_time", ForeignTableRelationId, "text", "error", check_action,
		"The same for an infinite event time."
	},
	{
		"max_future", ForeignTableRelationId, "interval", NULL, check_length,
		"How far an event time, and emit_watermark, may be ahead of the clock when it is written. A month counts 30 days, a day 24 hours. Without the option nothing is too far."
	},
	{
		"future_time", ForeignTableRelationId, "text", "error", check_action,
		"What is done with a row that is further ahead than max_future, which it needs: as null_time."
	},
	{
		"max_delay", ForeignTableRelationId, "interval", NULL, check_length,
		"The watermark is never further behind the clock than this, as the tick marks of the log have it: rows that come later than that are late. Without the option rows alone move it."
	},
	{
		"idle_timeout", ForeignTableRelationId, "interval", NULL, check_positive_length,
		"After this long without a row or an emit_watermark the stream is idle, until the next one. Without the option it never is."
	},
	{
		"idle_action", ForeignTableRelationId, "text", "exclude", check_idle_action,
		"What an idle stream does: exclude (it holds nobody back that also reads others), advance (its watermark goes on with the clock, so that the last windows close; needs idle_timeout)."
	},
	{
		"event_time", AttributeRelationId, "boolean", "false", check_boolean,
		"The column (timestamptz or timestamp) that says when the row's event happened; at most one."
	},
};

/* What kind of object a catalog's options belong to. */
static const char *
kind_of(Oid catalog)
{
	switch (catalog)
	{
		case ForeignServerRelationId:
			return "server";
		case ForeignTableRelationId:
			return "stream";
		case AttributeRelationId:
			return "column";
		case UserMappingRelationId:
			return "user mapping";
		default:
			return "object";
	}
}

static const StreamOption *
find_option(const char *name, Oid catalog)
{
	for (int i = 0; i < lengthof(stream_options); i++)
	{
		if (stream_options[i].catalog == catalog && strcmp(stream_options[i].name, name) == 0)
			return &stream_options[i];
	}
	return NULL;
}

/* The options an object of a catalog may have, for a hint. */
static char *
list_options(Oid catalog)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(stream_options); i++)
	{
		if (stream_options[i].catalog == catalog)
			appendStringInfo(&names, "%s\"%s\"", names.len ? ", " : "", stream_options[i].name);
	}
	return names.data;
}

Datum
stream_engine_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst(lc);
		const StreamOption *known = find_option(option->defname, catalog);

		if (known == NULL)
		{
			char	   *names = list_options(catalog);

			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("unknown %s option \"%s\"", kind_of(catalog), option->defname),
					 names[0] ?
					 errhint("A %s can have: %s.", kind_of(catalog), names) :
					 errhint("It can have no options.")));
		}
		known->check(option);
	}
	if (catalog == ForeignTableRelationId)
		check_together(options);
	PG_RETURN_VOID();
}

static void
check_connector(DefElem *option)
{
	if (strcmp(defGetString(option), "native") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("unknown connector \"%s\"", defGetString(option)),
				 errhint("The only connector of this version is \"native\".")));
}

static void
check_boolean(DefElem *option)
{
	(void) defGetBoolean(option);
}

static void
check_timezone(DefElem *option)
{
	pg_tz	   *zone = pg_tzset(defGetString(option));

	if (zone == NULL || !pg_tz_acceptable(zone))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("unknown time zone \"%s\"", defGetString(option)),
				 errhint("See the view pg_timezone_names.")));
}

static void
check_text(DefElem *option)
{
	if (defGetString(option)[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"%s\" is empty", option->defname),
				 errhint("Leave it out, or remove it with OPTIONS (DROP %s).", option->defname)));
}

static void
check_action(DefElem *option)
{
	SeBadTimeAction action;

	if (!se_stream_parse_action(defGetString(option), &action))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value \"%s\" of option \"%s\"", defGetString(option), option->defname),
				 errhint("It can be \"error\", \"drop\", \"pass\" or \"dead_letter\".")));
}

static void
check_length(DefElem *option)
{
	ErrorContextCallback callback = {error_context_stack, length_context, option->defname};
	int64		length;
	bool		fits;

	error_context_stack = &callback;
	fits = se_stream_parse_length(defGetString(option), &length);
	error_context_stack = callback.previous;
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"%s\" is negative or too long: %s", option->defname, defGetString(option)),
				 errhint("Give an interval such as '1 hour', or leave it out.")));
}

static void
length_context(void *arg)
{
	errcontext("option %s", (const char *) arg);
}

static void
check_positive_length(DefElem *option)
{
	int64		length;

	check_length(option);
	if (se_stream_parse_length(defGetString(option), &length) && length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"%s\" must be longer than nothing", option->defname),
				 errhint("Give an interval such as '1 minute', or leave it out.")));
}

static void
check_idle_action(DefElem *option)
{
	const char *word = defGetString(option);

	if (strcmp(word, "exclude") != 0 && strcmp(word, "advance") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", option->defname, word),
				 errhint("It is \"exclude\" or \"advance\".")));
}

/* An action without that upon which it is taken is a mistake. */
static void
check_together(List *options)
{
	if (is_among(options, "idle_action") && !is_among(options, "idle_timeout"))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"idle_action\" needs option \"idle_timeout\""),
				 errhint("Say after how long without rows the stream is idle: OPTIONS (ADD idle_timeout '1 minute'). To remove that, remove both: OPTIONS (DROP idle_timeout, DROP idle_action).")));
	if (is_among(options, "future_time") && !is_among(options, "max_future"))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"future_time\" needs option \"max_future\""),
				 errhint("Say how far ahead of the clock is too far: OPTIONS (ADD max_future '1 hour'). To remove that, remove both: OPTIONS (DROP max_future, DROP future_time).")));
}

static bool
is_among(List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
		if (strcmp(((DefElem *) lfirst(lc))->defname, name) == 0)
		return true;
	return false;
}

/* The table above as a set of rows, for people and for the documentation. */
Datum
stream_engine_stream_options(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < lengthof(stream_options); i++)
	{
		const StreamOption *option = &stream_options[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = CStringGetTextDatum(kind_of(option->catalog));
		values[1] = CStringGetTextDatum(option->name);
		values[2] = CStringGetTextDatum(option->type);
		nulls[3] = option->default_value == NULL;
		if (!nulls[3])
			values[3] = CStringGetTextDatum(option->default_value);
		values[4] = CStringGetTextDatum(option->help);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	PG_RETURN_VOID();
}
