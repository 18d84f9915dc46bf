/*
 * meta/late_output.h
 *		Which table the option late_output means: by its name, and by the dependency on it.
 *
 * The definition view of a continuous view depends on the table, so that it is not dropped
 * by accident, and is found under another name. It is the only relation that a definition
 * itself, and not its query, has a normal dependency on.
 */
#ifndef SE_META_LATE_OUTPUT_H
#define SE_META_LATE_OUTPUT_H

#include "base/se.h"
#include "utils/relcache.h"

/* Columns of the table that are not the stream's. */
#define SE_LATE_VIEW		"late_view"
#define SE_LATE_WATERMARK	"late_watermark"
#define SE_LATE_ARRIVED		"late_arrived"
#define SE_LATE_REASON		"late_reason"

/* The table the definition depends on; InvalidOid = none. */
extern Oid	se_late_output_dependency(Oid definition);

/* Let the definition depend on this table, and no other; InvalidOid = on none. */
extern void se_late_output_depend(Oid definition, Oid table);

/*
 * The table of an option's value (NULL = none). `pending`: the option was set to another one since, further on in the
 * log. ERROR (42P01) if it is gone. Needs a transaction; takes no lock.
 */
extern Oid	se_late_output_find(Oid definition, const char *value, bool pending);

/*
 * ERROR (42501) unless the owner of the table, and of each partition of it, may act as the role in any case: what the table
 * runs for a row (triggers, defaults, constraints) runs with the rights of that role, `owner`,
 * the view's. The table is open.
 */
extern void se_late_output_check_owner(Relation table, Oid owner);

#endif							/* SE_META_LATE_OUTPUT_H */
