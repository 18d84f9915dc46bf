/*
 * base/fault.h
 *		Named places where tests make a process wait, fail or die.
 *
 * In test builds SE_FAULT_POINT("name") looks the name up in shared memory; SQL
 * functions (test/lib/test_support.sql) set what happens there:
 *
 *		wait	stop until the point is cleared, interruptible
 *		error	ereport(ERROR, XX000)
 *		fatal	ereport(FATAL)
 *		crash	kill -9 of the own process
 *		full	ereport(ERROR, 53100), as a full disk does
 *		skip	SE_FAULT_WRONG("name") is true: the mutant is on
 *
 * A point counts how often it was reached, so that a test can assert that it was.
 * Release builds compile them to nothing.
 */
#ifndef SE_FAULT_H
#define SE_FAULT_H

#include "base/se.h"

#ifdef SE_TEST_BUILD
extern void se_fault_point(const char *name);
extern bool se_fault_wrong(const char *name);
#define SE_FAULT_POINT(name) se_fault_point(name)
/* A switchable wrong (mutation test): true makes the code err on purpose. */
#define SE_FAULT_WRONG(name) unlikely(se_fault_wrong(name))
#else
#define SE_FAULT_POINT(name) ((void) 0)
#define SE_FAULT_WRONG(name) false
#endif

extern void se_fault_init(void);	/* registers shared memory; _PG_init */

#endif							/* SE_FAULT_H */
