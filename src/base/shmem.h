/*
 * base/shmem.h
 *		Our part of shared memory: each module registers its size and its initialiser.
 */
#ifndef SE_SHMEM_H
#define SE_SHMEM_H

/* Called once, under AddinShmemInitLock, with zeroed memory of the asked size. */
typedef void (*SeShmemInit) (void *memory);

/*
 * Ask for a named piece. `where` receives its address at startup, in every
 * process. Runs in: _PG_init of the postmaster, before se_shmem_install.
 */
extern void se_shmem_register(const char *name, Size size, SeShmemInit init, void **where);

/* Installs shmem_request_hook and shmem_startup_hook. Runs in: _PG_init. */
extern void se_shmem_install(void);

/* Raises 55000 with a hint unless the library was preloaded. */
extern void se_shmem_require(void);

#endif							/* SE_SHMEM_H */
