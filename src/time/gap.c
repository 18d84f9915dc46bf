/*
 * time/gap.c
 *		The gap of a session: how long nothing happens before it is over.
 */
#include "postgres.h"

#include "common/int.h"
#include "time/gap.h"

int64
se_gap_usecs(const Interval *gap)
{
	int64		usecs;

	if (gap->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the gap of a session must not have months or years"),
				 errdetail("Their length depends on the date."),
				 errhint("Give it in days, such as interval '30 days'.")));
	if (pg_mul_s64_overflow(gap->day, USECS_PER_DAY, &usecs) ||
		pg_add_s64_overflow(usecs, gap->time, &usecs))
		ereport(ERROR,
				(errcode(ERRCODE_INTERVAL_FIELD_OVERFLOW),
				 errmsg("interval out of range")));
	if (usecs < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the gap of a session must not be negative"),
				 errhint("Give the time without rows after which a session is over, such as interval '10 minutes'.")));
	return usecs;
}
