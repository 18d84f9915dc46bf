/*
 * meta/remark.c
 *		The comment of a definition view: what a dump without data keeps of a job.
 *
 * pg_dump --schema-only leaves our catalog tables out, and takes the definition view with
 * its comment along. Two lines after the first, each a text[] as PostgreSQL writes it:
 *
 *		continuous view of stream_engine
 *		options {continuous=true,…}
 *		settings {TimeZone=UTC,…}
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "meta/remark.h"
#include "meta/table.h"
#include "utils/fmgroids.h"

#define TITLE "continuous view of stream_engine\n"
#define OPTIONS "options "
#define SETTINGS "\nsettings "

void
se_remark_write(const SeJobMeta *meta)
{
	char	   *options = OidOutputFunctionCall(F_ARRAY_OUT, se_jobs_pairs_to_datum(meta->options));
	char	   *settings = OidOutputFunctionCall(F_ARRAY_OUT, se_jobs_pairs_to_datum(meta->settings));

	CreateComments(meta->definition, RelationRelationId, 0,
				   psprintf(TITLE OPTIONS "%s" SETTINGS "%s", options, settings));
}

/* A text[] of name=value as pairs. */
static List *
read_pairs(char *text)
{
	Datum		array = OidInputFunctionCall(F_ARRAY_IN, text, TEXTOID, -1);

	return se_jobs_pairs_from_strings(se_table_datum_to_strings(array));
}

bool
se_remark_read(SeJobMeta *meta)
{
	char	   *text = GetComment(meta->definition, RelationRelationId, 0);
	char	   *options;
	char	   *settings;

	if (text == NULL || strncmp(text, TITLE OPTIONS, strlen(TITLE OPTIONS)) != 0)
		return false;
	options = text +strlen(TITLE OPTIONS);

	settings = strstr(options, SETTINGS);
	if (settings == NULL)
		return false;
	*settings = '\0';
	meta->options = read_pairs(options);
	meta->settings = read_pairs(settings + strlen(SETTINGS));
	return true;
}
