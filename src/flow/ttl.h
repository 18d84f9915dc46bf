/*
 * flow/ttl.h
 *		How long groups are remembered: the option `state_ttl` of a view.
 *
 *		<interval>				since the last row came, by proctime()
 *		<interval> on <column>	since the greatest event time of the group's rows
 */
#ifndef SE_TTL_H
#define SE_TTL_H

#include "base/se.h"

typedef struct SeTtlOption
{
	int64		usecs;
	char	   *column;			/* NULL = processing time */
} SeTtlOption;

/* Read a value of the option; ERROR (22023, 22007, 22008, 42601) that says what is wrong. */
extern void se_ttl_parse(const char *text, SeTtlOption *option);

/* Its normal form, palloc'd; it is read as the same value. */
extern char *se_ttl_print(const SeTtlOption *option);

#endif							/* SE_TTL_H */
