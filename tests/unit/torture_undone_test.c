/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of make torture, with a database that forgot what it had acknowledged: it accepts what
 * that explains, and nothing else.
 */
#include "torture/by_hand.h"

/* Everything that was acknowledged from one time on may have been undone at the other one. */
#define UNDONE(from, upto) #from " 0 1 invoke undone 0\n" #upto " 0 1 ok undone 0\n"
#define RENEWED(from, upto, client, op, until)                                                    \
#from " " #client " " #op " invoke renew 0\n" #upto " " #client " " #op " ok renew 0 " #until \
          "\n"

TEST(an_acknowledged_update_may_be_forgotten)
{
    struct verdict verdict = judged(ADD(1, 2, 1, 1, 1) UNDONE(3, 9) ADD(3, 4, 2, 1, 2)
                                        ADD(10, 11, 3, 1, 2) ROW(1, 1, 1) ROW(3, 1, 2));

    t_text(found, "");
    t_int(verdict.forgotten, 1);
    /* it was acknowledged before, or afterwards, or it is there with another value */
    violates(ADD(1, 2, 1, 1, 1) UNDONE(3, 9), "lost: 1:1");
    violates(UNDONE(3, 9) ADD(4, 10, 1, 1, 1), "lost: 1:1");
    violates(ADD(1, 2, 1, 1, 1) UNDONE(3, 9) ADD(3, 4, 2, 1, 3) ROW(1, 1, 1) ROW(2, 1, 2),
             "lost: 2:1");
}

TEST(p2_nothing_explains_a_lost_update_among_those_that_are_there)
{
    violates(UNDONE(1, 9) ADD(2, 4, 1, 1, 1) ADD(3, 5, 2, 1, 1) ROW(1, 1, 1) ROW(2, 1, 1),
             "lost update");
    violates(UNDONE(1, 9) ADD(2, 4, 1, 1, 1) ADD(3, 5, 2, 1, 2) ROW_OF(1, 1, 1, 8)
                 ROW_OF(2, 1, 2, 7),
             "late write");
}

TEST(a_lease_that_was_forgotten_excludes_nobody_afterwards)
{
    struct verdict verdict =
        judged(HOLD(10, 60, 1, 1, 0, 1, 1, 100) UNDONE(5, 30) HOLD(31, 50, 2, 1, 0, 1, 2, 100));

    t_text(found, "");
    t_int(verdict.early, 1);
    /* the other one was granted before the loss */
    violates(HOLD(10, 60, 1, 1, 0, 1, 1, 100) UNDONE(5, 30) HOLD(29, 50, 2, 1, 0, 1, 2, 100),
             "overlap: 2:1");
    /* this one had been acknowledged before, or was renewed after the loss */
    violates(HOLD(10, 60, 1, 1, 0, 1, 1, 100) UNDONE(11, 30) HOLD(31, 50, 2, 1, 0, 1, 2, 100),
             "overlap: 2:1");
    violates(HOLD(10, 60, 1, 1, 0, 1, 1, 100) UNDONE(5, 30) RENEWED(31, 32, 1, 1, 150)
                 HOLD(33, 50, 2, 1, 0, 1, 2, 100),
             "overlap: 2:1");
}

TEST(a_lease_whose_renewal_was_forgotten_ends_as_before_it)
{
    is_legal(HOLD(2, 90, 1, 1, 0, 1, 1, 50) UNDONE(5, 30) RENEWED(10, 11, 1, 1, 100)
                 HOLD(51, 60, 2, 1, 0, 1, 2, 100));
    violates(HOLD(2, 90, 1, 1, 0, 1, 1, 50) UNDONE(5, 30) RENEWED(10, 11, 1, 1, 100)
                 HOLD(49, 60, 2, 1, 0, 1, 2, 100),
             "overlap: 2:1");
}

TEST(p3_the_token_of_a_lease_that_was_forgotten_is_not_granted_again)
{
    violates(HOLD(10, 20, 1, 1, 0, 1, 2, 100) UNDONE(5, 30) HOLD(31, 50, 2, 1, 0, 1, 2, 100),
             "token: 2:1");
}

TEST(an_overlap_outside_is_explained_by_a_lease_that_was_forgotten)
{
#define BEGUN                       \
    HOLD(10, 80, 1, 1, 0, 1, 1, 90) \
    ACT(20, 70, 1, 1)               \
    HOLD(35, 65, 2, 1, 0, 1, 2, 100) ACT(36, 60, 2, 1)
    is_legal(BEGUN UNDONE(5, 30));
    t_int(judged(BEGUN UNDONE(5, 30)).overlaps, 1);
    t_int(judged(BEGUN UNDONE(11, 30)).violations, 3); /* the leases, the writes, and the value */
}

TEST(p1_a_command_whose_lease_was_forgotten_is_ended_soon)
{
    is_legal("1 1 1 invoke act 0\n" UNDONE(2, 3) "1000000000 2 1 invoke act 0\n"
                                                 "1000000001 2 1 fail act 0\n");
    violates("1 1 1 invoke act 0\n" UNDONE(2, 3) "2000000000 2 1 invoke act 0\n"
                                                 "2000000001 2 1 fail act 0\n",
             "the command of 2:1");
    violates("1 1 1 invoke act 0\n2 2 1 invoke act 0\n3 2 1 fail act 0\n" UNDONE(4, 5),
             "the command of 2:1");
}

#define RUN_AT(time, client, due, retry)                                      \
#time " " #client " 1 ok begin 0 " #due " " #retry "\n" #time " " #client \
          " 1 invoke end 0\n" #time " " #client " 1 ok end 0\n"

TEST(a_run_that_was_forgotten_begins_and_is_done_again)
{
    is_legal(RUN_AT(7, 1, 7, 0) UNDONE(5, 8) RUN_AT(9, 2, 7, 0));
    is_legal(RUN_AT(9, 1, 7, 0) UNDONE(5, 8) RUN_AT(7, 2, 7, 0));
    violates(RUN_AT(4, 1, 7, 0) UNDONE(5, 8) RUN_AT(9, 2, 7, 1), "done twice");
    violates(RUN_AT(6, 1, 7, 0) UNDONE(5, 8) RUN_AT(7, 2, 7, 1), "done twice");
    violates(RUN_AT(4, 1, 7, 0) UNDONE(5, 8) "9 2 1 ok begin 0 7 0\n", "begun twice");
}

TEST(a_read_may_miss_what_was_forgotten)
{
#define MISSED "12 2 9 invoke read 0\n13 2 9 ok read 0 0 0\n"
    is_legal(ADD(3, 4, 1, 1, 1) UNDONE(2, 11) MISSED);
    violates(ADD(3, 4, 1, 1, 1) UNDONE(2, 14) MISSED, "stale read");
    violates(ADD(3, 4, 1, 1, 1) ROW(1, 1, 1) UNDONE(2, 11) MISSED, "stale read");
}
