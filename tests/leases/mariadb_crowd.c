/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P10: a crowd that waits for one name on MariaDB. A look, or a try of a newcomer, reads as many
 * rows among thousands of waiters as among hundreds.
 *
 * Runs on: mariadb/row
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/mariadb_hand.h"

#define HOUR 3600000

/* ---- the cost of a look ---------------------------------------------------------------------- */

/* The rows that the session has read from indexes, one after the other. */
static long long rows_read(void *hand)
{
    long long rows = 0;

    rows += atoll(my_field(my_row(hand, "SHOW SESSION STATUS LIKE 'Handler_read_next'"), 1));
    rows += atoll(my_field(my_row(hand, "SHOW SESSION STATUS LIKE 'Handler_read_prev'"), 1));
    return rows;
}

#define BATCH 200 /* a recursive query makes 1000 rows at most */

static void queue_up(void *hand, long long first, long n)
{
    for (long done = 0; done < n; done += BATCH)
        my_row(hand,
               "INSERT INTO rowlock_waiter (ticket, name, mode, owner, host, pid, since, "
               "alive_until) WITH RECURSIVE place (n) AS (SELECT 1 UNION ALL SELECT n + 1 "
               "FROM place WHERE n < %d) SELECT %lld + n, 'a', 'exclusive', CONCAT('owner', n), "
               "'elsewhere', n, utc_timestamp(6), %s FROM place",
               BATCH, first + done, lease_instant(HOUR));
}

struct cost {
    long long look, head, newcomer; /* rows read by one call */
};

/* `n` waiters ahead of a ticket, and `n` behind it. */
static struct cost cost_among(void *hand, long n)
{
    struct cost cost;
    long long us, began;

    my_row(hand, "DELETE FROM rowlock_waiter");
    us = my_queue(hand, "a:x:0:0", 1);
    queue_up(hand, 0, n);
    queue_up(hand, us, n);
    began = rows_read(hand);
    t_text(my_field(my_place(hand, "a:x:0:0", us, 1), 0), "11");
    cost.look = rows_read(hand) - began;
    began = rows_read(hand);
    t_text(my_field(my_place(hand, "a:x:0:0", 1, 0), 0), "0");
    cost.head = rows_read(hand) - began;
    began = rows_read(hand);
    t_text(my_field(my_grant(hand, (struct my_terms){.wants = "a:x:0:0"}), 0), "11");
    cost.newcomer = rows_read(hand) - began;
    print_message("# among %ld: a look reads %lld rows, that of the head %lld, a newcomer %lld\n",
                  2 * n, cost.look, cost.head, cost.newcomer);
    my_row(hand, "CALL rowlock_withdraw(%lld, '')", us);
    my_row(hand, "DELETE FROM rowlock_waiter");
    return cost;
}

TEST(p10_a_look_among_thousands_reads_as_many_rows_as_among_hundreds)
{
    void *hand = my_fresh();
    struct cost hundreds = cost_among(hand, 200), thousands = cost_among(hand, 2000);

    t_true(thousands.look < 100 && thousands.look <= hundreds.look + 10);
    t_true(thousands.head < 20 && thousands.head <= hundreds.head + 10);
    t_true(thousands.newcomer < 100 && thousands.newcomer <= hundreds.newcomer + 10);
}
