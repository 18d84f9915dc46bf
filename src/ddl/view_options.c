/*
 * ddl/view_options.c
 *		The stream_engine.* options of a continuous view: one table makes validation, errors and documentation.
 *
 * Options are stored with the view in a normal form that says its unit ("200ms",
 * "1048576kB"), so that what a person sees is what a worker reads. What was not given
 * is not stored: the server's setting of the same name then counts, as it is when the
 * worker starts.
 */
#include "postgres.h"

#include <limits.h>

#include "commands/defrem.h"
#include "ddl/side_options.h"
#include "ddl/view_options.h"
#include "flow/emit.h"
#include "flow/ttl.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

typedef enum OptionType
{
	OPTION_BOOL,
	OPTION_INT,
	OPTION_CHOICE,
	OPTION_TEXT
} OptionType;

typedef struct Option
{
	const char *name;
	OptionType	type;
	const char *fallback;		/* shown and used when absent; NULL: the setting of this name */
	int			places;			/* SeOptionPlace, ORed */
	int			unit;			/* OPTION_INT: GUC_UNIT_… or 0 */
	int			min;
	int			max;
	const char *choices;		/* OPTION_CHOICE: separated by ", " */
	const char *help;
	char	   *(*normal_form) (const char *text);	/* OPTION_TEXT: raises if the value is wrong */
	const char *type_name;		/* OPTION_TEXT */
	const char *fixed;			/* why it cannot be changed; NULL: because it says how the view is created */
} Option;

static char *normal_emit(const char *text);
static char *normal_lateness(const char *text);
static char *normal_ttl(const char *text);
static char *normal_retention(const char *text);

static const Option options_table[] = {
	{
		"continuous", OPTION_BOOL, "false", SE_OPTION_CREATE, 0, 0, 0, NULL,
		"Keep the result up to date from the stream; this makes the view a continuous one."
	},
	{
		"start", OPTION_CHOICE, "now", SE_OPTION_CREATE, 0, 0, 0, "now, earliest",
		"Which rows the view sees: those written from its creation on, or also the retained ones."
	},
	{
		"checkpoint_interval", OPTION_INT, NULL, SE_OPTION_CREATE | SE_OPTION_ALTER, GUC_UNIT_MS, 1, 3600 * 1000, NULL,
		"How often the view commits its results."
	},
	{
		"state_memory", OPTION_INT, NULL, SE_OPTION_CREATE | SE_OPTION_ALTER, GUC_UNIT_KB, 64, INT_MAX, NULL,
		"What the state of the view may hold; above it the view stops with an error."
	},
	{
		"on_error", OPTION_CHOICE, "stop", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, "stop, skip, dead_letter",
		"What happens at a row that raises an error: the view stops there, leaves the row out and counts it, or also keeps it in stream_engine.dead_letters."
	},
	{
		"restart", OPTION_CHOICE, "exponential", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, "exponential, none",
		"After an error that no row causes the view starts again, with growing delays, or stays failed."
	},
	{
		"late_output", OPTION_TEXT, "none", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"Table that keeps rows which are late for all their windows; it is created if it does not exist.",
		se_side_options_normal_form, "text"
	},
	{
		"emit", OPTION_TEXT, NULL, SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"When results come: on_close, on_update, early <interval> [processing], every <n> rows, late <interval>.",
		normal_emit, "list"
	},
	{
		"allowed_lateness", OPTION_TEXT, "0", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"How long after its end a window still takes late rows, whose results then change.",
		normal_lateness, "interval"
	},
	{
		"emit_partial", OPTION_BOOL, "false", SE_OPTION_CREATE, 0, 0, 0, NULL,
		"Count windows come after every slide, with the last rows up to their size, and the rest when the input ends.",
		.fixed = "It says which rows a window has, not when its result comes: with another value it is another query."
	},
	{
		"state_ttl", OPTION_TEXT, "never", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"A group without a window is forgotten so long after its last row: <interval> [on <event time column>].",
		normal_ttl, "interval"
	},
	{
		"ttl_delete", OPTION_BOOL, "false", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"When a group is forgotten its row of the result is deleted."
	},
	{
		"retention", OPTION_TEXT, "for ever", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 0, 0, NULL,
		"Rows of the result are deleted so long after their window, and its allowed_lateness, has ended.",
		normal_retention, "interval"
	},
	{
		"parallelism", OPTION_INT, "1", SE_OPTION_CREATE | SE_OPTION_ALTER, 0, 1, 1, NULL,
		"Workers of the view."
	},
};

static const Option *find(const char *name);
static const Option *check_known(const DefElem *given, SeOptionPlace place);
static char *normalise(const Option *option, DefElem *given);
static char *normalise_int(const Option *option, const char *text);
static char *normalise_choice(const Option *option, const char *text);
static const char *unit_name(int unit);
static char *all_names(SeOptionPlace place);

static inline bool
is_ours(const DefElem *element)
{
	return element->defnamespace != NULL && strcmp(element->defnamespace, SE_OPTION_NAMESPACE) == 0;
}

bool
se_view_options_any(List *with)
{
	ListCell   *cell;

	foreach(cell, with)
		if (is_ours(lfirst_node(DefElem, cell)))
		return true;
	return false;
}

List *
se_view_options_parse(List *with, SeOptionPlace place, List **rest)
{
	List	   *options = NIL;
	ListCell   *cell;

	*rest = NIL;
	foreach(cell, with)
	{
		DefElem    *given = lfirst_node(DefElem, cell);
		const Option *option;
		ListCell   *other;

		if (!is_ours(given))
		{
			*rest = lappend(*rest, given);
			continue;
		}
		option = check_known(given, place);
		foreach(other, options)
			if (strcmp(lfirst_node(DefElem, other)->defname, option->name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("option \"%s.%s\" is given more than once", SE_OPTION_NAMESPACE, option->name)));
		options = lappend(options,
						  makeDefElem(pstrdup(option->name), (Node *) makeString(normalise(option, given)), -1));
	}
	return options;
}

List *
se_view_options_names(List *with, SeOptionPlace place, List **rest)
{
	List	   *names = NIL;
	ListCell   *cell;

	*rest = NIL;
	foreach(cell, with)
	{
		DefElem    *given = lfirst_node(DefElem, cell);

		if (is_ours(given))
			names = lappend(names, makeDefElem(pstrdup(check_known(given, place)->name), NULL, -1));
		else
			*rest = lappend(*rest, given);
	}
	return names;
}

const char *
se_view_options_value(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return strVal(option->arg);
	}
	return find(name)->fallback;
}

List *
se_view_options_merge(List *options, List *changes)
{
	return list_concat(se_view_options_without(options, changes), list_copy(changes));
}

List *
se_view_options_without(List *options, List *names)
{
	List	   *left = NIL;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		ListCell   *other;
		bool		named = false;

		foreach(other, names)
			named |= strcmp(lfirst_node(DefElem, other)->defname, option->defname) == 0;
		if (!named)
			left = lappend(left, option);
	}
	return left;
}

/* The table's row of a name, or NULL. */
static const Option *
find(const char *name)
{
	for (int i = 0; i < lengthof(options_table); i++)
		if (strcmp(options_table[i].name, name) == 0)
			return &options_table[i];
	return NULL;
}

/* The table's row of a given option; an unknown or misplaced one is an error. */
static const Option *
check_known(const DefElem *given, SeOptionPlace place)
{
	const Option *option = find(given->defname);

	if (option == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized option \"%s.%s\"", SE_OPTION_NAMESPACE, given->defname),
				 errhint("Valid options are: %s.", all_names(place))));
	if ((option->places & place) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s.%s\" cannot be changed", SE_OPTION_NAMESPACE, option->name),
				 errdetail("%s", option->fixed ? option->fixed : "It says how the view is created."),
				 errhint("Options that can be changed are: %s.", all_names(place))));
	return option;
}

/* The given value in its normal form. */
static char *
normalise(const Option *option, DefElem *given)
{
	if (option->type == OPTION_BOOL)
		return pstrdup(defGetBoolean(given) ? "true" : "false");
	if (given->arg == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("option \"%s.%s\" needs a value", SE_OPTION_NAMESPACE, option->name)));
	if (option->type == OPTION_INT)
		return normalise_int(option, defGetString(given));
	if (option->type == OPTION_TEXT)
		return option->normal_form(defGetString(given));
	return normalise_choice(option, defGetString(given));
}

static char *
normalise_int(const Option *option, const char *text)
{
	const char *hint = NULL;
	int			value;

	if (!parse_int(text, &value, option->unit, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s.%s\": \"%s\"", SE_OPTION_NAMESPACE, option->name, text),
				 hint ? errhint("%s", _(hint)) : 0));
	if (value < option->min || value > option->max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d%s is outside the valid range for option \"%s.%s\"",
						value, unit_name(option->unit), SE_OPTION_NAMESPACE, option->name),
				 errdetail("Valid are %d to %d%s.", option->min, option->max, unit_name(option->unit))));
	return psprintf("%d%s", value, unit_name(option->unit));
}

static char *
normalise_choice(const Option *option, const char *text)
{
	char	   *choices = pstrdup(option->choices);

	for (char *choice = strtok(choices, ", "); choice != NULL; choice = strtok(NULL, ", "))
		if (pg_strcasecmp(choice, text) == 0)
			return choice;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s.%s\": \"%s\"", SE_OPTION_NAMESPACE, option->name, text),
			 errhint("Valid values are: %s.", option->choices)));
}

static char *
normal_emit(const char *text)
{
	SeEmit		emit = {0};

	se_emit_parse(text, &emit);
	return se_emit_print(&emit);
}

static char *
normal_lateness(const char *text)
{
	SeEmit		emit = {0};

	se_emit_parse_lateness(text, &emit);
	return se_emit_print_lateness(&emit);
}

static char *
normal_ttl(const char *text)
{
	SeTtlOption option;

	se_ttl_parse(text, &option);
	return se_ttl_print(&option);
}

static char *
normal_retention(const char *text)
{
	return se_emit_length(se_emit_interval("retention", text, false));
}

static const char *
unit_name(int unit)
{
	return unit == GUC_UNIT_MS ? "ms" : unit == GUC_UNIT_KB ? "kB" : "";
}

/* "a, b, c": the options of a place. */
static char *
all_names(SeOptionPlace place)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(options_table); i++)
		if (options_table[i].places & place)
			appendStringInfo(&names, "%s%s.%s", names.len > 0 ? ", " : "",
							 SE_OPTION_NAMESPACE, options_table[i].name);
	return names.data;
}

SE_FUNCTION_INFO_V1(stream_engine_view_options);

/* stream_engine.view_options(): the table above, as rows. */
Datum
stream_engine_view_options(PG_FUNCTION_ARGS)
{
	static const char *const types[] = {"boolean", "integer", "enum", NULL};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < lengthof(options_table); i++)
	{
		const Option *option = &options_table[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = CStringGetTextDatum(psprintf("%s.%s", SE_OPTION_NAMESPACE, option->name));
		values[1] = CStringGetTextDatum(option->type == OPTION_TEXT ? option->type_name : types[option->type]);
		values[2] = CStringGetTextDatum(option->fallback ? option->fallback :
										option->type == OPTION_TEXT ? "by the query" :
										psprintf("setting %s.%s", SE_OPTION_NAMESPACE, option->name));
		values[3] = CStringGetTextDatum(option->places & SE_OPTION_ALTER ? "create, alter" : "create");
		values[4] = CStringGetTextDatum(option->help);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
