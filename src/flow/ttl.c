/*
 * flow/ttl.c
 *		How long groups are remembered: the option `state_ttl` of a view, read and printed.
 */
#include "postgres.h"

#include <ctype.h>

#include "flow/emit.h"
#include "flow/ttl.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

static char *find_on(char *text);

void
se_ttl_parse(const char *text, SeTtlOption *option)
{
	char	   *interval = pstrdup(text);
	char	   *on = find_on(interval);
	List	   *names = NIL;

	option->column = NULL;
	if (on != NULL)
	{
		*on = '\0';
		if (!SplitIdentifierString(on + 2, ',', &names) || list_length(names) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("invalid value for option \"stream_engine.state_ttl\": \"%s\"", text),
					 errdetail("After ON stands the name of one column, in double quotes if need be."),
					 errhint("Write an interval, or an interval and the event time column: '1 day on ts'.")));
		option->column = linitial(names);
	}
	option->usecs = se_emit_interval("state_ttl", interval, false);
}

/* The word ON, which no interval has in it. */
static char *
find_on(char *text)
{
	for (char *at = text; *at != '\0' && *at != '"'; at++)
	{
		if (pg_strncasecmp(at, "on", 2) == 0 && at > text &&
			(isspace((unsigned char) at[-1]) || at[-1] == '\'') &&
			(at[2] == '\0' || at[2] == '"' || isspace((unsigned char) at[2])))
			return at;
	}
	return NULL;
}

char *
se_ttl_print(const SeTtlOption *option)
{
	if (option->column == NULL)
		return se_emit_length(option->usecs);
	return psprintf("%s on %s", se_emit_length(option->usecs), quote_identifier(option->column));
}
