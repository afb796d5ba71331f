/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On InnoDB expired leases are swept in separate transactions, and siblings lock beneath their
 * lease. The procedures of the schema are called step by step from plain sessions.
 *
 * Runs on: mariadb
 * Quick: first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/mariadb_hand.h"

#define X(name) ((struct my_terms){.wants = name ":x:0:0"})

static const char *in_the_way(const char *name, long long number)
{
    static char text[80];

    snprintf(text, sizeof text, "3|%s|0|%lld|", name, number);
    return text;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

TEST(h1_a_sweep_that_fails_leaves_every_lease_its_heartbeat)
{
    void *one = my_fresh(), *two = my_open(), *other = my_open();
    long long first = my_lease(one, "a:s:0:0"), second = my_lease(two, "a:s:0:0");

    my_expire(one, first);
    my_expire(one, second);
    my_row(two, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    my_row(two, "START TRANSACTION");
    t_text(my_field(my_row(two, "CALL rowlock_fence_row('a', %lld, 30000)", second), 0), "0");
    /* the second cannot be swept: none of its rows is gone, whether or not the first was swept */
    t_text(my_grant(other, X("a")), in_the_way("a", second));
    t_text(my_rows(other, second), "1|1");
    t_int(t_odd_rows(other), 0);
    t_int(my_number(one, "CALL rowlock_renew_lease(%lld, 60000, NULL, NULL)", second), 0);
    my_row(two, "COMMIT");
    t_text(my_grant(other, X("a")), in_the_way("a", second));
    t_int(my_number(two, "CALL rowlock_release_lease(%lld, NULL, NULL)", second), 0);
    t_true(my_lease(other, "a:x:0:0") > second);
}

TEST(h2_a_live_lease_in_the_way_and_nothing_is_swept)
{
    void *one = my_fresh(), *other = my_open();
    long long dead = my_lease(one, "a:s:0:0"), live = my_lease(one, "a:s:0:0");

    my_expire(one, dead);
    t_text(my_grant(other, X("a")), in_the_way("a", live));
    t_text(my_rows(one, dead), "1|1");
    t_int(my_number(one, "CALL rowlock_renew_lease(%lld, 60000, NULL, NULL)", dead),
          0); /* its heartbeat was only late */
}

/* Two sessions that sweep the same leases, named in different orders, cannot deadlock. */
TEST(h3_a_sweep_that_waits_for_one_lease_has_done_with_the_other)
{
    void *one = my_fresh(), *other = my_open();
    long long first = my_lease(one, "b:x:0:0"), second = my_lease(one, "a:x:0:0");

    my_expire(one, first);
    my_expire(one, second);
    my_row(one, "START TRANSACTION");
    my_row(one, "SELECT token FROM rowlock_heartbeat WHERE token = %lld FOR UPDATE", first);
    t_true(strcmp(my_field(my_grant(other, (struct my_terms){.wants = "a:x:0:0,b:x:0:0"}), 0),
                  "0") != 0);
    t_text(my_rows(other, second), "0|0");
    t_text(my_rows(other, first), "1|1");
    my_row(one, "ROLLBACK");
    t_true(my_lease(other, "a:x:0:0,b:x:0:0") > second);
    t_text(my_rows(other, first), "0|0");
}

/* ---- beneath the own lease ------------------------------------------------------------------ */

/* Begins a transaction and locks `a` under the token; returns the status. */
static const char *lock_beneath(void *hand, char mode, long long token)
{
    return my_field(my_row(hand, "CALL rowlock_begin_lock('61:%c:%lld', 0)", mode, token), 0);
}

TEST(own_lease_siblings_by_the_procedures)
{
    void *holder = my_fresh(), *one = my_open(), *two = my_open();
    long long token = my_lease(holder, "a:x:0:0");

    t_text(lock_beneath(one, 'x', token + 1), "8");
    t_text(lock_beneath(one, 'x', token), "0");
    t_text(lock_beneath(two, 'x', token), "1");
    t_text(lock_beneath(two, 's', token), "1");
    t_text(lock_beneath(two, 'x', 0), "3");
    t_int(my_number(holder, "CALL rowlock_renew_lease(%lld, 60000, NULL, NULL)", token), 0);
    my_row(one, "COMMIT");
    t_text(lock_beneath(two, 'x', token), "0");
    my_row(two, "COMMIT");
    t_text(lock_beneath(one, 's', token), "0");
    t_text(lock_beneath(two, 's', token), "0");
    t_text(lock_beneath(holder, 'x', token), "1");
    my_row(one, "COMMIT");
    my_row(two, "COMMIT");
    t_text(lock_beneath(holder, 'x', token), "0");
    my_row(holder, "COMMIT");
    t_int(my_number(holder, "CALL rowlock_release_lease(%lld, NULL, NULL)", token), 0);
    token = my_lease(holder, "a:s:0:0");
    t_text(lock_beneath(one, 'x', token), "8");
    t_text(lock_beneath(one, 's', token), "0");
    my_row(one, "COMMIT");
}
