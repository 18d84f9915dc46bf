/*
 * runtime/deaths.h
 *		Errors that a worker could not write down itself.
 */
#ifndef SE_DEATHS_H
#define SE_DEATHS_H

#include "base/se.h"

/*
 * Write what the slots of this database say and job_errors does not. Outside a
 * transaction. Returns ms until the next try, -1 if only for news. Runs in: coordinator.
 */
extern long se_deaths_write(void);

#endif							/* SE_DEATHS_H */
