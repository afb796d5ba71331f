/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge's rules for histories in which no session is disturbed (judge_calm.c): each finds its
 * violation only if the runner promises that.
 */
#include "torture/by_hand.h"

#define CALM "0 0 0 ok calm 0\n"

/* Client 1 waits from 1 to 50; at 20 a holder, client 9, saw it in the queue. Client 2 asks
   at `asked`, and has its lease from 40 to 45. */
#define WAITED(mode)                                                                      \
    "1 1 1 invoke hold 0\n20 9 1 ok queued 0 1 1\n50 1 1 ok hold 0 " #mode " 1 3 8 200\n" \
    "55 1 1 invoke leave 0\n"
#define CAME(asked, mode) \
#asked " 2 1 invoke hold 0\n40 2 1 ok hold 0 " #mode " 1 3 7 200\n45 2 1 invoke leave 0\n"

TEST(p7_a_client_that_came_later_and_was_served_first_is_found)
{
    is_legal(CALM WAITED(0) CAME(19, 0)); /* it asked before the queue was seen */
    violates(CALM WAITED(0) CAME(30, 0), "order of the queue: 2:1 acquired 0 (token 7) before 1:1");
    is_legal(WAITED(0) CAME(30, 0)); /* no promise: it may have lost its place */
    is_legal(CALM WAITED(0) "30 2 1 invoke hold 0\n60 2 1 ok hold 0 0 1 0 9 200\n");
}

TEST(p7_a_reader_before_a_waiting_writer_is_found_but_not_beside_a_reader)
{
    violates(CALM WAITED(0) CAME(30, 1), "order of the queue");
    violates(CALM WAITED(1) CAME(30, 2), "order of the queue");
    is_legal(CALM WAITED(1) CAME(30, 1));
}

TEST(p7_a_client_that_was_stopped_or_killed_may_have_lost_its_place)
{
    is_legal(CALM WAITED(0) CAME(30, 0) "22 1 5 invoke stopped 0\n23 1 5 ok stopped 0\n");
    is_legal(CALM CAME(30, 0) "1 1 1 invoke hold 0\n20 9 1 ok queued 0 1 1\n");
}

#define BUSY(asked, done, client) \
#asked " " #client " 1 invoke hold 0\n" #done " " #client " 1 fail hold 0 1\n"

TEST(p9_a_name_that_no_client_uses_is_never_busy)
{
    violates(CALM BUSY(10, 20, 2), "busy: 2:1 found 0 busy");
    is_legal(BUSY(10, 20, 2));                                     /* no promise */
    is_legal(CALM "10 2 1 invoke hold 0\n20 2 1 fail hold 0 0\n"); /* another failure */
    is_legal(CALM BUSY(10, 20, 2) BUSY(15, 25, 3));                /* each is in the other's way */
    violates(CALM BUSY(10, 20, 2) "1 1 1 invoke hold 1\n2 1 1 ok hold 1 0 1 0 1 90\n",
             "busy: 2:1"); /* the holder of another name */
}

TEST(p9_a_name_is_used_until_its_release_was_answered)
{
#define HELD CALM "1 1 1 invoke hold 0\n2 1 1 ok hold 0 0 1 0 1 50\n"
    is_legal(HELD BUSY(60, 70, 2)); /* it was never released */
    is_legal(HELD "3 1 1 invoke leave 0\n61 1 1 ok leave 0\n" BUSY(60, 70, 2));
    violates(HELD "3 1 1 invoke leave 0\n59 1 1 ok leave 0\n" BUSY(60, 70, 2), "busy: 2:1");
}

TEST(p11_a_transaction_that_does_not_survive_a_busy_lock_is_found)
{
    is_legal(CALM "1 1 1 invoke kept 0\n2 1 1 ok kept 0\n3 1 2 invoke kept 0\n");
    violates(CALM "1 1 1 invoke kept 0\n2 1 1 fail kept 0\n", "not kept: the transaction of 1:1");
    is_legal("1 1 1 invoke kept 0\n2 1 1 fail kept 0\n"); /* its session may have been lost */
}
