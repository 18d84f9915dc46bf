/*
 * test/unit/test_restart.c
 *		The wait before a failed job's next try doubles up to its bound, whatever the settings.
 */
#include "harness.h"

#include "base/settings.h"
#include "runtime/restart.h"

SE_TEST(the_wait_doubles_with_every_failure_up_to_the_bound)
{
	se_restart_delay_min = 100;
	se_restart_delay_max = 60000;
	SE_CHECK_INT(se_restart_delay(1), 100);
	SE_CHECK_INT(se_restart_delay(2), 200);
	SE_CHECK_INT(se_restart_delay(3), 400);
	SE_CHECK_INT(se_restart_delay(10), 51200);
	SE_CHECK_INT(se_restart_delay(11), 60000);
	SE_CHECK_INT(se_restart_delay(PG_INT32_MAX), 60000);
}

SE_TEST(strange_settings_give_a_wait_too)
{
	se_restart_delay_min = 5000;
	se_restart_delay_max = 1000;
	SE_CHECK_INT(se_restart_delay(1), 1000);
	SE_CHECK_INT(se_restart_delay(7), 1000);
	se_restart_delay_min = 1;
	se_restart_delay_max = PG_INT32_MAX;
	SE_CHECK_INT(se_restart_delay(31), 1 << 30);
	SE_CHECK_INT(se_restart_delay(32), PG_INT32_MAX);
	SE_CHECK_INT(se_restart_delay(100), PG_INT32_MAX);
}
