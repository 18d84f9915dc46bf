/*
 * test/unit/test_harness.c
 *		The unit-test stubs themselves: contexts, errors, lists, descriptors.
 */
#include "harness.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "lib/stringinfo.h"

static int	callbacks = 0;

static void
count_callback(void *arg)
{
	callbacks++;
}

SE_TEST(deleting_a_context_deletes_its_children_and_calls_back)
{
	MemoryContext parent = AllocSetContextCreate(CurrentMemoryContext, "parent", ALLOCSET_DEFAULT_SIZES);
	MemoryContext child = AllocSetContextCreate(parent, "child", ALLOCSET_DEFAULT_SIZES);
	MemoryContextCallback callback = {.func = count_callback};

	MemoryContextAllocZero(child, 100);
	MemoryContextRegisterResetCallback(child, &callback);
	SE_CHECK_INT(MemoryContextMemAllocated(parent, true), 100);
	MemoryContextDelete(parent);
	SE_CHECK_INT(callbacks, 1);
}

SE_TEST(an_error_is_caught_with_its_sqlstate)
{
	SE_CHECK_ERROR("22012", ereport(ERROR, (errcode(ERRCODE_DIVISION_BY_ZERO), errmsg("division by %d", 0))));
	SE_CHECK_STR(se_stub_error_message, "division by 0");
	SE_CHECK_ERROR("XX000", elog(ERROR, "ours"));
}

SE_TEST(lists_grow_and_strings_are_built)
{
	List	   *list = NIL;
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < 100; i++)
	{
		list = lappend_int(list, i);
		appendStringInfo(&buf, "%d,", i);
	}
	SE_CHECK_INT(list_length(list), 100);
	SE_CHECK_INT(list_nth_int(list, 99), 99);
	SE_CHECK_INT(buf.len, 290);
}

SE_TEST(a_descriptor_knows_its_types)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);

	TupleDescInitEntry(desc, 1, "a", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, "b", TEXTOID, -1, 0);
	SE_CHECK(TupleDescAttr(desc, 0)->attbyval);
	SE_CHECK_INT(TupleDescAttr(desc, 1)->attlen, -1);
}
