/*
 * test/unit/test_inputs.c
 *		The watermark of several inputs (conformance WM-10 to WM-22), and the walk of row kinds.
 */
#include "harness.h"

#include "flow/inputs.h"
#include "flow/kind_check.h"

#define W(input, h) se_inputs_watermark(inputs, input, h)
#define IDLE(input) se_inputs_idle(inputs, input, true)
#define ACTIVE(input) se_inputs_idle(inputs, input, false)

SE_TEST(a_single_input_never_goes_back)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 1);

	SE_CHECK_INT(W(0, 25), 25);
	SE_CHECK_INT(W(0, 18), 25);
	SE_CHECK_INT(W(0, 42), 42);
}

SE_TEST(watermarks_of_an_idle_input_are_ignored)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 1);

	SE_CHECK_INT(W(0, 25), 25);
	SE_CHECK_INT(IDLE(0), 25);
	SE_CHECK(se_inputs_all_idle(inputs));
	SE_CHECK_INT(W(0, 50), 25);
	SE_CHECK_INT(ACTIVE(0), 25);
	SE_CHECK(!se_inputs_all_idle(inputs));
	SE_CHECK_INT(W(0, 50), 50);
}

SE_TEST(several_inputs_have_their_minimum)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 3);

	SE_CHECK_INT(W(0, 0), SE_TIME_MIN);
	SE_CHECK_INT(W(1, 0), SE_TIME_MIN);
	SE_CHECK_INT(W(2, 0), 0);
	SE_CHECK_INT(W(0, 12), 0);
	SE_CHECK_INT(W(2, 8), 0);
	SE_CHECK_INT(W(2, 10), 0);
	SE_CHECK_INT(W(1, 15), 10);
	SE_CHECK_INT(W(2, 17), 12);
	SE_CHECK_INT(W(0, 20), 15);
}

SE_TEST(the_combination_is_idle_only_if_all_are)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 2);

	IDLE(1);
	SE_CHECK(!se_inputs_all_idle(inputs));
	IDLE(0);
	SE_CHECK(se_inputs_all_idle(inputs));
	ACTIVE(1);
	SE_CHECK(!se_inputs_all_idle(inputs));
	ACTIVE(0);
	SE_CHECK(!se_inputs_all_idle(inputs));
}

SE_TEST(idle_inputs_do_not_hold_back)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 3);

	W(0, 25);
	W(1, 10);
	SE_CHECK_INT(W(2, 17), 10);
	SE_CHECK_INT(IDLE(1), 17);
	SE_CHECK_INT(IDLE(2), 25);
}

SE_TEST(all_idle_is_the_greatest)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 2);

	W(0, 25);
	SE_CHECK_INT(W(1, 10), 10);
	SE_CHECK_INT(IDLE(0), 10);
	SE_CHECK_INT(IDLE(1), 25);
}

SE_TEST(a_resumed_input_counts_again_when_it_caught_up)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 3);

	W(0, 10);
	W(1, 7);
	SE_CHECK_INT(W(2, 3), 3);
	SE_CHECK_INT(IDLE(2), 7);
	SE_CHECK_INT(ACTIVE(2), 7);
	SE_CHECK_INT(W(2, 5), 7);
	SE_CHECK_INT(W(2, 9), 7);
	SE_CHECK_INT(W(1, 12), 9);
}

SE_TEST(an_unaligned_input_that_becomes_idle_changes_nothing)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 2);

	W(0, 7);
	SE_CHECK_INT(W(1, 10), 7);
	SE_CHECK_INT(IDLE(0), 10);
	SE_CHECK_INT(ACTIVE(0), 10);
	SE_CHECK_INT(W(0, 9), 10);
	SE_CHECK_INT(IDLE(0), 10);
}

SE_TEST(a_finished_input_is_left_out_not_counted_as_endless)
{
	SeInputs   *inputs = se_inputs_new(CurrentMemoryContext, 3);

	W(0, 5);
	W(1, 8);
	SE_CHECK_INT(W(2, 6), 5);
	SE_CHECK_INT(W(0, SE_TIME_MAX), 6);
	SE_CHECK_INT(se_inputs_end(inputs, 0), 6);
	SE_CHECK_INT(IDLE(1), 6);
	SE_CHECK_INT(IDLE(2), 8);	/* idle, not ended: the greatest of the idle ones */
	SE_CHECK(se_inputs_all_idle(inputs));
	SE_CHECK(!se_inputs_all_ended(inputs));
	SE_CHECK_INT(se_inputs_end(inputs, 1), 8);
	SE_CHECK_INT(se_inputs_end(inputs, 2), SE_TIME_MAX);
	SE_CHECK(se_inputs_all_ended(inputs));
	SE_CHECK(!se_inputs_all_idle(inputs));
}

#define STEP(key, kind) se_kind_check_step(check, key, strlen(key), kind)
#define GOOD(step) SE_CHECK((step) == NULL)
#define BAD(step) SE_CHECK((step) != NULL)

SE_TEST(row_kinds_walk_one_way)
{
	SeKindCheck *check = se_kind_check_new(CurrentMemoryContext, false);

	GOOD(STEP("a", SE_ROW_INSERT));
	GOOD(STEP("b", SE_ROW_INSERT));
	GOOD(STEP("a", SE_ROW_UPDATE_BEFORE));
	BAD(se_kind_check_rest(check));
	GOOD(STEP("b", SE_ROW_DELETE));
	GOOD(STEP("a", SE_ROW_UPDATE_AFTER));
	GOOD(se_kind_check_rest(check));
	GOOD(STEP("a", SE_ROW_DELETE));
	GOOD(STEP("a", SE_ROW_INSERT));
	BAD(STEP("a", SE_ROW_INSERT));
	BAD(STEP("a", SE_ROW_UPDATE_AFTER));
	BAD(STEP("b", SE_ROW_UPDATE_BEFORE));
	BAD(STEP("b", SE_ROW_DELETE));
	BAD(STEP("", SE_ROW_UPDATE_AFTER));
}

SE_TEST(row_kinds_of_upserts_have_no_before)
{
	SeKindCheck *check = se_kind_check_new(CurrentMemoryContext, true);

	se_kind_check_present(check, "z", 1);
	GOOD(STEP("z", SE_ROW_UPDATE_AFTER));
	BAD(STEP("a", SE_ROW_UPDATE_AFTER));
	GOOD(STEP("a", SE_ROW_INSERT));
	GOOD(STEP("a", SE_ROW_UPDATE_AFTER));
	BAD(STEP("a", SE_ROW_UPDATE_BEFORE));
	GOOD(STEP("a", SE_ROW_DELETE));
	BAD(STEP("a", SE_ROW_DELETE));
}
