/*
 * meta/jobs.h
 *		Catalog table stream_engine.job_catalog: one row per continuous view.
 *
 * Written with heap calls, so that nobody needs a privilege on it. Functions
 * here need a transaction; they take the locks of an ordinary catalog access.
 */
#ifndef SE_META_JOBS_H
#define SE_META_JOBS_H

#include "base/se.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

/* What a person wants of a job, and what the last error decided. Stored as text. */
typedef enum SeJobGoal
{
	SE_GOAL_RUN = 'r',
	SE_GOAL_STOP = 's',
	SE_GOAL_FAILED = 'f'		/* stopped by an error only a person can clear */
} SeJobGoal;

typedef struct SeJobMeta
{
	Oid			job;			/* result table */
	Oid			definition;		/* definition view */
	char		goal;
	List	   *options;		/* DefElem (name, String): the stream_engine.* of WITH, as asked for */
	XLogRecPtr	options_lsn;	/* where the log stood when they were last changed */
	List	   *settings;		/* DefElem: TimeZone, search_path, … of the creator */
	/* identity */
	uint64		system_identifier;
	Oid			database;
	Oid			catalog_oid;	/* the result table's OID as a plain number */
	int			pg_major;
	uint64		oid_space;		/* equal where OIDs of types and labels in state mean the same */
	bool		kept_oids;		/* false: the row came out of a dump, so OIDs inside of state mean nothing here */
} SeJobMeta;

extern List *se_jobs_list(void);	/* SeJobMeta *, palloc'd */
extern SeJobMeta *se_jobs_get(Oid job); /* NULL if none */
extern bool se_jobs_exists(Oid job);

/* The definition view, InvalidOid if there is no such job; also if another build of the extension made the tables. */
extern Oid	se_jobs_definition(Oid job);

/* Was the job's row written by the current transaction, so that nobody else sees it yet? */
extern bool se_jobs_is_uncommitted(Oid job);
extern void se_jobs_insert(const SeJobMeta *meta);
extern void se_jobs_set_goal(Oid job, SeJobGoal goal);
extern void se_jobs_set_options(Oid job, List *options, XLogRecPtr lsn);
extern void se_jobs_delete(Oid job);

/* From now on the job is this database's, and shall run. Needs the lock of se_jobs_lock. */
extern void se_jobs_adopt(Oid job);

/*
 * Who changes a job, writes down its errors, or drops it comes one after the other, until
 * the end of each transaction. False if somebody else has the lock and we must not wait,
 * or the extension is gone.
 */
extern bool se_jobs_lock(Oid job, bool wait);
extern bool se_jobs_identity_is_ours(const SeJobMeta *meta);

/* Let the identity be this cluster's, this database's, and that of meta->job. */
extern void se_jobs_identify(SeJobMeta *meta);

/* DefElem list (name, String) as text[] of name=value, and the way back from its strings. */
extern Datum se_jobs_pairs_to_datum(List *pairs);
extern List *se_jobs_pairs_from_strings(List *strings);

/* Value of an option or setting, or NULL. */
extern const char *se_jobs_option(const SeJobMeta *meta, const char *name);

/* OID of a catalog table of ours by name, cached per backend; InvalidOid if not installed here. */
extern Oid	se_meta_relation(const char *name);

/* After this transaction's commit wake coordinator and launcher: a job or stream changed. */
extern void se_meta_notify_at_commit(void);
extern void se_meta_init(void); /* registers the transaction callback; _PG_init */

#endif							/* SE_META_JOBS_H */
