/*
 * meta/options.c
 *		Options that the log moves: those of a view that decide its results.
 */
#include "postgres.h"

#include "meta/options.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"

/* What decides which rows a result has, and not only when it has them or how much that may cost. */
static const char *const moved[] = {
	"allowed_lateness", "emit", "emit_partial", "late_output", "on_error", "retention", "state_ttl", "ttl_delete",
	SE_OPTION_UPDATING,
};

bool
se_options_is_moved(const char *name)
{
	for (int i = 0; i < lengthof(moved); i++)
		if (strcmp(moved[i], name) == 0)
			return true;
	return false;
}

List *
se_options_moved(const List *options)
{
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, options)
		if (se_options_is_moved(lfirst_node(DefElem, cell)->defname))
		found = lappend(found, lfirst(cell));
	return found;
}

List *
se_options_in_effect(const List *asked, const List *moved_options)
{
	List	   *options = NIL;
	ListCell   *cell;

	foreach(cell, asked)
		if (!se_options_is_moved(lfirst_node(DefElem, cell)->defname))
		options = lappend(options, lfirst(cell));
	return list_concat(options, list_copy(moved_options));
}

bool
se_options_equal(const List *options, const List *others)
{
	ListCell   *cell;
	ListCell   *other;

	if (list_length(options) != list_length(others))
		return false;
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		bool		found = false;

		foreach(other, others)
		{
			DefElem    *candidate = lfirst_node(DefElem, other);

			found |= strcmp(option->defname, candidate->defname) == 0 &&
				strcmp(strVal(option->arg), strVal(candidate->arg)) == 0;
		}
		if (!found)
			return false;
	}
	return true;
}
