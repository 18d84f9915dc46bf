/*
 * runtime/runtime.h
 *		The processes that turn the wheel: launcher, coordinators, task workers.
 */
#ifndef SE_RUNTIME_H
#define SE_RUNTIME_H

#include "base/se.h"
#include "base/job_slot.h"
#include "flow/graph.h"
#include "flow/operator.h"

/* Registers the launcher. Runs in: _PG_init of the postmaster. */
extern void se_launcher_init(void);

/* Registers the process that serves a standby, and its shared memory. Runs in: _PG_init. */
extern void se_standby_init(void);

/*
 * Databases (Oid list, in the current memory context): all, or those a worker can connect
 * to and has any business in. Outside a transaction; needs shared catalogs only.
 */
extern List *se_launcher_databases(bool all);

/* Entry points named in BackgroundWorker.bgw_function_name (exported). */
extern SE_EXPORT void stream_engine_launcher_main(Datum arg);
extern SE_EXPORT void stream_engine_coordinator_main(Datum arg);
extern SE_EXPORT void stream_engine_task_main(Datum arg);
extern SE_EXPORT void stream_engine_vacuum_main(Datum arg);
extern SE_EXPORT void stream_engine_standby_main(Datum arg);
extern SE_EXPORT void stream_engine_standby_look_main(Datum arg);

/* runtime/registry.c: the only place that knows which operator a node is. */
extern SeOperator *se_registry_operator(const SeNode *node, SeOperatorEnv *env);

/*
 * runtime/waiting.c: what the server lacks, so that a job of this database that shall run
 * has no slot; NULL if it will get one at once. Runs in: sessions.
 */
extern const char *se_waiting_why(void);

/*
 * runtime/wait.c. Runs in: sessions, no locks a worker may need (checked: 40P01).
 * Wait until everything committed before `lsn` is in the visible result of the job.
 * timeout_ms < 0: none; a timeout is an ERROR (57014 query_canceled class). A job that is
 * stopped, failed or dormant is an ERROR (55000) that names its last error. `asked`:
 * let it commit at once instead of at its checkpoint interval. `name`: as the caller
 * knows it, for errors; NULL = as it is called now.
 */
extern void se_wait_reflected(Oid job, const char *name, XLogRecPtr lsn, int64 timeout_ms, bool asked);
extern void se_wait_state(Oid job, SeJobState state, int64 timeout_ms);

#endif							/* SE_RUNTIME_H */
