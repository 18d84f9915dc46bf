/*
 * time/gap.h
 *		The gap of a session: how long nothing happens before it is over.
 */
#ifndef SE_GAP_H
#define SE_GAP_H

#include "base/se.h"
#include "datatype/timestamp.h"

/*
 * In microseconds; a day counts 24 hours. A gap with months or below zero is an error
 * (22023). A gap of zero is a session as long as one moment.
 */
extern int64 se_gap_usecs(const Interval *gap);

#endif							/* SE_GAP_H */
