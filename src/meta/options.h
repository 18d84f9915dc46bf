/*
 * meta/options.h
 *		Options that the log moves: those of a view that decide its results.
 *
 * Such an option counts from a place in the log on (docs/design/commit.md). What a person
 * asked for stands in job_catalog, what is in effect with the position. All others count
 * as soon as the worker hears of them. Lists are DefElem (name, String).
 */
#ifndef SE_META_OPTIONS_H
#define SE_META_OPTIONS_H

#include "base/se.h"
#include "nodes/pg_list.h"

/*
 * Not a person's to give: an ALTER has taken back options under which results changed. Rows of
 * the result may be early ones still, so they stay such that are found by their key and updated.
 */
#define SE_OPTION_UPDATING "updating"

/* Does the option count from a place in the log on? */
extern bool se_options_is_moved(const char *name);

/* Those of a list that do, in the order of the list. */
extern List *se_options_moved(const List *options);

/* What counts: of what was asked for, those that are not moved; and those the position says. */
extern List *se_options_in_effect(const List *asked, const List *moved);

/* The same names and values, in whatever order? */
extern bool se_options_equal(const List *options, const List *others);

#endif							/* SE_META_OPTIONS_H */
