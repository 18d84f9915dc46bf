/*
 * ddl/view_options.h
 *		The stream_engine.* options of a continuous view's WITH clause.
 */
#ifndef SE_VIEW_OPTIONS_H
#define SE_VIEW_OPTIONS_H

#include "base/se.h"
#include "nodes/pg_list.h"

/* The namespace of our options, in WITH. */
#define SE_OPTION_NAMESPACE "stream_engine"

/* Where an option stands. */
typedef enum SeOptionPlace
{
	SE_OPTION_CREATE = 1,
	SE_OPTION_ALTER = 2
} SeOptionPlace;

/* Is one of the DefElems of a WITH or SET clause ours? */
extern bool se_view_options_any(List *with);

/*
 * Our options as DefElem (name, String), values checked and in their normal form;
 * *rest receives what is not ours (storage parameters). Errors name the option and
 * say what is valid.
 */
extern List *se_view_options_parse(List *with, SeOptionPlace place, List **rest);

/* The same for RESET: names without values, checked. */
extern List *se_view_options_names(List *with, SeOptionPlace place, List **rest);

/* Value of an option in such a list, or its default from the table; NULL = no default. */
extern const char *se_view_options_value(List *options, const char *name);

/* Options with some replaced or added (ALTER … SET), or taken away (RESET: names only). */
extern List *se_view_options_merge(List *options, List *changes);
extern List *se_view_options_without(List *options, List *names);

#endif							/* SE_VIEW_OPTIONS_H */
