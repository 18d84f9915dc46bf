/*
 * log/missing_wal.c
 *		The segments of the WAL that a reader needs and that are not there, by file name.
 *
 * A segment in which a timeline ends is read under the name it has in the newest
 * timeline that it holds, as PostgreSQL's own reader does.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "lib/stringinfo.h"
#include "log/missing_wal.h"
#include "log/retention.h"

/* Runs of segments that are named one by one. */
#define MAX_RUNS 8

static TimeLineID current_timeline(void);
static void segment_name(XLogSegNo segment, List *history, char *name);
static bool is_missing(const char *name);

char *
se_missing_wal_names(XLogRecPtr from)
{
	List	   *history = readTimeLineHistory(current_timeline());
	StringInfoData names;
	char		first[MAXFNAMELEN] = "";
	char		last[MAXFNAMELEN] = "";
	XLogSegNo	segment;
	XLogSegNo	end;
	int			runs = 0;

	initStringInfo(&names);
	XLByteToSeg(from, segment, wal_segment_size);
	XLByteToPrevSeg(se_retention_end(), end, wal_segment_size);
	for (; segment <= end + 1; segment++)
	{
		char		name[MAXFNAMELEN];
		bool		missing = segment <= end;

		if (missing)
		{
			segment_name(segment, history, name);
			missing = is_missing(name);
		}
		/* A run ends with its timeline, too: what comes next is not the next name. */
		if (first[0] != '\0' && (!missing || strncmp(name, first, 8) != 0))
		{
			if (runs++ < MAX_RUNS)
			{
				appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", first);
				if (strcmp(first, last) != 0)
					appendStringInfo(&names, " to %s", last);
			}
			first[0] = '\0';
		}
		if (!missing)
			continue;
		if (first[0] == '\0')
			strlcpy(first, name, sizeof(first));
		strlcpy(last, name, sizeof(last));
	}
	if (runs > MAX_RUNS)
		appendStringInfoString(&names, ", and more");
	return names.len > 0 ? names.data : NULL;
}

static TimeLineID
current_timeline(void)
{
	TimeLineID	timeline;

	if (!RecoveryInProgress())
		return GetWALInsertionTimeLine();
	(void) GetXLogReplayRecPtr(&timeline);
	return timeline;
}

static void
segment_name(XLogSegNo segment, List *history, char *name)
{
	XLogRecPtr	next;

	XLogSegNoOffsetToRecPtr(segment + 1, 0, wal_segment_size, next);
	XLogFileName(name, tliOfPointInHistory(next - 1, history), segment, wal_segment_size);
}

static bool
is_missing(const char *name)
{
	char		path[MAXPGPATH];
	struct stat file;

	snprintf(path, MAXPGPATH, XLOGDIR "/%s", name);
	return stat(path, &file) != 0 && errno == ENOENT;
}
