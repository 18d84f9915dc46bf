/*
 * meta/table.h
 *		Our catalog tables as heaps: opening one, and scanning it by its primary key.
 */
#ifndef SE_META_TABLE_H
#define SE_META_TABLE_H

#include "base/se.h"
#include "access/genam.h"
#include "access/skey.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

/*
 * Open a table of ours; 42704 with a hint if the extension is not installed here, 55000
 * if another build of it made the table with other columns.
 */
extern Relation se_table_open(const char *name, LOCKMODE lock);

/* The same, or NULL if the extension is not, or no longer, installed here. */
extern Relation se_table_try_open(const char *name, LOCKMODE lock);

/*
 * The same for who looks at keys only, which every build has: whether a row is there can
 * then be told, and rows be deleted, whatever the other columns are. se_table_check comes before those.
 */
extern Relation se_table_try_open_keys(const char *name, LOCKMODE lock);
extern void se_table_check(Relation table);

/* Has se_table_check raised its error, and no table been found right since? */
extern bool se_table_is_misfit(void);

/*
 * Rows whose first nkeys primary key columns equal the keys, in key order, as of now
 * (a snapshot of its own: what this transaction wrote before is seen). `index` is
 * opened here and closed by se_table_scan_end.
 */
typedef struct SeTableScan
{
	Relation	index;
	SysScanDesc scan;
} SeTableScan;

extern void se_table_scan_begin(SeTableScan *scan, Relation table, int nkeys, ScanKey keys);
extern HeapTuple se_table_scan_next(SeTableScan *scan);
extern void se_table_scan_end(SeTableScan *scan);

/* Equality keys for se_table_scan_begin. */
extern void se_table_key_oid(ScanKey key, AttrNumber attno, Oid value);
extern void se_table_key_int4(ScanKey key, AttrNumber attno, int32 value);

/* Delete every row whose first primary key column is this OID. */
extern void se_table_delete_all(const char *name, Oid value);

/* List of C strings <-> text[]. */
extern Datum se_table_strings_to_datum(List *strings);
extern List *se_table_datum_to_strings(Datum array);

#endif							/* SE_META_TABLE_H */
