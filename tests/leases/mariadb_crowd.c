/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P10: a crowd that waits for one name on MariaDB. A look, or a try of a newcomer, reads as many
 * rows among thousands of waiters as among hundreds. And a process that holds a crowd of leases.
 *
 * Runs on: mariadb/row
 */
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/hand_mariadb.h"

/* ---- the cost of a look ---------------------------------------------------------------------- */

/* The rows that the session has read from indexes, one after the other. */
static long long rows_read(void *hand)
{
    long long rows = 0;

    rows += atoll(hand_field(hand_row(hand, "SHOW SESSION STATUS LIKE 'Handler_read_next'"), 1));
    rows += atoll(hand_field(hand_row(hand, "SHOW SESSION STATUS LIKE 'Handler_read_prev'"), 1));
    return rows;
}

#define BATCH 200 /* a recursive query makes 1000 rows at most */

static void queue_up(void *hand, long long first, long n)
{
    for (long done = 0; done < n; done += BATCH)
        hand_row(hand,
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

    hand_row(hand, "DELETE FROM rowlock_waiter");
    us = hand_queue(hand, "a:x:0:0", 1);
    queue_up(hand, 0, n);
    queue_up(hand, us, n);
    began = rows_read(hand);
    t_text(hand_field(hand_place(hand, "a:x:0:0", us, 1), 0), "11");
    cost.look = rows_read(hand) - began;
    began = rows_read(hand);
    t_text(hand_field(hand_place(hand, "a:x:0:0", 1, 0), 0), "0");
    cost.head = rows_read(hand) - began;
    began = rows_read(hand);
    t_text(hand_field(hand_grant(hand, "a:x:0:0", 0), 0), "11");
    cost.newcomer = rows_read(hand) - began;
    print_message("# among %ld: a look reads %lld rows, that of the head %lld, a newcomer %lld\n",
                  2 * n, cost.look, cost.head, cost.newcomer);
    hand_row(hand, "CALL rowlock_withdraw(%lld, '')", us);
    hand_row(hand, "DELETE FROM rowlock_waiter");
    return cost;
}

TEST(p10_a_look_among_thousands_reads_as_many_rows_as_among_hundreds)
{
    void *hand = hand_fresh();
    struct cost hundreds = cost_among(hand, 200), thousands = cost_among(hand, 2000);

    t_true(thousands.look < 100 && thousands.look <= hundreds.look + 10);
    t_true(thousands.head < 20 && thousands.head <= hundreds.head + 10);
    t_true(thousands.newcomer < 100 && thousands.newcomer <= hundreds.newcomer + 10);
}

/* ---- the cost of a refusal ------------------------------------------------------------------- */

/* Calls of procedures, those inside procedures included. */
static long long calls_made(void *hand)
{
    return atoll(hand_field(hand_row(hand, "SHOW SESSION STATUS LIKE 'Com_call_procedure'"), 1));
}

static long long calls_of_a_try(void *hand, const char *status, long long number)
{
    long long began = calls_made(hand);
    const char *row = hand_grant(hand, "a:x:0:0", 0);

    t_text(hand_field(row, 0), status);
    t_int(atoll(hand_field(row, 3)), number);
    return calls_made(hand) - began;
}

/* The name lock that a refused try keeps would delay the next holder. */
TEST(a_try_that_finds_a_holder_or_a_waiter_is_refused_by_few_statements)
{
    void *hand = hand_fresh(), *other = hand_open();
    long long token = hand_lease(other, "a:x:0:0"), ticket, held, queued;

    if (t_is_mysql()) /* its grant has no fast path */
        return;
    hand_lease(hand, "b:x:0:0"); /* makes the session READ COMMITTED, as the library's are */
    held = calls_of_a_try(hand, "3", token);
    ticket = hand_queue(other, "a:x:0:0", 1);
    hand_release(other, token);
    queued = calls_of_a_try(hand, "11", ticket);
    print_message("# a try makes %lld calls at a lease, %lld at a waiter\n", held, queued);
    t_true(held <= 4);
    t_true(queued <= 10);
    /* a lease that has expired is swept, and the ticket of a dead waiter is removed */
    hand_row(other, "CALL rowlock_withdraw(%lld, '')", ticket);
    hand_expire(other, hand_lease(other, "a:x:0:0"));
    token = hand_lease(hand, "a:x:0:0");
    ticket = hand_queue(other, "a:x:0:0", 1);
    hand_release(hand, token);
    hand_row(other, "DO RELEASE_LOCK(CONCAT('rowlock:', %s, ':', %lld))", my_database_hash(),
             ticket);
    hand_lease(hand, "a:x:0:0");
}

/* ---- a crowd of leases ----------------------------------------------------------------------- */

#define LEASES 100

TEST(a_renewal_of_many_leases_is_one_call)
{
    void *handle;
    struct rowlock_connection *one = t_wrap(&handle, NULL);
    struct rowlock_lease *leases[LEASES];
    long long began;

    t_grant_many(one, leases, LEASES, HOUR);
    began = calls_made(handle);
    t_ok(rowlock_renew_all(leases, LEASES, 2 * HOUR, NULL, &t_error));
    t_true(calls_made(handle) - began < 10); /* it calls a few procedures */
    for (int i = 0; i < LEASES; i++)
        t_true(rowlock_remaining(leases[i]) > HOUR);
    t_give_many(leases, LEASES);
}

/* ---- the first release of a session ---------------------------------------------------------- */

#define TRIES 25 /* each has two sessions of its own */

/* What a release reads by a key; the first of a session reads the text of its procedures, too. */
static long long reads_of_a_release(void *hand, long long token)
{
    const char *count = "SHOW SESSION STATUS LIKE 'Handler_read_key'";
    long long began = atoll(hand_field(hand_row(hand, "%s", count), 1));

    hand_release(hand, token);
    return atoll(hand_field(hand_row(hand, "%s", count), 1)) - began;
}

static long long lease_after_a_wait(void *hand, void *holder, int looks)
{
    long long token = hand_lease(holder, "a:x:0:0"), ticket = hand_queue(hand, "a:x:0:0", 1);
    const char *row;

    if (looks)
        t_text(hand_field(hand_place(hand, "a:x:0:0", ticket, 1), 0), "3");
    hand_release(holder, token);
    row = hand_grant(hand, "a:x:0:0", ticket);
    return atoll(hand_field(row, 2));
}

static int compiles_in_time(void *holder)
{
    void *hand = hand_open(), *unready = hand_open();
    long long first = reads_of_a_release(hand, lease_after_a_wait(hand, holder, 1)),
              second = reads_of_a_release(hand, lease_after_a_wait(hand, holder, 1)),
              compiles = reads_of_a_release(unready, lease_after_a_wait(unready, holder, 0));

    print_message("# the first release reads %lld keys, the second %lld; without a look %lld\n",
                  first, second, compiles);
    return compiles > second && first == second;
}

/* A crowd consists of sessions that release their first lease. The server forgets what all sessions
   have compiled whenever another test creates a procedure: then this is tried again. */
TEST(a_waiter_compiles_its_release_while_it_waits)
{
    void *holder = hand_fresh();
    int in_time = t_is_mysql(); /* it has a cache of procedures, without such reads */

    hand_row(holder, "UPDATE rowlock_meta SET history = 'all'"); /* as after a wait of a second */
    for (int i = 0; i < TRIES && !in_time; i++)
        in_time = compiles_in_time(holder);
    hand_row(holder, "UPDATE rowlock_meta SET history = 'slow'");
    t_true(in_time);
    t_text(t_all_rows(holder), NO_ROWS);
}
