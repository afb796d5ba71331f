/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of make torture, with histories written by hand: it accepts legal ones, and finds each
 * kind of violation.
 */
#include "torture/by_hand.h"

/* ---- counters -------------------------------------------------------------------------------- */

TEST(p2_a_counter_is_legal)
{
    is_legal(ADD(1, 4, 1, 1, 1) ADD(2, 3, 2, 1, 2) ADD(5, 6, 1, 2, 3) ROW(1, 1, 1) ROW(2, 1, 2)
                 ROW(1, 2, 3));
}

TEST(an_unknown_operation_is_in_effect_once_or_never)
{
    is_legal(ADD(1, 2, 1, 1,
                 1) "3 1 2 invoke add 0\n4 2 1 invoke add 0\n5 2 1 unknown add 0 2\n" ROW(1, 1, 1)
                 ROW(1, 2, 2));
    violates("3 1 2 invoke add 0\n" ROW(1, 2, 1) ROW(1, 2, 2), "took effect twice");
}

TEST(p2_a_lost_update_is_found)
{
    violates(ADD(1, 4, 1, 1, 1) ADD(2, 3, 2, 1, 1) ROW(1, 1, 1) ROW(2, 1, 1), "lost update");
}

TEST(a_gap_is_found)
{
    violates(ADD(1, 4, 1, 1, 1) ADD(5, 6, 2, 1, 3) ROW(1, 1, 1) ROW(2, 1, 3), "gap");
}

TEST(an_acknowledged_operation_that_is_missing_is_found)
{
    violates(ADD(1, 2, 1, 1, 1) ADD(3, 4, 2, 1, 2) ROW(1, 1, 1), "lost: 2:1");
}

TEST(a_failed_operation_in_effect_is_found)
{
    violates("1 1 1 invoke add 0\n2 1 1 fail add 0 1\n" ROW(1, 1, 1), "had failed");
    violates(ROW(1, 1, 1), "was never invoked");
}

TEST(p2_a_stale_read_is_found_by_its_order)
{
    violates(ADD(5, 6, 1, 1, 1) ADD(1, 2, 2, 1, 2) ROW(1, 1, 1) ROW(2, 1, 2), "order: 1:1");
}

TEST(p4_a_late_write_is_found_by_its_token)
{
    is_legal(ADD(1, 2, 1, 1, 1) ADD(3, 4, 2, 1, 2) ROW_OF(1, 1, 1, 7) ROW_OF(2, 1, 2, 8));
    violates(ADD(1, 2, 1, 1, 1) ADD(3, 4, 2, 1, 2) ROW_OF(1, 1, 1, 8) ROW_OF(2, 1, 2, 7),
             "late write");
}

/* ---- leases ---------------------------------------------------------------------------------- */

/* A transaction lock has token 0, and is known to have lasted when COMMIT succeeded. */
TEST(p1_a_transaction_lock_and_a_lease_that_overlap_are_found)
{
    violates("1 1 1 invoke hold 0\n2 1 1 ok hold 0 0 1 0 0 0\n8 1 1 invoke leave 0\n"
             "9 1 1 ok renew 0 9\n" HOLD(5, 7, 2, 1, 0, 1, 4, 50),
             "overlap: 2:1");
    is_legal("1 1 1 invoke hold 0\n2 1 1 ok hold 0 0 1 0 0 0\n4 1 1 invoke leave 0\n"
             "5 1 1 ok renew 0 5\n" HOLD(5, 7, 2, 1, 0, 1, 4, 50));
    is_legal("1 1 1 invoke hold 0\n2 1 1 ok hold 0 0 1 0 0 0\n8 1 1 invoke leave 0\n" HOLD(
        5, 7, 2, 1, 0, 1, 4, 50)); /* COMMIT failed: the session may have been lost before */
}

TEST(p1_an_overlap_is_found)
{
    violates(HOLD(10, 20, 1, 1, 0, 1, 1, 100) HOLD(19, 30, 2, 1, 0, 1, 2, 100), "overlap: 2:1");
    violates(HOLD(10, 20, 1, 1, 1, 1, 1, 100) HOLD(19, 30, 2, 1, 0, 1, 2, 100), "overlap: 2:1");
    violates(HOLD(10, 20, 1, 1, 2, 1, 1, 100) HOLD(19, 30, 2, 1, 1, 1, 2, 100), "overlap: 2:1");
}

TEST(a_client_that_died_holds_until_its_lease_ends)
{
#define DIED "1 1 1 invoke hold 0\n10 1 1 ok hold 0 0 1 0 1 50\n"
    is_legal(DIED HOLD(51, 60, 2, 1, 0, 1, 2, 100));
    violates(DIED HOLD(49, 60, 2, 1, 0, 1, 2, 100), "overlap: 2:1");
}

TEST(a_lease_that_had_ended_before_its_answer_excludes_nobody)
{
    is_legal(HOLD(60, 70, 1, 1, 0, 1, 1, 50) HOLD(55, 80, 2, 1, 0, 1, 2, 100));
}

/* A holder that writes several times numbers each write, and its renewals with it. */
TEST(p1_a_renewal_with_a_later_write_counts)
{
#define RENEWED                                  \
    "40 1 2 invoke add 0\n41 1 2 fail add 0 1\n" \
    "42 1 2 invoke renew 0\n43 1 2 ok renew 0 143\n"
    violates(HOLD(10, 90, 1, 1, 0, 1, 1, 50) RENEWED HOLD(55, 60, 2, 1, 0, 1, 2, 100),
             "overlap: 2:1");
    is_legal(HOLD(10, 90, 1, 1, 0, 1, 1, 50) HOLD(55, 60, 2, 1, 0, 1, 2, 100));
    is_legal(HOLD(10, 54, 1, 1, 0, 1, 1, 50) RENEWED HOLD(55, 60, 2, 1, 0, 1, 2, 100));
}

TEST(p1_a_renewal_after_another_holder_is_found)
{
    violates(HOLD(10, 90, 1, 1, 0, 1, 1, 50)
                 HOLD(55, 60, 2, 1, 0, 1, 2, 100) "70 1 1 invoke renew 0\n71 1 1 ok renew 0 171\n",
             "overlap: 2:1");
}

TEST(p1_one_permit_too_many_is_found)
{
    is_legal(HOLD(10, 40, 1, 1, 2, 2, 1, 100) HOLD(20, 40, 2, 1, 2, 1, 2, 100));
    violates(HOLD(10, 40, 1, 1, 2, 2, 1, 100) HOLD(20, 40, 2, 1, 2, 2, 2, 100), "permits: 4");
}

TEST(p3_a_token_that_falls_is_found)
{
    violates(HOLD(10, 20, 1, 1, 0, 1, 2, 100) HOLD(21, 30, 2, 1, 0, 1, 1, 100), "token: 2:1");
    violates(HOLD(10, 20, 1, 1, 0, 1, 2, 100) HOLD(21, 30, 2, 1, 0, 1, 2, 100), "token: 2:1");
    /* shared leases do not exclude each other */
    is_legal(HOLD(10, 20, 1, 1, 1, 1, 2, 100) HOLD(11, 30, 2, 1, 1, 1, 1, 100));
    violates(HOLD(10, 20, 1, 1, 1, 1, 2, 100) HOLD(21, 30, 2, 1, 0, 1, 1, 100), "token: 2:1");
}

TEST(a_transaction_lock_has_no_token)
{
    is_legal(HOLD(10, 20, 1, 1, 0, 1, 2, 100) HOLD(21, 30, 2, 1, 0, 1, 0, 100)
                 HOLD(31, 40, 3, 1, 0, 1, 3, 100));
}

#define FENCED(fence, commit, client, result)                                                   \
    "1 " #client " 1 invoke fence 0\n" #fence " " #client " 1 ok fence 0\n" #commit " " #client \
    " 1 invoke commit 0\n99 " #client " 1 " #result " commit 0\n"

TEST(p4_fenced_transactions_that_overlap_are_found)
{
    is_legal(FENCED(10, 20, 1, ok) FENCED(21, 30, 2, ok));
    is_legal(FENCED(10, 20, 1, fail) FENCED(15, 30, 2, ok));
    violates(FENCED(10, 20, 1, ok) FENCED(15, 30, 2, ok), "fenced transactions of 0 overlap");
}

/* ---- steps of the server's clock ------------------------------------------------------------- */

/* In nanoseconds; a step is a whole number of milliseconds. */
#define STEP(from, upto, ms) #from " 0 1 invoke step 0\n" #upto " 0 1 ok step 0 " #ms "\n"

TEST(a_lease_may_end_early_by_as_much_as_the_clock_was_set_forward)
{
    struct verdict verdict = judged(HOLD(10, 9000000, 1, 1, 0, 1, 1, 3000000) STEP(20, 30, 2)
                                        HOLD(1000000, 1500000, 2, 1, 0, 1, 2, 9000000));

    t_text(found, "");
    t_int(verdict.early, 1);
    violates(HOLD(10, 9000000, 1, 1, 0, 1, 1, 3000000) STEP(20, 30, 1)
                 HOLD(1000000, 1500000, 2, 1, 0, 1, 2, 9000000),
             "overlap: 2:1");
    violates(HOLD(10, 9000000, 1, 1, 0, 1, 1, 3000000) STEP(20, 30, -2)
                 HOLD(1000000, 1500000, 2, 1, 0, 1, 2, 9000000),
             "overlap: 2:1");
    violates(HOLD(10, 9000000, 1, 1, 0, 1, 1, 3000000) STEP(1000001, 1000002, 2)
                 HOLD(1000000, 1500000, 2, 1, 0, 1, 2, 9000000),
             "overlap: 2:1");
}

TEST(p4_a_step_of_the_clock_explains_no_lost_update_under_the_fence)
{
    violates(STEP(1, 9, 2) ADD(1, 4, 1, 1, 1) ADD(2, 3, 2, 1, 1) ROW(1, 1, 1) ROW(2, 1, 1),
             "lost update");
}

/* ---- waits for a lease ----------------------------------------------------------------------- */

#define RELEASED(done, left, answered, client, op)        \
    HOLD(done, left, client, op, 0, 1, done, 90000000000) \
#answered " " #client " " #op " ok leave 0\n"

TEST(a_waiter_that_waits_for_long_while_the_name_is_free_is_found)
{
    struct verdict verdict =
        judged(RELEASED(10, 20, 30, 1, 1) RELEASED(14000000030, 14000000040, 14000000050, 2, 1));

    t_text(found, "");
    t_int(verdict.idle, 14000000000);
    violates(RELEASED(10, 20, 30, 1, 1) RELEASED(16000000030, 16000000040, 16000000050, 2, 1),
             "waited: 2:1 for 16000 ms, while 0 was free");
    is_legal(RELEASED(10, 20, 30, 1, 1)
                 RELEASED(16000000030, 16000000040, 16000000050, 2, 1) "50 2 1 invoke stopped 0\n");
}

/* The third waits for 26 s, behind the second, which is killed after 14 s, or starts again. */
#define BEHIND(second)                                       \
    RELEASED(10, 20, 30, 1, 1)                               \
    "40 2 1 invoke hold 0\n" second "50 3 1 invoke hold 0\n" \
    "26000000050 3 1 ok hold 0 0 1 0 300 90000000000\n"

TEST(p6_a_wait_behind_one_that_died_counts_from_its_death)
{
    is_legal(BEHIND("14000000040 2 7 invoke stopped 0\n14000000040 2 7 ok stopped 0\n"));
    is_legal(BEHIND("14000000040 2 2 invoke hold 1\n14000000041 2 2 fail hold 1 1\n"));
    /* it died too early, and lived on, or was frozen; or died after the wait */
    violates(BEHIND("9000000040 2 2 invoke hold 1\n9000000041 2 2 fail hold 1 1\n"
                    "14000000040 2 3 invoke hold 1\n14000000041 2 3 fail hold 1 1\n"
                    "15000000040 2 7 invoke stopped 0\n16000000040 2 7 ok stopped 0\n"),
             "waited: 3:1 for 26000 ms");
    violates(BEHIND("9000000040 2 7 invoke stopped 0\n9000000040 2 7 ok stopped 0\n"),
             "waited: 3:1 for 26000 ms");
    violates(BEHIND("27000000040 2 7 invoke stopped 0\n27000000040 2 7 ok stopped 0\n"),
             "waited: 3:1 for 26000 ms");
    violates(RELEASED(10, 20, 30, 1,
                      1) "60 2 1 invoke hold 0\n"
                         "14000000040 2 7 invoke stopped 0\n14000000040 2 7 ok stopped 0\n"
                         "50 3 1 invoke hold 0\n26000000050 3 1 ok hold 0 0 1 0 300 90000000000\n",
             "waited: 3:1 for 26000 ms");
    violates(BEHIND("14000000030 2 1 fail hold 0 1\n14000000040 2 2 invoke hold 1\n"
                    "14000000041 2 2 fail hold 1 1\n"),
             "waited: 3:1 for 26000 ms");
}

#define OUTAGE(from, upto) #from " 0 1 invoke outage 0\n" #upto " 0 1 ok outage 0\n"

TEST(a_wait_counts_from_the_end_of_an_outage_of_the_cluster)
{
    struct verdict verdict = judged(RELEASED(10, 20, 30, 1, 1) OUTAGE(40, 40000000000)
                                        RELEASED(54000000000, 54000000040, 54000000050, 2, 1));

    t_text(found, "");
    t_int(verdict.idle, 14000000000);
    t_int(verdict.gap, 53999999990);
    violates(RELEASED(10, 20, 30, 1, 1) OUTAGE(40, 40000000000)
                 RELEASED(56000000000, 56000000040, 56000000050, 2, 1),
             "waited: 2:1 for 16000 ms, while 0 was free");
    /* it began only after the wait; one that has not ended explains all */
    violates(RELEASED(10, 20, 30, 1, 1) RELEASED(16000000030, 16000000040, 16000000050, 2, 1)
                 OUTAGE(16000000031, 40000000000),
             "waited: 2:1 for 16000 ms, while 0 was free");
    is_legal(RELEASED(10, 20, 30, 1, 1)
                 RELEASED(56000000000, 56000000040, 56000000050, 2, 1) "40 0 1 invoke outage 0\n");
}

TEST(a_wait_after_the_last_grant_or_without_one_is_judged_too)
{
    violates(RELEASED(10, 20, 30, 1, 1) "40 2 1 invoke hold 0\n16000000040 2 1 fail hold 0\n",
             "waited: 2:1 for 16000 ms, while 0 was free");
    violates("40 2 1 invoke hold 0\n16000000040 2 1 fail hold 0\n", "waited: 2:1 for 16000 ms");
    violates("40 2 1 invoke hold 0\n16000000040 2 1 ok hold 0 0 1 0 1 16000000090\n",
             "waited: 2:1 for 16000 ms");
    /* it has the lease until then */
    is_legal("1 1 1 invoke hold 0\n2 1 1 ok hold 0 0 1 0 1 9000000000\n"
             "40 2 1 invoke hold 0\n16000000040 2 1 fail hold 0\n");
}

/* Leases of two clients in turn, from the release of each to the next grant so many ms. */
static const char *hand_overs(int ms, int n)
{
    static char text[8000];
    int length = snprintf(text, sizeof text, "1 0 0 ok prompt 0 500\n");

    for (int i = 1; i <= n; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "1 1 %d invoke hold 0\n%d000000 1 %d ok hold 0 0 1 0 %d %d000000\n"
                           "%d000000 1 %d invoke leave 0\n%d000001 1 %d ok leave 0\n",
                           i, i * ms, i, i, i * ms + 9000, i * ms, i, i * ms, i);
    return text;
}

TEST(slow_hand_overs_are_found_if_the_runner_promises_prompt_ones)
{
    is_legal(hand_overs(400, 30));
    is_legal(hand_overs(900, 8)); /* too few */
    violates(hand_overs(900, 30), "slow: half of 29 hand-overs took more than 900 ms");
    is_legal(strchr(hand_overs(900, 30), '\n') + 1); /* no promise */
}

/* ---- outside the database -------------------------------------------------------------------- */

TEST(an_overlap_outside_is_explained_only_by_a_late_client)
{
    struct verdict verdict = judged(HOLD(10, 80, 1, 1, 0, 1, 1, 50) ACT(20, 70, 1, 1)
                                        HOLD(55, 65, 2, 1, 0, 1, 2, 100) ACT(56, 60, 2, 1));

    t_text(found, "");
    t_int(verdict.overlaps, 1);
    t_int(verdict.lost, 1);
    violates(ACT(20, 30, 1, 1) ACT(25, 35, 2, 2), "overlap outside, unexplained");
    violates(ACT(20, 30, 1, 1) ACT(31, 35, 2, 1), "lost update outside");
}

TEST(p1_a_command_that_could_not_lock_its_file_is_found)
{
    is_legal("10 1 1 invoke act 0\n20 1 1 ok act 0 7\n30 2 1 invoke act 0\n40 2 1 ok act 0 8\n");
    is_legal("10 1 1 invoke act 0\n30 2 1 invoke act 0\n40 2 1 ok act 0 8\n"); /* 1 was killed */
    violates("10 1 1 invoke act 0\n30 2 1 invoke act 0\n31 2 1 fail act 0\n",
             "the command of 2:1 began while another one had 0");
}

/* ---- runs, names, and figures ---------------------------------------------------------------- */

#define RUN(client, op, due, retry, result)                                    \
    "1 " #client " " #op " ok begin 0 " #due " " #retry "\n2 " #client " " #op \
    " invoke end 0\n3 " #client " " #op " " #result " end 0\n"

TEST(a_run_that_begins_or_is_done_twice_is_found)
{
    is_legal(RUN(1, 1, 7, 0, fail) RUN(2, 1, 7, 1, ok) RUN(1, 2, 8, 0, ok));
    violates(RUN(1, 1, 7, 0, ok) RUN(2, 1, 7, 1, ok), "done twice");
    violates(RUN(1, 1, 7, 0, unknown) RUN(2, 1, 7, 0, ok), "begun twice");
}

TEST(a_stale_read_and_one_during_a_refresh_are_found)
{
    is_legal(ADD(1, 4, 1, 1, 1) ROW(1, 1, 1) READ(3, 2, 0, 0) READ(5, 3, 1, 1));
    violates(ADD(1, 4, 1, 1, 1) ROW(1, 1, 1) READ(5, 2, 0, 0), "stale read");
    violates(ADD(1, 4, 1, 1, 1) ROW(1, 1, 1) READ(3, 2, 1, 0), "read during a refresh");
}

TEST(p6_a_name_that_stays_locked_is_found)
{
    is_legal("1 0 0 invoke free 0\n2 0 0 ok free 0\n");
    violates("1 0 0 invoke free 0\n2 0 0 fail free 0\n", "still locked");
}

TEST(the_longest_wait_is_of_clients_that_were_not_stopped)
{
    struct verdict verdict = judged(ADD(1, 9, 1, 1, 1) ADD(1, 90, 2, 1, 2) ROW(1, 1, 1)
                                        ROW(2, 1, 2) "50 2 7 invoke stopped 0\n");

    t_int(verdict.violations, 0);
    t_int(verdict.longest, 8);
    t_int(verdict.operations, 2);
}

TEST(a_line_that_was_cut_off_is_ignored_and_a_strange_one_is_not)
{
    struct history history = {0};
    char text[] = "1 1 1 invoke add 0\n2 1 1 ok ad";
    char strange[] = "1 1 1 invoke dance 0\n";
    FILE *log = fmemopen(text, sizeof text - 1, "r");

    t_int(history_read(&history, log, "cut off"), 0);
    fclose(log);
    t_int((long)history.n, 1);
    log = fmemopen(strange, sizeof strange - 1, "r");
    t_int(history_read(&history, log, "strange"), -1);
    fclose(log);
    history_free(&history);
}
