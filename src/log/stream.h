/*
 * log/stream.h
 *		Facts about a stream: is it one, its event time, its watermark expression.
 */
#ifndef SE_STREAM_H
#define SE_STREAM_H

#include "base/se.h"
#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/relcache.h"

/* What is done with a row whose event time is none, or too far in the future. */
typedef enum SeBadTimeAction
{
	SE_BAD_TIME_ERROR,			/* it is refused */
	SE_BAD_TIME_DROP,			/* it is not written, but counted */
	SE_BAD_TIME_PASS,			/* it is written, and never moves the watermark */
	SE_BAD_TIME_DEAD_LETTER		/* it goes to the dead letters instead */
} SeBadTimeAction;

typedef struct SeStreamInfo
{
	Oid			relation;
	Oid			owner;
	char	   *connector;		/* "native" */
	AttrNumber	event_time;		/* 0 = none */
	Oid			event_time_type;
	char	   *watermark;		/* text of the option, NULL = none */
	char	   *timezone;		/* option, default "UTC" */
	SeBadTimeAction null_time;
	SeBadTimeAction infinite_time;
	SeBadTimeAction future_time;
	int64		max_future;		/* µs that an event time may be ahead of the clock; -1 = any */
	int64		max_delay;		/* µs that the watermark may be behind the clock; -1 = any */
	int64		idle_timeout;	/* µs without a row after which the stream is idle; 0 = never */
	bool		idle_advances;	/* while it is idle its watermark goes on with the clock */
} SeStreamInfo;

/* Is the relation a foreign table of our wrapper? */
extern bool se_stream_is(Oid relation);

/* A moment in the units of the stream's event time: a `timestamp` is on the clock of the stream's zone. And back. */
extern SeTime se_stream_event_time(const SeStreamInfo *info, SeTime moment);
extern SeTime se_stream_moment(const SeStreamInfo *info, SeTime event_time);

/* The words of options null_time, infinite_time and future_time; false if it is none of them. */
extern bool se_stream_parse_action(const char *word, SeBadTimeAction *action);

/* A length of time that is an option's value, in µs: a day has 24 hours, a month 30 days. False if it is negative or too long. */
extern bool se_stream_parse_length(const char *words, int64 *length);

/* The OIDs of all streams of the database. */
extern List *se_stream_list(void);

/* Facts of a stream; ERROR (wrong_object_type) if it is not one. */
extern SeStreamInfo *se_stream_info(Oid relation);

/*
 * The watermark expression of a stream, parsed and planned, over the stream's row:
 * Var(varno 1, varattno = attribute number). NULL if the stream has none. Checked:
 * type equals the event time's, no aggregates, subqueries or volatile functions.
 */
extern Expr *se_stream_watermark_expr(Relation stream, const SeStreamInfo *info);

/*
 * The analysed, unplanned expression of a raw one, checked the same way. Names and
 * literals are read under the settings in force.
 */
extern Node *se_stream_analyse_watermark(Relation stream, const SeStreamInfo *info, Node *raw);

/* The raw parse tree of a watermark's text: one expression, nothing else. */
extern Node *se_stream_parse_watermark(const char *words);

/*
 * Put the settings a stored text is written and read under into force: the stream's
 * time zone, ISO dates and intervals, and an empty search_path unless `keep_path`.
 * Returns the level for AtEOXact_GUC(false, level), which undoes it.
 */
extern int	se_stream_pin_settings(const SeStreamInfo *info, bool keep_path);

#endif							/* SE_STREAM_H */
