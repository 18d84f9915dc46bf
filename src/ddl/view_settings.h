/*
 * ddl/view_settings.h
 *		The session settings a continuous view keeps.
 */
#ifndef SE_VIEW_SETTINGS_H
#define SE_VIEW_SETTINGS_H

#include "base/se.h"
#include "nodes/pg_list.h"

/* This session's settings that change answers, as DefElem (name, String). */
extern List *se_view_settings_capture(void);

/* Set what a view keeps (DefElem list), as the user may; until the end of the caller's GUC nest level. */
extern void se_view_settings_apply(List *settings);

#endif							/* SE_VIEW_SETTINGS_H */
