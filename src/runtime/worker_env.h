/*
 * runtime/worker_env.h
 *		What every worker of ours runs under: settings, and the owner's rights.
 */
#ifndef SE_WORKER_ENV_H
#define SE_WORKER_ENV_H

#include "base/se.h"
#include "meta/jobs.h"

/* Signals, connection and forced settings of a worker in one database. */
extern void se_worker_connect(Oid database);

/* Apply the settings the view was created under. Outside any transaction. */
extern void se_worker_apply_settings(const SeJobMeta *meta);

/*
 * Begin a transaction with an active snapshot, as the owner of a relation in a
 * restricted operation; the owner is read anew. Read-only: functions that write fail
 * with 25006. False (and no transaction) if the relation is gone.
 */
extern bool se_worker_begin(Oid relation, bool read_only);

/* End it, committing with the user still switched. */
extern void se_worker_commit(void);

/* A transaction with an active snapshot as ourselves: catalog work, no user code. */
extern void se_worker_begin_own(void);
extern void se_worker_commit_own(void);

/*
 * After an error in a duty the others of this process do not depend on: report it, roll
 * back, give up what the process holds. Call in PG_CATCH. Cannot raise.
 */
extern void se_worker_survive(void);

/* Reload the configuration if asked, and leave if the postmaster did. Call between transactions. */
extern void se_worker_between(void);

#endif							/* SE_WORKER_ENV_H */
