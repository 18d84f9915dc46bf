/*
 * flow/emit.c
 *		When results come: the options `emit` and `allowed_lateness` of a view, read and printed.
 *
 * The normal form is what is stored with the view and read again by its worker, so it
 * must come out of itself. Intervals may stand in single quotes.
 */
#include "postgres.h"

#include <ctype.h>

#include "common/int.h"
#include "datatype/timestamp.h"
#include "flow/emit.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define GRAMMAR "on_close, on_update, early <interval> [processing], every <n> rows, late <interval>"

static void parse_item(const char *text, char *item, SeEmit *emit);
static void parse_early(char *rest, SeEmit *emit);
static int64 parse_rows(const char *text, char *rest);
static void check_alone(const char *text, const char *word, const char *rest);
static void check_new(const char *text, const char *word, bool given);
static char *trimmed(char *text);
static char *split_word(char *text);
static void interval_context(void *arg);

void
se_emit_parse(const char *text, SeEmit *emit)
{
	char	   *list;
	char	   *item;
	char	   *next;

	if (text == NULL)
		return;
	emit->given = true;
	list = pstrdup(text);
	for (item = list; item != NULL; item = next)
	{
		next = strchr(item, ',');
		if (next != NULL)
			*next++ = '\0';
		parse_item(text, trimmed(item), emit);
	}
	pfree(list);
}

/* One item of the list, in a private copy. */
static void
parse_item(const char *text, char *item, SeEmit *emit)
{
	char	   *rest = split_word(item);

	if (pg_strcasecmp(item, "on_close") == 0)
	{
		check_alone(text, "on_close", rest);
		check_new(text, "on_close", emit->on_close);
		emit->on_close = true;
	}
	else if (pg_strcasecmp(item, "on_update") == 0)
	{
		check_alone(text, "on_update", rest);
		check_new(text, "on_update", emit->on_update);
		emit->on_update = true;
	}
	else if (pg_strcasecmp(item, "early") == 0)
	{
		check_new(text, "early", emit->early > 0);
		parse_early(rest, emit);
	}
	else if (pg_strcasecmp(item, "every") == 0)
	{
		check_new(text, "every", emit->every > 0);
		emit->every = parse_rows(text, rest);
	}
	else if (pg_strcasecmp(item, "late") == 0)
	{
		check_new(text, "late", emit->late_given);
		emit->late = se_emit_interval("emit", rest, true);
		emit->late_given = true;
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"stream_engine.emit\": \"%s\"", text),
				 item[0] == '\0' ? errdetail("An item of the list is empty.") :
				 errdetail("\"%s\" says nothing about when results come.", item),
				 errhint("It is a list of: %s.", GRAMMAR)));
}

/* The last word may say which time is meant. */
static void
parse_early(char *rest, SeEmit *emit)
{
	static const char word[] = "processing";
	size_t		len = strlen(rest);
	size_t		word_len = sizeof(word) - 1;

	if (len > word_len && pg_strcasecmp(rest + len - word_len, word) == 0 &&
		(isspace((unsigned char) rest[len - word_len - 1]) || rest[len - word_len - 1] == '\''))
	{
		emit->early_clock = true;
		rest[len - word_len] = '\0';
		rest = trimmed(rest);
	}
	emit->early = se_emit_interval("emit", rest, false);
}

/* "<n> rows" */
static int64
parse_rows(const char *text, char *rest)
{
	char	   *unit = split_word(rest);
	int64		rows = 0;
	bool		valid = rest[0] != '\0' && (pg_strcasecmp(unit, "rows") == 0 || pg_strcasecmp(unit, "row") == 0);

	for (const char *digit = rest; valid && *digit != '\0'; digit++)
		valid = isdigit((unsigned char) *digit) && !pg_mul_s64_overflow(rows, 10, &rows) &&
			!pg_add_s64_overflow(rows, *digit - '0', &rows);
	if (!valid || rows <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"stream_engine.emit\": \"%s\"", text),
				 errdetail("After \"every\" comes a positive number of rows."),
				 errhint("Write, for example, every 100 rows.")));
	return rows;
}

static void
check_alone(const char *text, const char *word, const char *rest)
{
	if (rest[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"stream_engine.emit\": \"%s\"", text),
				 errdetail("Nothing can stand behind \"%s\", but \"%s\" does.", word, rest),
				 errhint("Items are separated by commas: %s.", GRAMMAR)));
}

static void
check_new(const char *text, const char *word, bool given)
{
	if (given)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"stream_engine.emit\": \"%s\"", text),
				 errdetail("\"%s\" is given more than once.", word),
				 errhint("Keep one of them.")));
}

void
se_emit_parse_lateness(const char *text, SeEmit *emit)
{
	if (text !=NULL)
		emit->lateness = se_emit_interval("allowed_lateness", text, true);
}

int64
se_emit_interval(const char *option, const char *text, bool zero)
{
	ErrorContextCallback callback = {error_context_stack, interval_context, (void *) option};
	char	   *copy = trimmed(pstrdup(text));
	size_t		len = strlen(copy);
	Interval   *interval;
	int64		usecs;

	if (len >= 2 && copy[0] == '\'' && copy[len - 1] == '\'')
	{
		copy[len - 1] = '\0';
		copy = trimmed(copy + 1);
	}
	if (copy[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"stream_engine.%s\" needs an interval", option),
				 errhint("Write, for example, 10 seconds.")));
	error_context_stack = &callback;
	interval = DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(copy),
													 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	error_context_stack = callback.previous;

	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval \"%s\" of option \"stream_engine.%s\" has no fixed length", copy, option),
				 errdetail("Months and years have more or fewer days."),
				 errhint("Use days, hours or shorter units.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &usecs) ||
		pg_add_s64_overflow(usecs, interval->time, &usecs) ||
		usecs > (int64) 100 * 366 * USECS_PER_DAY || usecs < 0 || (usecs == 0 && !zero))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("interval \"%s\" is outside the valid range for option \"stream_engine.%s\"", copy, option),
				 errdetail("Valid is %s to 36600 days.", zero ? "0" : "more than 0")));
	return usecs;
}

static void
interval_context(void *arg)
{
	errcontext("option stream_engine.%s", (const char *) arg);
}

char *
se_emit_print(const SeEmit *emit)
{
	StringInfoData out;

	initStringInfo(&out);
	if (emit->on_close)
		appendStringInfoString(&out, ", on_close");
	if (emit->on_update)
		appendStringInfoString(&out, ", on_update");
	if (emit->early > 0)
		appendStringInfo(&out, ", early %s%s", se_emit_length(emit->early), emit->early_clock ? " processing" : "");
	if (emit->every > 0)
		appendStringInfo(&out, ", every " INT64_FORMAT " rows", emit->every);
	if (emit->late_given)
		appendStringInfo(&out, ", late %s", se_emit_length(emit->late));
	return out.len > 0 ? out.data + 2 : out.data;
}

char *
se_emit_print_lateness(const SeEmit *emit)
{
	return se_emit_length(emit->lateness);
}

char *
se_emit_length(int64 usecs)
{
	static const struct
	{
		int64		usecs;
		const char *name;
	}			units[] =
	{
		{USECS_PER_DAY, "d"}, {USECS_PER_HOUR, "h"}, {USECS_PER_MINUTE, "min"},
		{USECS_PER_SEC, "s"}, {1000, "ms"}, {1, "us"}
	};
	int			i = 0;

	if (usecs == 0)
		return pstrdup("0");
	while (usecs % units[i].usecs != 0)
		i++;
	return psprintf(INT64_FORMAT " %s", usecs / units[i].usecs, units[i].name);
}

/* Without the blanks around it; in place. */
static char *
trimmed(char *text)
{
	size_t		len;

	while (isspace((unsigned char) *text))
		text	  ++;

	len = strlen(text);
	while (len > 0 && isspace((unsigned char) text[len - 1]))
		text[	  --len] = '\0';
	return text;
}

/* Cut the first word off a trimmed text; what follows it is returned, without blanks around it. */
static char *
split_word(char *text)
{
	char	   *end = text;

	while (*end != '\0' && !isspace((unsigned char) *end) && *end != '\'')
		end++;
	if (*end == '\0')
		return end;
	if (*end == '\'')
	{
		/* early'10 s': the quote belongs to what follows */
		char	   *rest = pstrdup(end);

		*end = '\0';
		return trimmed(rest);
	}
	*end++ = '\0';
	return trimmed(end);
}
