/*
 * log/options_mark.c
 *		The mark from which on a job has other options: its bytes.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "log/append.h"
#include "log/options_mark.h"
#include "meta/jobs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"

#define OPTIONS_MARK_VERSION 1

typedef struct Head
{
	uint8		version;
	uint8		spare[3];
	uint32		count;
	uint64		lsn;
} Head;

StaticAssertDecl(sizeof(Head) == 16, "the mark's bytes are stored");

void
se_options_mark_write(Oid job, const SeOptionsMark *mark)
{
	Head		head = {.version = OPTIONS_MARK_VERSION,.count = list_length(mark->options),.lsn = mark->lsn};
	StringInfoData body;
	ListCell   *cell;

	initStringInfo(&body);
	appendBinaryStringInfo(&body, (const char *) &head, sizeof(head));
	foreach(cell, mark->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		appendStringInfo(&body, "%s=%s", option->defname, strVal(option->arg));
		appendStringInfoChar(&body, '\0');
	}
	se_append_options(job, body.data, body.len);
	pfree(body.data);
}

SeOptionsMark *
se_options_mark_decode(const char *body, Size len)
{
	SeOptionsMark *mark = palloc0(sizeof(SeOptionsMark));
	const char *end = body + len;
	List	   *strings = NIL;
	Head		head;

	if (len >= sizeof(head))
	{
		memcpy(&head, body, sizeof(head));
		body += sizeof(head);
		while (body < end && memchr(body, '\0', end - body) != NULL)
		{
			strings = lappend(strings, pstrdup(body));
			body += strlen(body) + 1;
		}
	}
	if (len < sizeof(head) || head.version != OPTIONS_MARK_VERSION || body != end ||
		head.count != (uint32) list_length(strings))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("mark of %zu bytes in the stream log does not say a view's options", len)));
	mark->lsn = head.lsn;
	mark->options = se_jobs_pairs_from_strings(strings);
	return mark;
}
