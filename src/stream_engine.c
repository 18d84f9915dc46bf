/*
 * stream_engine.c
 *		Where PostgreSQL enters: module magic and _PG_init.
 *
 * _PG_init calls every module's init in floor order and does nothing else.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/draining.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "base/se.h"
#include "base/settings.h"
#include "base/shmem.h"
#include "base/waits.h"
#include "ddl/ddl.h"
#include "ddl/stream_ddl.h"
#include "log/append.h"
#include "meta/jobs.h"
#include "runtime/runtime.h"

SE_MODULE_MAGIC;

extern SE_EXPORT void _PG_init(void);

void
_PG_init(void)
{
	se_settings_init();
	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;

	/* base */
	se_database_slot_init();
	se_job_slot_init();
	se_holds_init();
	se_draining_init();
	se_waits_init();
	se_clock_init();
	se_fault_init();

	/* meta */
	se_meta_init();

	/* log */
	se_append_init();

	/* runtime */
	se_launcher_init();
	se_standby_init();

	/* ddl */
	se_stream_ddl_init();
	se_ddl_init();

	se_shmem_install();
}
