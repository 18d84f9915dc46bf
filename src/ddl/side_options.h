/*
 * ddl/side_options.h
 *		Options late_output and on_error when they are set: who may, and the table of late rows.
 */
#ifndef SE_SIDE_OPTIONS_H
#define SE_SIDE_OPTIONS_H

#include "ddl/ddl_internal.h"

/* The option's value with its schema, quoted. */
extern char *se_side_options_normal_form(const char *text);

/*
 * The view has these options now: make the table of late rows, if there is none, let the view depend on it, and
 * check what they need; ERROR otherwise. `utility` NULL: the table must be there. `keep`: nobody speaks of late_output, so it
 * stays the table the view depends on, whatever it is called now. As the current user, who owns the view
 * or may act for its owner; `graph` may be of a query without a table.
 */
extern void se_side_options_apply(SeUtility *utility, Oid view, Oid definition, List *options, const SeGraph *graph, bool keep);

#endif							/* SE_SIDE_OPTIONS_H */
