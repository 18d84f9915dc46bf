/*
 * flow/kind_check.c
 *		Does every key walk the way of row kinds? A checker for tests and debugging.
 *
 * A list of keys is searched from its beginning: enough for the few keys of a test.
 */
#include "postgres.h"

#include "flow/kind_check.h"
#include "utils/memutils.h"

typedef enum KeyState
{
	KEY_ABSENT = 0,
	KEY_PRESENT,
	KEY_BETWEEN					/* after -U, before +U */
} KeyState;

typedef struct KeyWalk
{
	struct KeyWalk *next;
	KeyState	state;
	Size		len;
	char		key[FLEXIBLE_ARRAY_MEMBER];
} KeyWalk;

struct SeKindCheck
{
	MemoryContext memory;
	bool		upsert;
	KeyWalk    *walks;
};

SeKindCheck *
se_kind_check_new(MemoryContext memory, bool upsert)
{
	SeKindCheck *check = MemoryContextAllocZero(memory, sizeof(SeKindCheck));

	check->memory = memory;
	check->upsert = upsert;
	return check;
}

/* The walk of a key, begun if it is new. */
static KeyWalk *
walk_of(SeKindCheck *check, const void *key, Size len)
{
	KeyWalk    *walk;

	for (walk = check->walks; walk != NULL; walk = walk->next)
	{
		if (walk->len == len && memcmp(walk->key, key, len) == 0)
			return walk;
	}
	walk = MemoryContextAllocZero(check->memory, offsetof(KeyWalk, key) + len);
	walk->len = len;
	memcpy(walk->key, key, len);
	walk->next = check->walks;
	check->walks = walk;
	return walk;
}

void
se_kind_check_present(SeKindCheck *check, const void *key, Size len)
{
	walk_of(check, key, len)->state = KEY_PRESENT;
}

const char *
se_kind_check_step(SeKindCheck *check, const void *key, Size len, SeRowKind kind)
{
	KeyWalk    *walk = walk_of(check, key, len);

	switch (kind)
	{
		case SE_ROW_INSERT:
			if (walk->state != KEY_ABSENT)
				return "+I of a row that is there";
			walk->state = KEY_PRESENT;
			return NULL;
		case SE_ROW_UPDATE_BEFORE:
			if (check->upsert)
				return "-U where only +U is expected";
			if (walk->state != KEY_PRESENT)
				return "-U of a row that is not there";
			walk->state = KEY_BETWEEN;
			return NULL;
		case SE_ROW_UPDATE_AFTER:
			if (walk->state != (check->upsert ? KEY_PRESENT : KEY_BETWEEN))
				return check->upsert ? "+U of a row that is not there" : "+U without -U";
			walk->state = KEY_PRESENT;
			return NULL;
		case SE_ROW_DELETE:
			if (walk->state != KEY_PRESENT)
				return "-D of a row that is not there";
			walk->state = KEY_ABSENT;
			return NULL;
	}
	return "unknown row kind";
}

const char *
se_kind_check_rest(const SeKindCheck *check)
{
	for (const KeyWalk *walk = check->walks; walk != NULL; walk = walk->next)
	{
		if (walk->state == KEY_BETWEEN)
			return "-U without +U";
	}
	return NULL;
}
