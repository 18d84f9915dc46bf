/*
 * operators/session_list.h
 *		The open sessions of one key, in order of time: found, added and removed in logarithmic time.
 *
 * All zeroes is an empty list. Sessions in a list never touch each other; their bounds may
 * change as long as that holds.
 */
#ifndef SE_SESSION_LIST_H
#define SE_SESSION_LIST_H

#include "operators/session_internal.h"

/* The first session that ends at `start` or later; NULL if none does. */
extern SeSession *se_session_list_find(SeSessionList *list, SeTime start);

/* The session behind one of the list; NULL if that is the last. */
extern SeSession *se_session_list_next(SeSessionList *list, const SeSession *session);

/* NULL if the list is empty. */
extern SeSession *se_session_list_first(SeSessionList *list);

/* Add one that touches none of them. May raise (53200, state_memory); then the list is as before. */
extern void se_session_list_insert(SeSessionList *list, SeArena *arena, SeSession *session);

extern void se_session_list_remove(SeSessionList *list, SeArena *arena, const SeSession *session);

#endif							/* SE_SESSION_LIST_H */
