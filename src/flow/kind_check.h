/*
 * flow/kind_check.h
 *		Does every key walk the way of row kinds? A checker for tests and debugging.
 *
 *		absent --> +I --> ( -U  +U )* --> -D --> absent ...
 *
 * In upsert mode -U is left out: +I, then +U as often as one likes, then -D. A key may
 * begin with +U if its row was in the result before the walk is watched.
 */
#ifndef SE_KIND_CHECK_H
#define SE_KIND_CHECK_H

#include "base/se.h"
#include "flow/row.h"

typedef struct SeKindCheck SeKindCheck;

/* Keys are byte strings of any length; `upsert`: rows come without -U. */
extern SeKindCheck *se_kind_check_new(MemoryContext memory, bool upsert);

/* The row is there before the first step. */
extern void se_kind_check_present(SeKindCheck *check, const void *key, Size len);

/* One step of one key; NULL, or what is wrong with it. */
extern const char *se_kind_check_step(SeKindCheck *check, const void *key, Size len, SeRowKind kind);

/* At a point where all rows are whole: NULL, or that a key stands between -U and +U. */
extern const char *se_kind_check_rest(const SeKindCheck *check);

#endif							/* SE_KIND_CHECK_H */
