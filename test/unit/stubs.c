/*
 * test/unit/stubs.c
 *		The few backend services a unit test needs, on top of malloc.
 *
 * Small and true: memory contexts with children and callbacks, ereport with
 * PG_TRY, lists, tuple descriptors of the commonest types, flat varlena values.
 * Every allocation is an own malloc, so that valgrind sees overruns and leaks.
 */
#include "postgres.h"

#include <setjmp.h>

#include "access/tupdesc.h"
#include "base/compat.h"
#include "catalog/pg_type.h"
#include "harness.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "nodes/pg_list.h"
#include "pgtime.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* ------------------------------------------------------------- variables */

MemoryContext CurrentMemoryContext = NULL;
MemoryContext TopMemoryContext = NULL;
MemoryContext TopTransactionContext = NULL;
MemoryContext CurTransactionContext = NULL;
MemoryContext CacheMemoryContext = NULL;
MemoryContext ErrorContext = NULL;
MemoryContext MessageContext = NULL;
MemoryContext PortalContext = NULL;
sigjmp_buf *PG_exception_stack = NULL;
ErrorContextCallback *error_context_stack = NULL;
volatile sig_atomic_t InterruptPending = false;
volatile uint32 InterruptHoldoffCount = 0;
volatile uint32 CritSectionCount = 0;
Oid			MyDatabaseId = 1;
int			MyProcPid = 1;
int			work_mem = 4096;
bool		process_shared_preload_libraries_in_progress = false;
bool		IsUnderPostmaster = true;
const char *progname = "unit test";

void
ProcessInterrupts(void)
{
}

/* Called by the generated stub of a function that has none here. */
extern void se_stub_missing(const char *name);

void
se_stub_missing(const char *name)
{
	printf("the test called %s(), which has no stub in test/unit/stubs.c\n", name);
	fflush(stdout);
	abort();
}

/* ---------------------------------------------------------------- memory */

typedef struct Context Context;

/* In front of every allocation; PostgreSQL 15 reads the context from the word before the data. */
typedef struct Chunk
{
	struct Chunk *prev;
	struct Chunk *next;
	Size		size;
	Context    *context;
} Chunk;

struct Context
{
	MemoryContextData base;		/* what inline code of PostgreSQL looks at */
	Chunk	   *chunks;
	Size		bytes;
	bool		deleted;
};

#define CHUNK_OF(pointer) ((Chunk *) ((char *) (pointer) - sizeof(Chunk)))

MemoryContext
se_stub_context_new(MemoryContext parent, const char *name)
{
	Context    *context = calloc(1, sizeof(Context));

	context->base.type = T_AllocSetContext;
	context->base.name = name;
	context->base.isReset = true;
	MemoryContextSetParent(&context->base, parent);
	return &context->base;
}

void
MemoryContextSetParent(MemoryContext context, MemoryContext new_parent)
{
	if (context->parent)
	{
		if (context->prevchild)
			context->prevchild->nextchild = context->nextchild;
		else
			context->parent->firstchild = context->nextchild;
		if (context->nextchild)
			context->nextchild->prevchild = context->prevchild;
	}
	context->parent = new_parent;
	context->prevchild = NULL;
	context->nextchild = NULL;
	if (new_parent)
	{
		context->nextchild = new_parent->firstchild;
		if (context->nextchild)
			context->nextchild->prevchild = context;
		new_parent->firstchild = context;
	}
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min, Size init, Size max)
{
	return se_stub_context_new(parent, name);
}

MemoryContext
GenerationContextCreate(MemoryContext parent, const char *name, Size min, Size init, Size max)
{
	return se_stub_context_new(parent, name);
}

MemoryContext
SlabContextCreate(MemoryContext parent, const char *name, Size block, Size chunk)
{
	return se_stub_context_new(parent, name);
}

void *
MemoryContextAllocExtended(MemoryContext memory, Size size, int flags)
{
	Context    *context = (Context *) memory;
	Chunk	   *chunk;

	if (!(flags & MCXT_ALLOC_HUGE) && !AllocSizeIsValid(size))
		elog(ERROR, "invalid memory alloc request size %zu", size);
	chunk = malloc(sizeof(Chunk) + size);
	chunk->context = context;
	chunk->size = size;
	chunk->prev = NULL;
	chunk->next = context->chunks;
	if (chunk->next)
		chunk->next->prev = chunk;
	context->chunks = chunk;
	context->bytes += size;
	context->base.isReset = false;
	if (flags & MCXT_ALLOC_ZERO)
		memset(chunk + 1, 0, size);
	return chunk + 1;
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, 0);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocZeroAligned(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE);
}

void *
palloc(Size size)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, 0);
}

void *
palloc0(Size size)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
}

void *
palloc_extended(Size size, int flags)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, flags);
}

/* Take a chunk out of its context's list. */
static void
unlink_chunk(Chunk *chunk)
{
	if (chunk->prev)
		chunk->prev->next = chunk->next;
	else
		chunk->context->chunks = chunk->next;
	if (chunk->next)
		chunk->next->prev = chunk->prev;
	chunk->context->bytes -= chunk->size;
}

void
pfree(void *pointer)
{
	unlink_chunk(CHUNK_OF(pointer));
	free(CHUNK_OF(pointer));
}

void *
repalloc_huge(void *pointer, Size size)
{
	Chunk	   *old = CHUNK_OF(pointer);
	void	   *bigger = MemoryContextAllocExtended(&old->context->base, size, MCXT_ALLOC_HUGE);

	memcpy(bigger, pointer, Min(old->size, size));
	pfree(pointer);
	return bigger;
}

void *
repalloc(void *pointer, Size size)
{
	return repalloc_huge(pointer, size);
}

char *
MemoryContextStrdup(MemoryContext context, const char *string)
{
	Size		size = strlen(string) + 1;

	return memcpy(MemoryContextAlloc(context, size), string, size);
}

char *
pstrdup(const char *string)
{
	return MemoryContextStrdup(CurrentMemoryContext, string);
}

char *
pnstrdup(const char *string, Size len)
{
	char	   *copy;

	len = strnlen(string, len);
	copy = palloc(len + 1);
	memcpy(copy, string, len);
	copy[len] = '\0';
	return copy;
}

#if SE_COMPAT_CHUNK_CONTEXT_IS_EXPORTED
MemoryContext
GetMemoryChunkContext(void *pointer)
{
	return &CHUNK_OF(pointer)->context->base;
}
#endif

Size
GetMemoryChunkSpace(void *pointer)
{
	return CHUNK_OF(pointer)->size;
}

Size
MemoryContextMemAllocated(MemoryContext context, bool recurse)
{
	Size		bytes = ((Context *) context)->bytes;

	for (MemoryContext child = context->firstchild; recurse && child; child = child->nextchild)
		bytes += MemoryContextMemAllocated(child, true);
	return bytes;
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *callback)
{
	callback->next = context->reset_cbs;
	context->reset_cbs = callback;
	context->isReset = false;
}

void
MemoryContextResetOnly(MemoryContext memory)
{
	Context    *context = (Context *) memory;

	while (memory->reset_cbs)
	{
		MemoryContextCallback *callback = memory->reset_cbs;

		memory->reset_cbs = callback->next;
		callback->func(callback->arg);
	}
	while (context->chunks)
		pfree(context->chunks + 1);
	memory->isReset = true;
}

void
MemoryContextDeleteChildren(MemoryContext context)
{
	while (context->firstchild)
		MemoryContextDelete(context->firstchild);
}

void
MemoryContextReset(MemoryContext context)
{
	MemoryContextDeleteChildren(context);
	MemoryContextResetOnly(context);
}

void
MemoryContextDelete(MemoryContext context)
{
	MemoryContextReset(context);
	MemoryContextSetParent(context, NULL);
	free(context);
}

/* ---------------------------------------------------------------- errors */

int			se_stub_error_code;
char		se_stub_error_message[1024];

static int	error_level;

bool
errstart(int elevel, const char *domain)
{
	error_level = elevel;
	se_stub_error_code = elevel >= ERROR ? ERRCODE_INTERNAL_ERROR : ERRCODE_WARNING;
	se_stub_error_message[0] = '\0';
	return elevel >= WARNING;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
pg_re_throw(void)
{
	if (PG_exception_stack == NULL)
		abort();
	siglongjmp(*PG_exception_stack, 1);
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (error_level >= ERROR)
		pg_re_throw();
}

int
errcode(int sqlerrcode)
{
	se_stub_error_code = sqlerrcode;
	return 0;
}

/* Keep the first line; the rest of an error report is not looked at. */
#define KEEP_MESSAGE(format) \
	do { \
		va_list		args; \
		va_start(args, format); \
		vsnprintf(se_stub_error_message, sizeof(se_stub_error_message), format, args); \
		va_end(args); \
	} while (0)

int
errmsg(const char *fmt,...)
{
	KEEP_MESSAGE(fmt);
	return 0;
}

int
errmsg_internal(const char *fmt,...)
{
	KEEP_MESSAGE(fmt);
	return 0;
}

int
errmsg_plural(const char *fmt_singular, const char *fmt_plural, unsigned long n,...)
{
	va_list		args;

	va_start(args, n);
	vsnprintf(se_stub_error_message, sizeof(se_stub_error_message), n == 1 ? fmt_singular : fmt_plural, args);
	va_end(args);
	return 0;
}

#define IGNORE_REST(name) \
	int name(const char *fmt,...) { return 0; }

IGNORE_REST(errdetail)
IGNORE_REST(errdetail_internal)
IGNORE_REST(errdetail_log)
IGNORE_REST(errhint)
IGNORE_REST(errcontext_msg)

int
errposition(int cursorpos)
{
	return 0;
}

int
set_errcontext_domain(const char *domain)
{
	return 0;
}

void
FlushErrorState(void)
{
}

void
ExceptionalCondition(const char *conditionName, SE_COMPAT_CONDITION_TYPE
					 const char *fileName, int lineNumber)
{
	printf("assertion failed: %s, %s:%d\n", conditionName, fileName, lineNumber);
	fflush(stdout);
	abort();
}

/* ----------------------------------------------------------------- lists */

/* A list of n cells with room for some more. */
static List *
new_list(NodeTag type, int n)
{
	List	   *list = palloc0(sizeof(List));

	list->type = type;
	list->length = n;
	list->max_length = Max(n, 4);
	list->elements = palloc(list->max_length * sizeof(ListCell));
	return list;
}

/* Room for one cell more at the end; returns it. */
static ListCell *
grow(List **list, NodeTag type)
{
	if (*list == NIL)
		*list = new_list(type, 0);
	if ((*list)->length == (*list)->max_length)
	{
		(*list)->max_length *= 2;
		(*list)->elements = repalloc((*list)->elements, (*list)->max_length * sizeof(ListCell));
	}
	return &(*list)->elements[(*list)->length++];
}

List *
lappend(List *list, void *datum)
{
	grow(&list, T_List)->ptr_value = datum;
	return list;
}

List *
lappend_int(List *list, int datum)
{
	grow(&list, T_IntList)->int_value = datum;
	return list;
}

List *
lappend_oid(List *list, Oid datum)
{
	grow(&list, T_OidList)->oid_value = datum;
	return list;
}

List *
list_make1_impl(NodeTag t, ListCell datum1)
{
	List	   *list = new_list(t, 1);

	list->elements[0] = datum1;
	return list;
}

List *
list_make2_impl(NodeTag t, ListCell datum1, ListCell datum2)
{
	List	   *list = new_list(t, 2);

	list->elements[0] = datum1;
	list->elements[1] = datum2;
	return list;
}

List *
list_make3_impl(NodeTag t, ListCell datum1, ListCell datum2, ListCell datum3)
{
	List	   *list = new_list(t, 3);

	list->elements[0] = datum1;
	list->elements[1] = datum2;
	list->elements[2] = datum3;
	return list;
}

void
list_free(List *list)
{
	if (list == NIL)
		return;
	pfree(list->elements);
	pfree(list);
}

void
list_free_deep(List *list)
{
	for (int i = 0; list != NIL && i < list->length; i++)
		pfree(list->elements[i].ptr_value);
	list_free(list);
}

List *
list_delete_first(List *list)
{
	if (list == NIL)
		return NIL;
	if (list->length == 1)
	{
		list_free(list);
		return NIL;
	}
	memmove(list->elements, list->elements + 1, (list->length - 1) * sizeof(ListCell));
	list->length--;
	return list;
}

List *
list_delete_ptr(List *list, void *datum)
{
	for (int i = 0; i < list_length(list); i++)
	{
		if (list->elements[i].ptr_value != datum)
			continue;
		memmove(list->elements + i, list->elements + i + 1, (list->length - i - 1) * sizeof(ListCell));
		if (--list->length > 0)
			return list;
		list_free(list);
		return NIL;
	}
	return list;
}

/* ----------------------------------------------- values and descriptions */

/* Values of unit tests are always plain: never compressed, never external. */
struct varlena *
pg_detoast_datum(struct varlena *datum)
{
	if (VARATT_IS_EXTERNAL(datum) || VARATT_IS_COMPRESSED(datum))
		se_stub_missing("pg_detoast_datum of a toasted value");
	if (VARATT_IS_SHORT(datum))
	{
		Size		len = VARSIZE_SHORT(datum) - VARHDRSZ_SHORT;
		struct varlena *plain = palloc(len + VARHDRSZ);

		SET_VARSIZE(plain, len + VARHDRSZ);
		memcpy(VARDATA(plain), VARDATA_SHORT(datum), len);
		return plain;
	}
	return datum;
}

struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	if (VARATT_IS_EXTERNAL(datum) || VARATT_IS_COMPRESSED(datum))
		se_stub_missing("pg_detoast_datum_packed of a toasted value");
	return datum;
}

Size
datumGetSize(Datum value, bool typByVal, int typLen)
{
	if (typByVal || typLen > 0)
		return typLen;
	if (typLen == -1)
		return VARSIZE_ANY(DatumGetPointer(value));
	return strlen(DatumGetCString(value)) + 1;
}

Datum
datumCopy(Datum value, bool typByVal, int typLen)
{
	Size		size;

	if (typByVal)
		return value;
	size = datumGetSize(value, typByVal, typLen);
	return PointerGetDatum(memcpy(palloc(size), DatumGetPointer(value), size));
}

bool
datumIsEqual(Datum value1, Datum value2, bool typByVal, int typLen)
{
	Size		size;

	if (typByVal)
		return value1 == value2;
	size = datumGetSize(value1, typByVal, typLen);
	return size == datumGetSize(value2, typByVal, typLen) &&
		memcmp(DatumGetPointer(value1), DatumGetPointer(value2), size) == 0;
}

text *
cstring_to_text(const char *s)
{
	Size		len = strlen(s);
	text	   *value = palloc(len + VARHDRSZ);

	SET_VARSIZE(value, len + VARHDRSZ);
	memcpy(VARDATA(value), s, len);
	return value;
}

char *
text_to_cstring(const text *t)
{
	return pnstrdup(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

TupleDesc
CreateTemplateTupleDesc(int natts)
{
	TupleDesc	desc = palloc0(sizeof(struct TupleDescData) + natts * 1024);

	desc->natts = natts;
	desc->tdtypeid = RECORDOID;
	desc->tdtypmod = -1;
	desc->tdrefcount = -1;
	return desc;
}

typedef struct TypeFacts
{
	Oid			type;
	int16		len;
	bool		byval;
	char		align;
	char		storage;
} TypeFacts;

static const TypeFacts type_facts[] = {
	{BOOLOID, 1, true, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},
	{INT2OID, 2, true, TYPALIGN_SHORT, TYPSTORAGE_PLAIN},
	{INT4OID, 4, true, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{INT8OID, 8, true, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{FLOAT4OID, 4, true, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{FLOAT8OID, 8, true, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{DATEOID, 4, true, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{TIMESTAMPOID, 8, true, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{TIMESTAMPTZOID, 8, true, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{INTERVALOID, 16, false, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{UUIDOID, 16, false, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},
	{TEXTOID, -1, false, TYPALIGN_INT, TYPSTORAGE_EXTENDED},
	{BYTEAOID, -1, false, TYPALIGN_INT, TYPSTORAGE_EXTENDED},
	{NUMERICOID, -1, false, TYPALIGN_INT, TYPSTORAGE_MAIN},
	{CSTRINGOID, -2, false, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},
};

void
TupleDescInitEntry(TupleDesc desc, AttrNumber attnum, const char *name, Oid type, int32 typmod, int attdim)
{
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);

	for (int i = 0; i < lengthof(type_facts); i++)
	{
		const TypeFacts *facts = &type_facts[i];

		if (facts->type != type)
			continue;
		strlcpy(NameStr(att->attname), name ? name : "", NAMEDATALEN);
		att->attnum = attnum;
		att->atttypid = type;
		att->atttypmod = typmod;
		att->attlen = facts->len;
		att->attbyval = facts->byval;
		att->attalign = facts->align;
		att->attstorage = facts->storage;
		att->attcollation = type == TEXTOID ? 100 : InvalidOid;
		return;
	}
	se_stub_missing("TupleDescInitEntry of an unknown type");
}

/* ---- hash tables: a list, enough for what tests put in ---- */

struct HTAB
{
	Size		keysize;
	Size		entrysize;
	struct HashElement *first;
};

typedef struct HashElement
{
	struct HashElement *next;
	uint64		entry[FLEXIBLE_ARRAY_MEMBER];
} HashElement;

HTAB *
hash_create(const char *tabname, long nelem, const HASHCTL *info, int flags)
{
	HTAB	   *hash = MemoryContextAllocZero(info->hcxt, sizeof(HTAB));

	Assert((flags & (HASH_ELEM | HASH_BLOBS | HASH_CONTEXT)) == (HASH_ELEM | HASH_BLOBS | HASH_CONTEXT));
	hash->keysize = info->keysize;
	hash->entrysize = info->entrysize;
	return hash;
}

void *
hash_search(HTAB *hash, const void *key, HASHACTION action, bool *found)
{
	HashElement **place = &hash->first;
	HashElement *element;

	while (*place != NULL && memcmp((*place)->entry, key, hash->keysize) != 0)
		place = &(*place)->next;
	element = *place;
	if (found != NULL)
		*found = element != NULL;
	if (action == HASH_REMOVE && element != NULL)
		*place = element->next;
	if (action == HASH_ENTER && element == NULL)
	{
		element = *place = calloc(1, sizeof(HashElement) + hash->entrysize);
		memcpy(element->entry, key, hash->keysize);
	}
	return element == NULL ? NULL : element->entry;
}

#if !SE_COMPAT_XID_COMPARE_IS_INLINE
bool
TransactionIdPrecedes(TransactionId id1, TransactionId id2)
{
	return (int32) (id1 - id2) < 0;
}
#endif

/* ---- time zones: those that a test makes ---- */

struct pg_tz
{
	char		name[64];
	int			n;
	int64	   *at;
	int64	   *offsets;
	pg_tz	   *next;
};

static pg_tz *zones;

pg_tz *
se_stub_zone(const char *name, int n, const int64 *at, const int64 *offsets)
{
	pg_tz	   *zone = malloc(sizeof(pg_tz));

	strlcpy(zone->name, name, sizeof(zone->name));
	zone->n = n;
	zone->at = malloc(Max(n, 1) * sizeof(int64));
	memcpy(zone->at, at, n * sizeof(int64));
	zone->offsets = malloc((n + 1) * sizeof(int64));
	memcpy(zone->offsets, offsets, (n + 1) * sizeof(int64));
	zone->next = zones;
	zones = zone;
	return zone;
}

pg_tz *
pg_tzset(const char *name)
{
	pg_tz	   *zone = zones;

	while (zone != NULL && strcmp(zone->name, name) != 0)
		zone = zone->next;
	return zone;
}

bool
pg_tz_acceptable(pg_tz *zone)
{
	return true;
}

const char *
pg_get_timezone_name(pg_tz *zone)
{
	return zone->name;
}

int
pg_next_dst_boundary(const pg_time_t *t, long int *before, int *before_is_dst, pg_time_t *boundary,
					 long int *after, int *after_is_dst, const pg_tz *zone)
{
	int			i = 0;

	while (i < zone->n && zone->at[i] <= *t)
		i++;
	*before = zone->offsets[i];
	if (i == zone->n)
		return 0;
	*boundary = zone->at[i];
	*after = zone->offsets[i + 1];
	return 1;
}

const char *
timestamptz_to_str(TimestampTz t)
{
	static char buffer[32];

	snprintf(buffer, sizeof(buffer), INT64_FORMAT, t);
	return buffer;
}

/* Which wrong of the code is switched on (base/fault.h): that named by SE_WRONG in the environment. */
bool
se_fault_wrong(const char *name)
{
	const char *on = getenv("SE_WRONG");

	return on != NULL && strcmp(on, name) == 0;
}
