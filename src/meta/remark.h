/*
 * meta/remark.h
 *		The comment of a definition view: what a dump without data keeps of a job.
 */
#ifndef SE_META_REMARK_H
#define SE_META_REMARK_H

#include "meta/jobs.h"

/* Let the definition's comment say the options and settings of its job. */
extern void se_remark_write(const SeJobMeta *meta);

/* Options and settings as the comment of meta->definition says; false if it does not. */
extern bool se_remark_read(SeJobMeta *meta);

#endif							/* SE_META_REMARK_H */
