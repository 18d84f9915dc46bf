/*
 * test/unit/test_table.c
 *		Keyed tables: growth, identity of entries, dirt, memory, and state shared out by key group.
 */
#include "harness.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/pg_list.h"
#include "state/key_group.h"
#include "state/table.h"
#include "utils/builtins.h"

static SeOperatorEnv *
new_env(uint64 limit)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));

	env->memory = CurrentMemoryContext;
	env->state_limit = limit;
	return env;
}

/* Keys (bigint, text). */
static SeKeys *
new_keys(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);

	TupleDescInitEntry(desc, 1, "a", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, "b", TEXTOID, -1, 0);
	TupleDescAttr(desc, 1)->attcollation = C_COLLATION_OID;
	return se_keys_new(desc, list_make2_int(0, 1), list_make2_oid(410, TextEqualOperator));
}

/* The i-th key: every seventh number and every fifth text is NULL. */
static void
make_key(int64 i, Datum *values, bool *nulls)
{
	char text[	32];

	nulls[0] = i % 7 == 0;
	values[0] = nulls[0] ? 0 : Int64GetDatum(i / 3);
	nulls[1] = i % 5 == 0 && i % 7 != 0;
	snprintf(text, sizeof(text), "%lld text", (long long) i);
	values[1] = nulls[1] ? 0 : PointerGetDatum(cstring_to_text(text));
}

static SeEntry *
get(SeTable *table, int64 i)
{
	Datum		values[2];
	bool		nulls[2];
	SeEntry    *entry;

	make_key(i, values, nulls);
	/* (i / 3, NULL) alone would repeat. */
	if (nulls[1])
		values[0] = Int64GetDatum(-i);
	entry = se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls);
	if (!nulls[1])
		pfree(DatumGetPointer(values[1]));
	return entry;
}

#define MANY 200000

SE_TEST(many_keys_are_found_again_and_entries_do_not_move)
{
	SeOperatorEnv *env = new_env(UINT64CONST(1) << 30);
	SeArena    *arena = se_arena_new(env);
	SeTable    *table = se_table_new(arena, new_keys(), sizeof(int64));
	SeEntry   **entries = palloc(MANY * sizeof(SeEntry *));

	for (int i = 0; i < MANY; i++)
	{
		entries[i] = get(table, i);
		*(int64 *) se_entry_payload(table, entries[i]) += i;
	}
	SE_CHECK_INT(table->nentries, MANY);
	SE_CHECK(table->depth >= 1);
	for (int i = 0; i < MANY; i++)
	{
		SeEntry    *entry = get(table, i);

		if (entry != entries[i] || entry->index != i || se_table_entry(table, i) != entry ||
			*(int64 *) se_entry_payload(table, entry) != i)
		{
			SE_CHECK_INT(i, -1);
			break;
		}
	}
	SE_CHECK_INT(table->nentries, MANY);
	SE_CHECK_INT(env->state_bytes, se_arena_bytes(arena));
	se_table_free(table);
	se_arena_free(arena);
	SE_CHECK_INT(env->state_bytes, 0);
}

SE_TEST(null_keys_are_one_group_and_not_the_empty_text)
{
	SeArena    *arena = se_arena_new(new_env(1 << 20));
	SeTable    *table = se_table_new(arena, new_keys(), 0);
	Datum		values[2] = {Int64GetDatum(1), (Datum) 0};
	bool		nulls[2] = {false, true};
	SeEntry    *entry = se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls);
	SeEntry    *empty;

	SE_CHECK(entry == se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls));
	values[1] = PointerGetDatum(cstring_to_text(""));
	nulls[1] = false;
	empty = se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls);
	SE_CHECK(empty != entry);
	/* A short header is the same text. */
	values[1] = PointerGetDatum(cstring_to_text("abc"));
	entry = se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls);
	{
		char		packed[4];

		SET_VARSIZE_SHORT(packed, 4);
		memcpy(packed + 1, "abc", 3);
		values[1] = PointerGetDatum(packed);
		SE_CHECK(entry == se_table_get(table, se_keys_hash(table->keys, values, nulls), values, nulls));
	}
	se_table_free(table);
	se_arena_free(arena);
}

/* Make entries until there are MANY, or an error ends it. */
static void
get_many(SeTable *table, volatile int *i)
{
	for (; *i < MANY; (*i)++)
		get(table, *i);
}

SE_TEST(the_limit_is_an_error_before_anything_is_stored)
{
	SeOperatorEnv *env = new_env(100 * 1024);
	SeArena    *arena = se_arena_new(env);
	SeTable    *table = se_table_new(arena, new_keys(), 64);
	volatile int i = 0;

	SE_CHECK_ERROR("53200", get_many(table, &i));
	SE_CHECK(i > 100 && i < MANY);
	SE_CHECK(env->state_bytes <= 100 * 1024);
	SE_CHECK_INT(env->state_bytes, se_arena_bytes(arena));
	se_table_free(table);
	se_arena_free(arena);
	SE_CHECK_INT(env->state_bytes, 0);
}

SE_TEST(entries_are_dirty_once_until_the_snapshot)
{
	SeArena    *arena = se_arena_new(new_env(UINT64CONST(1) << 30));
	SeTable    *table = se_table_new(arena, new_keys(), 8);

	for (int round = 0; round < 3; round++)
	{
		for (int i = 0; i < 1000; i++)
		{
			SeEntry    *entry = get(table, i % 300);

			se_table_touch_rows(table, &entry, 1);
		}
		SE_CHECK_INT(table->ndirty, 300);
		se_table_clean(table, 17 + round);
		SE_CHECK_INT(table->ndirty, 0);
		SE_CHECK_INT(se_table_entry(table, 5)->saved, 17 + round);
	}
	se_table_free(table);
	se_arena_free(arena);
}

/* Entries as records, in random order, into tables by key group. */
SE_TEST(state_saved_by_one_unit_and_loaded_as_two_by_key_group_is_the_same)
{
	SeOperatorEnv *env = new_env(UINT64CONST(1) << 30);
	SeArena    *arenas[3];
	SeTable    *tables[3];
	StringInfoData *records = palloc(2000 * sizeof(StringInfoData));
	int			loaded[2] = {0, 0};

	for (int t = 0; t < 3; t++)
	{
		arenas[t] = se_arena_new(env);
		tables[t] = se_table_new(arenas[t], new_keys(), sizeof(int64));
	}
	for (int i = 0; i < 2000; i++)
	{
		SeEntry    *entry = get(tables[2], i);

		*(int64 *) se_entry_payload(tables[2], entry) = i * 31;
		initStringInfo(&records[i]);
		se_record_put_u32(&records[i], entry->index);
		se_table_write_key(tables[2], entry, &records[i]);
		se_record_put_i64(&records[i], i * 31);
	}
	for (int i = 0; i < 2000; i++)
	{
		int			j = i + se_harness_random(2000 - i);
		StringInfoData record = records[j];
		SeRecordReader reader = se_record_reader(record.data, record.len);
		Datum		values[2];
		bool		nulls[2];
		uint32		index;
		uint32		hash;
		int			unit;
		SeEntry    *entry;

		records[j] = records[i];
		index = se_record_u32(&reader);
		se_table_read_key(tables[0]->keys, &reader, values, nulls);
		hash = se_keys_hash(tables[0]->keys, values, nulls);
		unit = se_key_group_unit(se_key_group(hash, 128), 128, 2);
		entry = se_table_put_at(tables[unit], index, hash, values, nulls);
		*(int64 *) se_entry_payload(tables[unit], entry) = se_record_i64(&reader);
		SE_CHECK(reader.next == reader.end);
		loaded[unit]++;
	}
	SE_CHECK_INT(loaded[0] + loaded[1], 2000);
	SE_CHECK(loaded[0] > 600 && loaded[1] > 600);
	SE_CHECK_INT(tables[0]->nused, loaded[0]);
	SE_CHECK_INT(tables[1]->nused, loaded[1]);
	for (int i = 0; i < 2000; i++)
	{
		SeEntry    *entry = get(tables[2], i);
		Datum	   *keys = se_entry_keys(tables[2], entry);
		SeEntry    *a = se_table_find(tables[0], entry->hash, keys, entry->nulls);
		SeEntry    *b = se_table_find(tables[1], entry->hash, keys, entry->nulls);
		int			unit = a != NULL ? 0 : 1;

		SE_CHECK((a == NULL) != (b == NULL));
		SE_CHECK_INT(*(int64 *) se_entry_payload(tables[unit], a != NULL ? a : b), i * 31);
		SE_CHECK_INT((a != NULL ? a : b)->index, entry->index);
	}
	for (int t = 0; t < 3; t++)
	{
		se_table_free(tables[t]);
		se_arena_free(arenas[t]);
	}
	SE_CHECK_INT(env->state_bytes, 0);
}

SE_TEST(damaged_keys_are_errors)
{
	SeArena    *arena = se_arena_new(new_env(1 << 20));
	SeTable    *table = se_table_new(arena, new_keys(), 8);
	StringInfoData record;
	Datum		values[2];
	bool		nulls[2];
	SeEntry    *entry = get(table, 11);

	initStringInfo(&record);
	se_table_write_key(table, entry, &record);
	for (int len = 0; len < record.len; len++)
	{
		SeRecordReader reader = se_record_reader(record.data, len);

		SE_CHECK_ERROR("XX001", se_table_read_key(table->keys, &reader, values, nulls));
	}
	for (volatile int i = 0; i < 20000; i++)
	{
		char	   *copy = palloc(record.len);
		SeRecordReader reader = se_record_reader(copy, record.len);

		memcpy(copy, record.data, record.len);
		copy[se_harness_random(record.len)] ^= 1 << se_harness_random(8);
		PG_TRY();
		{
			se_table_read_key(table->keys, &reader, values, nulls);
			(void) se_keys_hash(table->keys, values, nulls);
		}
		PG_CATCH();
		{
			SE_CHECK_INT(se_stub_error_code, ERRCODE_DATA_CORRUPTED);
		}
		PG_END_TRY();
		pfree(copy);
	}
	/* An index with another key, and a key with another index. */
	make_key(12, values, nulls);
	SE_CHECK_ERROR("XX001", se_table_put_at(table, entry->index, se_keys_hash(table->keys, values, nulls), values, nulls));
	SE_CHECK_ERROR("XX001", se_table_put_at(table, 7, entry->hash, se_entry_keys(table, entry), entry->nulls));
	se_table_free(table);
	se_arena_free(arena);
}
