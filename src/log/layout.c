/*
 * log/layout.c
 *		Layouts: from a descriptor, to bytes and back, in the catalog and in a cache.
 *
 * stream_engine.stream_layouts is read and written with catalog calls, so that nobody
 * needs a privilege on it.  Its rows are never changed; two sessions never insert the
 * same key, because only DDL inserts and DDL holds ACCESS EXCLUSIVE on the stream.
 *
 * The cache holds, per stream, the layout that fits the descriptor, or the knowledge
 * that none does.  A relcache invalidation only marks an entry: it may come at any
 * moment, so nothing is freed and no catalog is read in the callback.
 *
 * Runs in: sessions and task workers, inside a transaction.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "catalog/indexing.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "log/layout.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"

/* Stored bytes; docs/design/log.md has the tables. */
#define LAYOUT_VERSION 1

typedef struct LayoutHead
{
	uint8		version;
	uint8		flags;			/* spare, 0 */
	uint16		ncolumns;
	Oid			relation;
	uint32		id;
	uint32		spare;			/* 0 */
} LayoutHead;

typedef struct LayoutColumnHead
{
	int16		attno;
	int16		len;
	Oid			type;
	int32		typmod;
	Oid			collation;
	uint8		byval;
	char		align;
	uint8		has_missing;
	uint8		spare;			/* 0 */
	uint32		missing_len;	/* bytes that follow, then zeroes up to a multiple of 8 */
} LayoutColumnHead;

StaticAssertDecl(sizeof(LayoutHead) == 16 && sizeof(LayoutColumnHead) == 24, "layout bytes are stored");

#define LAYOUTS "stream_layouts"

/* Columns of stream_engine.stream_layouts. */
enum
{
	Anum_stream = 1,
	Anum_id,
	Anum_since,
	Anum_layout,
	Natts_layouts = Anum_layout
};

typedef struct CacheEntry
{
	Oid			relation;		/* hash key */
	bool		valid;
	MemoryContext memory;		/* of layout; NULL if layout is NULL */
	SeLayout   *layout;
} CacheEntry;

static HTAB *layout_cache = NULL;

static SeLayout *decode_row(Relation layouts, HeapTuple row);
static void invalidate(Datum arg, Oid relation);
static SeLayout *fitting_layout(List *layouts, uint64 fingerprint);
static void add_missing_values(Relation relation, SeLayout *layout, const SeLayout *older);
static bool evaluate_default(Relation relation, SeLayoutColumn *column);
static void insert_row(const SeLayout *layout);
static Size missing_size(const SeLayoutColumn *column);
static void check_size(bool ok, Size len);

/* A hash over everything that decides what the bytes of a row mean. */
static uint64
fingerprint_of(const SeLayout *layout)
{
	uint64		hash = (uint64) layout->ncolumns;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const SeLayoutColumn *column = &layout->columns[i];
		int32		facts[] = {
			column->attno, (int32) column->type, column->typmod, (int32) column->collation,
			column->len, column->byval, column->align
		};

		hash = hash_bytes_extended((unsigned char *) facts, sizeof(facts), hash);
	}
	return hash;
}

/* What is not stored but follows from it. */
static void
derive(SeLayout *layout)
{
	layout->fixed_room = MAXIMUM_ALIGNOF;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		SeLayoutColumn *column = &layout->columns[i];

		column->align_bytes = column->align == TYPALIGN_DOUBLE ? ALIGNOF_DOUBLE :
			column->align == TYPALIGN_INT ? ALIGNOF_INT :
			column->align == TYPALIGN_SHORT ? ALIGNOF_SHORT : 1;
		if (column->len > 0)
			layout->fixed_room += column->len + MAXIMUM_ALIGNOF;
	}
}

/* The layout a descriptor asks for: every column a row has bytes for, in order. */
SeLayout *
se_layout_of_desc(Oid relation, TupleDesc desc)
{
	SeLayout   *layout = palloc0(sizeof(SeLayout));

	layout->relation = relation;
	layout->columns = palloc0(sizeof(SeLayoutColumn) * Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = se_compat_attr(desc, i);
		SeLayoutColumn *column;

		if (!se_compat_attr_is_stored(attr))
			continue;
		column = &layout->columns[layout->ncolumns++];
		column->attno = attr->attnum;
		column->type = attr->atttypid;
		column->typmod = attr->atttypmod;
		column->collation = attr->attcollation;
		column->len = attr->attlen;
		column->byval = attr->attbyval;
		column->align = attr->attalign;
		column->packable = attr->attlen == -1 && attr->attstorage != TYPSTORAGE_PLAIN;
	}
	layout->fingerprint = fingerprint_of(layout);
	derive(layout);
	return layout;
}

const SeLayoutColumn *
se_layout_column(const SeLayout *layout, AttrNumber attno)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].attno == attno)
			return &layout->columns[i];
	return NULL;
}

/* The stored bytes of a layout. */
bytea *
se_layout_encode(const SeLayout *layout)
{
	LayoutHead	head = {.version = LAYOUT_VERSION,.ncolumns = layout->ncolumns,
	.relation = layout->relation,.id = layout->id};
	Size		size = VARHDRSZ + sizeof(head);
	bytea	   *bytes;
	char	   *out;

	for (int i = 0; i < layout->ncolumns; i++)
		size += sizeof(LayoutColumnHead) + TYPEALIGN(8, missing_size(&layout->columns[i]));
	bytes = palloc0(size);
	SET_VARSIZE(bytes, size);
	out = VARDATA(bytes);
	memcpy(out, &head, sizeof(head));
	out += sizeof(head);

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const SeLayoutColumn *column = &layout->columns[i];
		Size		missing_len = missing_size(column);
		LayoutColumnHead fixed = {.attno = column->attno,.len = column->len,
			.type = column->type,.typmod = column->typmod,.collation = column->collation,
			.byval = column->byval,.align = column->align,
		.has_missing = column->has_missing,.missing_len = missing_len};

		memcpy(out, &fixed, sizeof(fixed));
		out += sizeof(fixed);
		if (column->has_missing && column->byval)
			memcpy(out, &column->missing, sizeof(Datum));
		else if (column->has_missing)
			memcpy(out, DatumGetPointer(column->missing), missing_len);
		out += TYPEALIGN(8, missing_len);
	}
	Assert(out == (char *) bytes + size);
	return bytes;
}

/* The layout that bytes (at any alignment) hold; raises data_corrupted if they do not fit. */
SeLayout *
se_layout_decode(const void *bytes, Size len)
{
	const char *in = bytes;
	Size		left = len;
	LayoutHead	head;
	SeLayout   *layout;

	check_size(left >= sizeof(head), len);
	memcpy(&head, in, sizeof(head));
	in += sizeof(head);
	left -= sizeof(head);
	if (head.version != LAYOUT_VERSION || head.flags != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream layout has version %u, flags %u", head.version, head.flags),
				 errdetail("This version of stream_engine reads version %d.", LAYOUT_VERSION)));
	check_size(head.ncolumns <= MaxTupleAttributeNumber &&
			   left / sizeof(LayoutColumnHead) >= head.ncolumns, len);

	layout = palloc0(sizeof(SeLayout));
	layout->relation = head.relation;
	layout->id = head.id;
	layout->ncolumns = head.ncolumns;
	layout->columns = palloc0(sizeof(SeLayoutColumn) * Max(head.ncolumns, 1));
	for (int i = 0; i < head.ncolumns; i++)
	{
		SeLayoutColumn *column = &layout->columns[i];
		LayoutColumnHead fixed;
		Size		padded;

		check_size(left >= sizeof(fixed), len);
		memcpy(&fixed, in, sizeof(fixed));
		in += sizeof(fixed);
		left -= sizeof(fixed);
		padded = TYPEALIGN(8, (Size) fixed.missing_len);
		check_size(padded <= left && fixed.attno > 0 &&
				   (i == 0 || fixed.attno > layout->columns[i - 1].attno) &&
				   (fixed.len > 0 || fixed.len == -1) && fixed.byval <= 1 &&
				   (!fixed.byval || fixed.len == 1 || fixed.len == 2 || fixed.len == 4 || fixed.len == 8) &&
				   fixed.align != '\0' && strchr("csid", fixed.align) != NULL, len);

		column->attno = fixed.attno;
		column->type = fixed.type;
		column->typmod = fixed.typmod;
		column->collation = fixed.collation;
		column->len = fixed.len;
		column->byval = fixed.byval;
		column->align = fixed.align;
		column->has_missing = fixed.has_missing != 0;
		if (column->has_missing && column->byval)
		{
			check_size(fixed.missing_len == sizeof(Datum), len);
			memcpy(&column->missing, in, sizeof(Datum));
		}
		else if (column->has_missing)
		{
			char	   *value;

			check_size(fixed.missing_len >= (fixed.len > 0 ? fixed.len : VARHDRSZ_SHORT), len);
			value = palloc(fixed.missing_len);
			memcpy(value, in, fixed.missing_len);
			check_size(fixed.len > 0 ||
					   (!VARATT_IS_EXTERNAL(value) && VARSIZE_ANY(value) == fixed.missing_len), len);
			column->missing = PointerGetDatum(value);
		}
		in += padded;
		left -= padded;
	}
	check_size(left == 0, len);
	layout->fingerprint = fingerprint_of(layout);
	derive(layout);
	return layout;
}

static Size
missing_size(const SeLayoutColumn *column)
{
	if (!column->has_missing)
		return 0;
	return column->byval ? sizeof(Datum) : datumGetSize(column->missing, false, column->len);
}

static void
check_size(bool ok, Size len)
{
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream layout of %zu bytes is damaged", len)));
}

/* The layout of the catalog that fits the relation's descriptor, or NULL. */
const SeLayout *
se_layout_current(Relation relation)
{
	Oid			oid = RelationGetRelid(relation);
	CacheEntry *entry;
	bool		found;
	MemoryContext old;
	MemoryContext memory;
	SeLayout   *wanted;
	SeLayout   *layout;

	if (layout_cache == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(CacheEntry),.hcxt = CacheMemoryContext};

		layout_cache = hash_create("stream_engine layouts", 32, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
	}
	entry = hash_search(layout_cache, &oid, HASH_ENTER, &found);
	if (found && entry->valid)
		return entry->layout;
	if (!found)
	{
		entry->memory = NULL;
		entry->layout = NULL;
	}
	if (entry->memory != NULL)
	{
		MemoryContextDelete(entry->memory);
		entry->memory = NULL;
		entry->layout = NULL;
	}

	memory = AllocSetContextCreate(CacheMemoryContext, "stream_engine layout", ALLOCSET_SMALL_SIZES);

	/* Set before the look-up: an invalidation that comes meanwhile clears it again. */
	entry->valid = true;
	old = MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		wanted = se_layout_of_desc(oid, RelationGetDescr(relation));
		layout = fitting_layout(se_layout_list(oid), wanted->fingerprint);
	}
	PG_CATCH();
	{
		entry->valid = false;
		MemoryContextDelete(memory);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);

	if (layout == NULL)
		MemoryContextDelete(memory);
	else
		entry->memory = memory;
	entry->layout = layout;
	return layout;
}

/* Relcache callback: InvalidOid means everything. */
static void
invalidate(Datum arg, Oid relation)
{
	CacheEntry *entry;

	if (OidIsValid(relation))
	{
		entry = hash_search(layout_cache, &relation, HASH_FIND, NULL);
		if (entry != NULL)
			entry->valid = false;
	}
	else
	{
		HASH_SEQ_STATUS scan;

		hash_seq_init(&scan, layout_cache);
		while ((entry = hash_seq_search(&scan)) != NULL)
			entry->valid = false;
	}
}

/* The newest layout with a fingerprint. */
static SeLayout *
fitting_layout(List *layouts, uint64 fingerprint)
{
	SeLayout   *fitting = NULL;
	ListCell   *lc;

	foreach(lc, layouts)
	{
		SeLayout   *layout = lfirst(lc);

		if (layout->fingerprint == fingerprint)
			fitting = layout;
	}
	return fitting;
}

/* All layouts of a stream in the catalog, oldest first; none where the extension is not installed. */
List *
se_layout_list(Oid relation)
{
	Relation	layouts;
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	row;
	List	   *result = NIL;

	layouts = se_table_try_open(LAYOUTS, AccessShareLock);
	if (layouts == NULL)
		return NIL;
	se_table_key_oid(&key, Anum_stream, relation);
	se_table_scan_begin(&scan, layouts, 1, &key);
	while ((row = se_table_scan_next(&scan)) != NULL)
		result = lappend(result, decode_row(layouts, row));
	se_table_scan_end(&scan);
	table_close(layouts, AccessShareLock);
	return result;
}

static SeLayout *
decode_row(Relation layouts, HeapTuple row)
{
	bool		isnull;
	Datum		bytes = heap_getattr(row, Anum_layout, RelationGetDescr(layouts), &isnull);
	struct varlena *flat = PG_DETOAST_DATUM_PACKED(bytes);
	SeLayout   *layout = se_layout_decode(VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));

	/* The key is the truth: a dump may have brought the bytes from a table of another OID. */
	layout->relation = DatumGetObjectId(heap_getattr(row, Anum_stream, RelationGetDescr(layouts), &isnull));
	layout->id = DatumGetInt32(heap_getattr(row, Anum_id, RelationGetDescr(layouts), &isnull));
	layout->since = DatumGetLSN(heap_getattr(row, Anum_since, RelationGetDescr(layouts), &isnull));
	return layout;
}

/*
 * Make sure the newest layout in the catalog is the relation's.  Caller holds the
 * lock of the CREATE or ALTER and has made its changes visible.
 */
void
se_layout_store(Oid relation_oid)
{
	Relation	relation = table_open(relation_oid, AccessShareLock);
	SeLayout   *layout = se_layout_of_desc(relation_oid, RelationGetDescr(relation));
	List	   *layouts = se_layout_list(relation_oid);
	const SeLayout *newest = layouts == NIL ? NULL : llast(layouts);

	if (newest == NULL || newest->fingerprint != layout->fingerprint)
	{
		layout->id = newest == NULL ? 1 : newest->id + 1;
		if (newest != NULL)
			add_missing_values(relation, layout, newest);
		insert_row(layout);

		/* Somebody, or this session, may have cached that no layout fits. */
		CacheInvalidateRelcacheByRelid(relation_oid);
		CommandCounterIncrement();
	}
	table_close(relation, NoLock);
}

/* Give the columns an older layout lacks the value that older rows read as. */
static void
add_missing_values(Relation relation, SeLayout *layout, const SeLayout *older)
{
	int			j = 0;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		SeLayoutColumn *column = &layout->columns[i];

		while (j < older->ncolumns && older->columns[j].attno < column->attno)
			j++;
		if (j >= older->ncolumns || older->columns[j].attno != column->attno)
			column->has_missing = evaluate_default(relation, column);
	}
}

/*
 * Evaluate the DEFAULT of a new column once, as the stream's owner.  A generated
 * column has no value without its row: older rows read as NULL.  False if NULL.
 */
static bool
evaluate_default(Relation relation, SeLayoutColumn *column)
{
	Form_pg_attribute attr = se_compat_attr(RelationGetDescr(relation), column->attno - 1);
	Node	   *expr;
	EState	   *estate;
	ExprContext *econtext;
	Datum		value;
	bool		isnull;
	Oid			user;
	int			context;
	int			guc_level;

	if (attr->attgenerated != '\0')
		return false;
	expr = build_column_default(relation, column->attno);
	if (expr == NULL)
		return false;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(relation->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	guc_level = NewGUCNestLevel();
	estate = CreateExecutorState();
	econtext = GetPerTupleExprContext(estate);
	value = ExecEvalExpr(ExecPrepareExpr((Expr *) expr, estate), econtext, &isnull);
	if (!isnull)
	{
		/* Stored whole, never as a pointer into a TOAST table. */
		if (column->len == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
		column->missing = datumCopy(value, column->byval, column->len);
	}
	FreeExecutorState(estate);
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, context);
	return !isnull;
}

static void
insert_row(const SeLayout *layout)
{
	Relation	layouts = se_table_open(LAYOUTS, RowExclusiveLock);
	Datum		values[Natts_layouts];
	bool		nulls[Natts_layouts] = {false};
	HeapTuple	row;

	values[Anum_stream - 1] = ObjectIdGetDatum(layout->relation);
	values[Anum_id - 1] = Int32GetDatum((int32) layout->id);
	values[Anum_since - 1] = LSNGetDatum(GetXLogInsertRecPtr());
	values[Anum_layout - 1] = PointerGetDatum(se_layout_encode(layout));
	row = heap_form_tuple(RelationGetDescr(layouts), values, nulls);
	CatalogTupleInsert(layouts, row);
	heap_freetuple(row);
	table_close(layouts, NoLock);
}

/* Forget the layouts of a dropped stream. */
void
se_layout_remove(Oid relation)
{
	se_table_delete_all(LAYOUTS, relation);
}
