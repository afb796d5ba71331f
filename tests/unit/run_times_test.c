/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `rowlock run` divides the time of a lease between renewal, stopping the command, and a safety
 * margin.
 */
#include "lib/test.h"
#include "run/supervise/times.h"

TEST(from_term_to_kill_5_s_but_a_quarter_of_the_lease_at_most)
{
    t_int(kill_after_of(-1, 30000), 5000);
    t_int(kill_after_of(-1, 20000), 5000);
    t_int(kill_after_of(-1, 19999), 4999);
    t_int(kill_after_of(-1, 8000), 2000);
    t_int(kill_after_of(-1, 1000), 250);
    t_int(kill_after_of(-1, 0), 5000); /* --tx */
}

TEST(what_was_said_counts_up_to_a_quarter)
{
    t_int(kill_after_of(0, 30000), 0);
    t_int(kill_after_of(100, 1000), 100);
    t_int(kill_after_of(3600000, 8000), 2000);
    t_int(kill_after_of(3600000, 0), 3600000);
}

/* The command is dead before the lease can pass on, and there is time for a second renewal
   before that. */
TEST(a_renewal_comes_before_the_end_of_the_command_however_short_the_lease)
{
    for (int64_t ttl_ms = 1000; ttl_ms < 100000; ttl_ms += 7) {
        int64_t term_ms = ttl_ms - margin_for_kill(ttl_ms) - kill_after_of(-1, ttl_ms);

        t_true(margin_for_kill(ttl_ms) >= 100 && margin_for_kill(ttl_ms) <= 1000);
        t_true(term_ms > ttl_ms / 3);
    }
}
