/*
 * base/shmem.c
 *		Asks for our shared memory and initialises it, for every module that registered.
 *
 * Runs in: the postmaster (request, first initialisation) and, under EXEC_BACKEND,
 * every process (attach).
 */
#include "postgres.h"

#include "base/shmem.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#define MAX_PIECES 16

typedef struct Piece
{
	const char *name;
	Size		size;
	SeShmemInit init;
	void	  **where;
} Piece;

static Piece pieces[MAX_PIECES];
static int	npieces = 0;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static void request(void);
static void startup(void);

void
se_shmem_register(const char *name, Size size, SeShmemInit init, void **where)
{
	if (npieces >= MAX_PIECES)
		elog(ERROR, "too many pieces of shared memory");
	pieces[npieces++] = (Piece)
	{
		name, size, init, where
	};
}

void
se_shmem_install(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

static void
request(void)
{
	if (next_request_hook)
		next_request_hook();
	for (int i = 0; i < npieces; i++)
		RequestAddinShmemSpace(MAXALIGN(pieces[i].size));
}

static void
startup(void)
{
	if (next_startup_hook)
		next_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < npieces; i++)
	{
		bool		found;

		*pieces[i].where = ShmemInitStruct(pieces[i].name, pieces[i].size, &found);
		if (!found)
		{
			memset(*pieces[i].where, 0, pieces[i].size);
			pieces[i].init(*pieces[i].where);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

void
se_shmem_require(void)
{
	if (npieces == 0 || *pieces[0].where == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("stream_engine must be loaded via shared_preload_libraries"),
				 errhint("Add stream_engine to shared_preload_libraries in postgresql.conf and restart the server.")));
}
