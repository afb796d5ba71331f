/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6: a client is killed in every phase of an acquisition: a proxy between it and the server stops
 * it after each message that it sends. The replies that it has received make no difference to the
 * server, once it is dead. A client that is killed while it waits is never granted a lease, and
 * delays no other waiter for long.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <signal.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/proxy.h"

#define SOON_MS 8000
#define MOST_MESSAGES 400
#define MOST_WAITING 48 /* after this many messages it waits, and has looked more than once */
/* Behind JDBC there are more messages, and each client starts a JVM. */
#define STRIDE (t_is_jdbc() ? 41 : 1)
#define LOOK_MS (t_is_jdbc() ? 15000 : 1500)
#define START_MS (t_is_jdbc() ? 60000 : 20000)

static struct proxy *proxy;

/* Kills the child, whose sockets close, so that the server notices its end whatever is under
   way. */
static void kill_it(struct child *child)
{
    t_end_child(child, SIGKILL);
    proxy_cut_all(proxy);
    proxy_settle(proxy);
}

/* Waits until the proxy has stopped the client, or the client has finished; returns 1 if it was
   stopped. A client in the queue may send nothing for a while. */
static int until_struck(const struct child *child, long long limit_ms)
{
    long long end = t_now() + limit_ms;

    while (!proxy_has_struck(proxy)) {
        if (t_has_spoken(child) || t_now() > end)
            return 0;
        t_pause(2);
    }
    return 1;
}

/* Connecting is a phase too, so its messages count. */
static int killed_after(int n, const struct holder_plan *plan, long long limit_ms)
{
    struct child child;
    int struck;

    proxy_cut_all(proxy);
    proxy_settle(proxy);
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_SERVER, n);
    child = t_child(t_hold_body, plan);
    struck = until_struck(&child, limit_ms);
    kill_it(&child);
    return struck;
}

/* The name is free, so the grant is one round trip. Afterwards either the dead client holds the
   lease, as if it had died just after the grant, or it has left nothing. */
TEST(p6_killed_after_every_message_it_sent_for_a_free_name)
{
    struct holder_plan plan = {.want = t_x("free"), .ttl_ms = HOUR, .url = t_proxied_url(&proxy)};
    struct rowlock_connection *next = t_open();
    void *hand = t_native();
    int n, struck = 1, granted = 0;

    t_give(t_granted(next, t_x("free"), 0)); /* the name is prepared, in every technique */
    for (n = 0; struck && n < MOST_MESSAGES * STRIDE; n += STRIDE) {
        struct rowlock_lease *lease = NULL;

        struck = killed_after(n, &plan, START_MS);
        t_until_sessions(2); /* only our sessions: the server has finished what arrived */
        if (t_acquire(next, t_x("free"), 0, 0, &lease) == 0) {
            t_give(lease);
        } else {
            t_int(t_error.code, ROWLOCK_EBUSY);
            t_int(leases_of(hand, "free"), 1);
            t_ok(rowlock_break(next, "free", 0, 1, NULL, &t_error));
            granted++;
            if (granted > 1)
                break;
        }
        t_text(t_all_rows(hand), NO_ROWS);
    }
    t_true(n > 3);
    t_true(granted > 0);
}

/* ---- killed while it waited ------------------------------------------------------------------ */

/* Stopped between connecting and waiting, or while it waits; the name is held all the time. */
TEST(p6_killed_after_every_message_it_sent_while_it_waited)
{
    struct rowlock_connection *one = t_open(), *next = t_open();
    struct holder_plan plan = {
        .want = t_x("leased"), .ttl_ms = HOUR, .wait_ms = -1, .url = t_proxied_url(&proxy)};
    void *hand = t_native();
    int struck = 1, n;

    for (n = 0; struck && n < MOST_WAITING + 5 * (STRIDE - 1); n += STRIDE) {
        struct rowlock_lease *lease = t_granted(one, t_x("leased"), HOUR), *ours = NULL;
        long long began;

        struck = killed_after(n, &plan, LOOK_MS);
        if (waiters_of(hand, "leased") == 0) /* its first try may still be unread at the server */
            t_until_sessions(3);
        began = t_now();
        t_give(lease);
        t_ok(t_acquire(next, t_x("leased"), 0, 60000, &ours));
        if (t_now() - began > SOON_MS)
            t_fail(__FILE__, __LINE__, "%d messages: %lld ms", n, t_now() - began);
        t_give(ours);
        t_text(t_all_rows(hand), NO_ROWS);
    }
    print_message("# held up at %d places\n", n);
}

/* Between two waits it looks, and tries by a statement that the server commits. If the cut came
   then, another client is cut off. */
static struct child cut_off_in_a_wait(const struct holder_plan *plan)
{
    for (;;) {
        struct child child;

        proxy_arm(proxy, PROXY_NONE, PROXY_TO_SERVER, 0);
        child = t_child(t_hold_body, plan);
        t_until_somebody_waits();
        proxy_arm(proxy, PROXY_STALL, PROXY_TO_SERVER, 0);
        if (t_somebody_waits())
            return child;
        kill_it(&child);
        t_until_sessions(2);
    }
}

/* The proxy discards what it sends from then on, so its COMMIT cannot arrive, and no lease can
   exist. */
TEST(p6_cut_off_while_it_waited_for_a_transaction)
{
    struct rowlock_connection *one = t_open();
    struct holder_plan plan = {
        .want = t_x("cut off"), .ttl_ms = HOUR, .wait_ms = -1, .url = t_proxied_url(&proxy)};
    struct child child;
    void *hand = t_native();

    if (t_facts()->plain)
        t_not_here(WHY_IDLE_LIMIT);
    t_ok(t_begin(one, t_x("cut off"), 0));
    child = cut_off_in_a_wait(&plan);
    t_ok(rowlock_commit(one, &t_error));
    print_message("# free after %lld ms\n", t_until_free(t_x("cut off"), PROMISE_MS));
    t_int(t_has_spoken(&child), 0);
    kill_it(&child);
    t_until_free(t_x("cut off"), SOON_MS);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* The name is released while the client, first in the queue, is stopped. */
TEST(p6_killed_after_every_message_it_sent_when_its_turn_came)
{
    struct rowlock_connection *one = t_open();
    struct holder_plan plan = {
        .want = t_x("handed"), .ttl_ms = HOUR, .wait_ms = -1, .url = t_proxied_url(&proxy)};
    void *hand = t_native();
    int granted = 0, struck = 1,
        step = t_is_jdbc()        ? 19
               : t_facts()->plain ? 3
                                  : 1; /* they send many messages */

    for (int n = 0; struck && !granted && n < 60 * step; n += step) {
        struct rowlock_lease *lease = t_granted(one, t_x("handed"), HOUR);
        struct child child;

        proxy_cut_all(proxy);
        proxy_settle(proxy);
        proxy_arm(proxy, PROXY_NONE, PROXY_TO_SERVER, 0);
        child = t_child(t_hold_body, &plan);
        t_until_queued(hand, "handed", 1);
        proxy_arm(proxy, PROXY_STALL, PROXY_TO_SERVER, n);
        t_give(lease);
        struck = until_struck(&child, START_MS);
        kill_it(&child);
        t_until_sessions(2); /* only our sessions: the server has finished what arrived */
        granted = leases_of(hand, "handed") > 0;
        if (granted) /* its COMMIT arrived: it held the name when it died */
            t_ok(rowlock_break(one, "handed", 0, 1, NULL, &t_error));
        t_until_free(t_x("handed"), SOON_MS);
        t_text(t_all_rows(hand), NO_ROWS);
    }
    t_true(granted || !struck);
}
