/*
 * ddl/ddl.h
 *		The front door: the hooks through which PostgreSQL's own commands reach us.
 */
#ifndef SE_DDL_H
#define SE_DDL_H

#include "base/se.h"

/* Installs the hooks. Runs in: _PG_init of the postmaster. */
extern void se_ddl_init(void);

#endif							/* SE_DDL_H */
