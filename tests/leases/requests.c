/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases that wait, by SQL alone: rowlock.request and rowlock_request, with waiters of the library
 * in the same queue. P7: they keep their order. P6: a client that is killed, frozen or cut off
 * delays the others for a bounded time, and never holds the lease for long; a request passes frozen
 * waiters. P1: a request that was cut, cancelled or killed at any moment is repeated with the same
 * owner, and there is one lease. P10: an idle waiter sends few statements.
 *
 * Runs on: postgresql mariadb
 * Quick: first
 * Rest: postgresql/native mariadb/row
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"

#define AT_MOST 400000 /* for a request to get its token; a test has 600 s or more */
#define WAIT_MS 5000
#define DEAD_MS 36000   /* three times the promised 12 s: the machine may be busy */
#define FROZEN_MS 45000 /* three times the promised 15 s */

/* ---- requests -------------------------------------------------------------------------------- */

struct want_sql {
    const char *name, *mode; /* mode NULL: exclusive */
    int owner;               /* its number */
    int wait_ms;
};

static const char *owner_text(int owner)
{
    return t_say("the owner number %d", owner);
}

/* The token; 0: not yet; -1: the statement failed, with its message in `message`. */
static long long request(void *hand, struct want_sql want, char *message, size_t size)
{
    const char *mode = want.mode ? want.mode : "exclusive";
    char text[600];

    if (t_is_postgresql())
        snprintf(text, sizeof text,
                 "SELECT token FROM rowlock.request('%s', '1 hour', '%s', '%d ms', mode => '%s', "
                 "host => 'web7', pid => %d, program => 'a program')",
                 want.name, owner_text(want.owner), want.wait_ms, mode, (int)getpid());
    else
        snprintf(text, sizeof text,
                 "CALL rowlock_request_row('%s', %d, '%s', %d, '%s', NULL, 'web7', %d, "
                 "'a program', NULL)",
                 want.name, HOUR, owner_text(want.owner), want.wait_ms, mode, (int)getpid());
    if (t_engine()->sql(hand, text, message, size))
        return -1;
    return atoll(message);
}

static long long asked(void *hand, struct want_sql want)
{
    char message[500];
    long long token = request(hand, want, message, sizeof message);

    if (token < 0)
        t_fail(__FILE__, __LINE__, "a request failed: %s", message);
    return token;
}

static long long until_granted(void *hand, struct want_sql want)
{
    long long token = 0, end = t_now() + AT_MOST;

    while (!token && t_now() < end)
        token = asked(hand, want);
    t_true(token > 0);
    return token;
}

static void give(void *hand, long long token)
{
    if (t_is_postgresql())
        t_text(t_native_sql(hand, "SELECT rowlock.release(%lld)", token), "t");
    else
        t_native_sql(hand, "CALL rowlock_release(%lld, @released)", token);
}

static void cancel(void *hand, const char *name, int owner)
{
    t_native_sql(hand,
                 t_is_postgresql() ? "SELECT rowlock.cancel('%s', '%s')"
                                   : "CALL rowlock_cancel('%s', '%s', @canceled)",
                 name, owner_text(owner));
}

/* What a program does: it repeats the statement until it has the token. A thread, so it asserts
   nothing. */
struct client {
    struct want_sql want;
    const char *url; /* NULL: t_url() */
    atomic_int *turn;
    int order, calls;
    long long token;
};

static int be_client(struct rowlock_connection *none, void *data, struct rowlock_error *error)
{
    struct client *client = data;
    void *hand = t_engine()->open(client->url ? client->url : t_url());
    char message[500] = "it got no token";
    long long end = t_now() + AT_MOST;

    (void)none;
    for (; hand && !client->token && t_now() < end; client->calls++)
        client->token = request(hand, client->want, message, sizeof message);
    if (hand && client->token > 0 && client->turn) {
        client->order = atomic_fetch_add(client->turn, 1) + 1;
        snprintf(message, sizeof message,
                 t_is_postgresql() ? "SELECT rowlock.release(%lld)"
                                   : "CALL rowlock_release(%lld, @released)",
                 client->token);
        if (t_engine()->sql(hand, message, message, sizeof message))
            client->token = -1;
    }
    if (hand)
        t_engine()->close(hand);
    if (client->token > 0)
        return ROWLOCK_OK;
    snprintf(error->text, sizeof error->text, "%s", message);
    return error->code = ROWLOCK_EDB;
}

/* ---- order ----------------------------------------------------------------------------------- */

#define WAITERS 9

static void keeps_order(const char *name, int shared)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x(name), HOUR);
    struct acquisition waiters[WAITERS];
    struct client clients[WAITERS];
    struct thread *threads[WAITERS];
    atomic_int turn = 0;
    void *hand = t_native();

    for (int i = 0; i < WAITERS; i++) {
        int is_shared = shared && i % 2;

        waiters[i] = (struct acquisition){
            .wants = {is_shared ? t_s(name) : t_x(name)}, .wait_ms = -1, .turn = &turn};
        clients[i] =
            (struct client){.want = {name, is_shared ? "shared" : NULL, i, WAIT_MS}, .turn = &turn};
        threads[i] = i % 3 == 1 ? t_acquire_thread(t_open(), &waiters[i])
                                : t_thread(NULL, be_client, &clients[i]);
        t_until_queued(hand, name, i + 1);
    }
    t_give(lease);
    for (int i = 0; i < WAITERS; i++) {
        t_ok(t_join(threads[i]));
        t_int(i % 3 == 1 ? waiters[i].order : clients[i].order, i + 1);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p7_requests_and_waiters_of_the_library_are_served_in_their_order)
{
    keeps_order("mixed", 0);
}

TEST(p7_a_request_neither_passes_a_waiter_nor_a_ticket_of_its_kind)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_s("passed"), HOUR);
    struct acquisition writer = {.wants = {t_x("passed")}, .wait_ms = -1};
    struct thread *thread = t_acquire_thread(t_open(), &writer);
    void *hand = t_native();

    t_until_queued(hand, "passed", 1);
    t_int(asked(hand, (struct want_sql){"passed", "shared", 1, 0}), 0);
    t_int(asked(hand, (struct want_sql){"passed", "shared", 2, 0}), 0);
    t_int(waiters_of(hand, "passed"), 3);
    t_give(lease);
    t_ok(t_join(thread));
    t_int(asked(hand, (struct want_sql){"passed", "shared", 1, 0}), 0);
    t_give(writer.lease);
    t_int(asked(hand, (struct want_sql){"passed", "shared", 2, 0}), 0); /* it is not first */
    t_true(asked(hand, (struct want_sql){"passed", "shared", 1, 0}) > 0);
    t_true(asked(hand, (struct want_sql){"passed", "shared", 2, 0}) > 0);
    cancel(hand, "passed", 1);
    cancel(hand, "passed", 2);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* An answer by the shared lease would let a reader write. */
TEST(p1_a_lease_of_another_kind_is_no_answer)
{
    void *hand = t_native();
    char message[500];
    long long token = until_granted(hand, (struct want_sql){"kind", "shared", 1, 0});

    t_int(request(hand, (struct want_sql){"kind", NULL, 1, 0}, message, sizeof message), -1);
    t_contains(message, "this owner has requested another lease");
    t_true(asked(hand, (struct want_sql){"kind", "shared", 1, 0}) == token);
    give(hand, token);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(an_owner_of_two_requests_is_refused)
{
    struct rowlock_lease *one = t_granted(t_open(), t_x("two a"), HOUR);
    struct rowlock_lease *two = t_granted(t_open(), t_x("two b"), HOUR);
    void *hand = t_native();
    char message[500];

    t_int(asked(hand, (struct want_sql){"two a", NULL, 1, 0}), 0);
    t_int(request(hand, (struct want_sql){"two b", NULL, 1, 0}, message, sizeof message), -1);
    t_contains(message, "this owner has requested another lease");
    t_int(waiters_of(hand, "two a"), 1); /* its ticket is still there */
    cancel(hand, "two a", 1);
    t_give(one);
    t_give(two);
    t_text(t_all_rows(hand), NO_ROWS);
}

#define PAUSE_MS 4800 /* almost as long as a client may */

static long long ticket_of(void *hand, int owner)
{
    return t_number(hand, "SELECT max(ticket) FROM %s WHERE owner = '%s'", waiter_table(),
                    owner_text(owner));
}

/* Returns 1 if it came in time: this process may have been suspended. */
static int ask_after_a_pause(void *hand, struct want_sql want)
{
    long long ended = t_now(), paused;

    while (t_now() - ended < PAUSE_MS)
        t_pause(2);
    paused = t_now() - ended;
    t_int(asked(hand, want), 0);
    return paused < 5000;
}

/* Its sign of life is good for 7 s from the end of a call. The call after the pause must give the
   next one before that, although it may wait for 5 s, and a waiter behind it looks all the time. */
static void pauses_and_waits(const char *name, int ahead, int rounds)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x(name), HOUR);
    static struct acquisition first; /* their threads may outlive a test that fails */
    static struct client last;
    struct want_sql want = {name, NULL, 1, WAIT_MS};
    struct thread *threads[2] = {NULL};
    void *hand = t_native(), *own = t_native();
    long long ticket;

    first = (struct acquisition){.wants = {t_x(name)}, .wait_ms = -1};
    last = (struct client){.want = {name, NULL, 2, WAIT_MS}};
    if (ahead)
        threads[0] = t_queue_thread(t_open(), &first, hand, 1);
    t_int(asked(own, want), 0);
    ticket = ticket_of(hand, 1);
    threads[1] = t_thread(NULL, be_client, &last);
    t_until_queued(hand, name, ahead + 2);
    for (int i = 0; i < rounds; i++) {
        if (ask_after_a_pause(own, want))
            t_int(ticket_of(hand, 1), ticket);
        ticket = ticket_of(hand, 1);
    }
    t_give(lease);
    if (ahead)
        t_join_and_give(threads[0], &first);
    give(own, until_granted(own, want));
    t_ok(t_join(threads[1]));
    give(own, last.token);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p7_the_first_waiter_pauses_almost_5_s_then_waits_5_s_and_keeps_its_place)
{
    pauses_and_waits("pauses first", 0, 2);
}

TEST(p7_a_waiter_behind_another_pauses_almost_5_s_then_waits_5_s_and_keeps_its_place)
{
    pauses_and_waits("pauses behind", 1, 2);
}

/* ---- clients that die ------------------------------------------------------------------------ */

/* Requests without end; writes '!' when it has queued. It never uses the lease. */
static int request_body(const void *data, int to)
{
    const struct client *client = data;
    void *hand = t_engine()->open(client->url ? client->url : t_url());
    char message[500];

    if (!hand || request(hand, client->want, message, sizeof message) < 0 || write(to, "!", 1) != 1)
        return 1;
    while (request(hand, client->want, message, sizeof message) == 0)
        t_pause(2);
    pause();
    return 1;
}

/* The next waiter is behind it, one of the library or another request. */
struct death {
    const char *name;
    int signal, is_library, is_granted; /* it holds the lease, or its reservation, when it dies */
    struct client dying, next;
    struct acquisition us;
    struct rowlock_lease *lease;
    struct child child;
    struct thread *thread;
};

static void queue_dying(struct death *death, int number, void *hand)
{
    death->lease = t_granted(t_open(), t_x(death->name), HOUR);
    death->dying = (struct client){.want = {death->name, NULL, 2 * number, WAIT_MS}};
    death->child = t_child(request_body, &death->dying);
    t_int(t_hear(&death->child), '!');
    t_until_queued(hand, death->name, 1);
}

static void queue_next(struct death *death, int number, void *hand)
{
    death->next = (struct client){.want = {death->name, NULL, 2 * number + 1, WAIT_MS}};
    death->us = (struct acquisition){.wants = {t_x(death->name)}, .wait_ms = -1, .ttl_ms = HOUR};
    death->thread = death->is_library ? t_acquire_thread(t_open(), &death->us)
                                      : t_thread(NULL, be_client, &death->next);
    t_until_queued(hand, death->name, 2);
}

static void die(struct death *death)
{
    if (death->is_granted)
        t_give(death->lease);
    if (death->signal == SIGKILL)
        t_end_child(&death->child, SIGKILL);
    else
        t_int(kill(death->child.pid, death->signal), 0);
    if (!death->is_granted)
        t_give(death->lease);
}

/* Of a client that got the token before it died: it keeps the lease, which is what it asked for. */
static void shorten_leases(void *hand)
{
    lease_change(hand, t_is_postgresql()
                           ? "expires = least(expires, clock_timestamp() + interval '3 s')"
                           : "expires = LEAST(expires, utc_timestamp(6) + INTERVAL 3 SECOND)");
}

/* A request behind a proxy that stalls, and a waiter of the library. */
struct cut_off {
    struct client away;
    struct acquisition us;
    struct rowlock_lease *lease;
    struct thread *threads[2];
};

static void queue_cut_off(struct cut_off *cut, struct proxy *proxy, void *hand)
{
    cut->away = (struct client){.want = {"cut off", NULL, 100, WAIT_MS},
                                .url = t_url_at(proxy_port(proxy))};
    cut->us = (struct acquisition){.wants = {t_x("cut off")}, .wait_ms = -1, .ttl_ms = HOUR};
    cut->lease = t_granted(t_open(), t_x("cut off"), HOUR);
    cut->threads[0] = t_thread(NULL, be_client, &cut->away);
    t_until_queued(hand, "cut off", 1);
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_SERVER, 0);
    cut->threads[1] = t_queue_thread(t_open(), &cut->us, hand, 2);
    t_until(proxy_has_struck(proxy));
}

/* All at once, because the others only wait. */
TEST(p6_a_request_that_dies_or_is_cut_off_delays_the_next_waiter_by_12_s_at_most)
{
    struct death deaths[] = {
        {.name = "killed before a waiter", .signal = SIGKILL, .is_library = 1},
        {.name = "killed before a request", .signal = SIGKILL},
        {.name = "frozen before a waiter", .signal = SIGSTOP, .is_library = 1},
        {.name = "frozen before a request", .signal = SIGSTOP},
        {.name = "killed while granted", .signal = SIGKILL, .is_library = 1, .is_granted = 1}};
    int n = (int)(sizeof deaths / sizeof *deaths);
    struct proxy *proxy = proxy_start(t_port(), t_is_postgresql());
    struct cut_off cut;
    void *hand = t_native();
    long long began;

    for (int i = 0; i < n; i++)
        queue_dying(&deaths[i], i, hand);
    for (int i = 0; i < n; i++)
        queue_next(&deaths[i], i, hand);
    queue_cut_off(&cut, proxy, hand);
    for (int i = 0; i < n; i++)
        die(&deaths[i]);
    t_give(cut.lease);
    began = t_now();
    shorten_leases(hand);
    for (int i = 0; i < n; i++) {
        t_ok(t_join(deaths[i].thread));
        print_message("# %s: %lld ms\n", deaths[i].name, t_now() - began);
        t_within(began, DEAD_MS);
    }
    t_ok(t_join(cut.threads[1]));
    print_message("# cut off: %lld ms\n", t_now() - began);
    t_within(began, DEAD_MS);
    proxy_cut_all(proxy);
    t_fails(t_join(cut.threads[0]), EDB);
    proxy_stop(proxy);
    rowlock_lease_free(cut.us.lease);
    for (int i = 0; i < n; i++) {
        if (deaths[i].signal != SIGKILL)
            t_end_child(&deaths[i].child, SIGKILL);
        rowlock_lease_free(deaths[i].us.lease);
    }
    t_forget_leases(hand);
}

/* The client waits for the name lock, dies, and the server grants: for 3 s, and no longer. */
TEST(p6_a_request_that_died_waiting_for_a_transaction_keeps_the_name_for_3_s)
{
    struct client dying = {.want = {"lock", NULL, 1, WAIT_MS}};
    struct rowlock_connection *holder = t_open();
    struct rowlock_lease *next = NULL;
    struct child child;
    void *hand = t_native();
    long long began;

    t_give(t_granted(t_open(), t_x("lock"), HOUR)); /* prepares the name */
    t_ok(t_begin(holder, t_x("lock"), 0));
    child = t_child(request_body, &dying);
    t_int(t_hear(&child), '!');
    t_until_somebody_waits();
    t_end_child(&child, SIGKILL);
    t_ok(rowlock_commit(holder, &t_error));
    began = t_now();
    t_ok(t_acquire(t_open(), t_x("lock"), HOUR, DEAD_MS, &next));
    print_message("# %lld ms\n", t_now() - began);
    t_within(began, DEAD_MS);
    rowlock_lease_free(next);
    t_forget_leases(hand);
}

/* ---- frozen waiters ahead -------------------------------------------------------------------- */

/* A waiter whose session lives and has the ticket's session lock, and whose client never looks:
   only a roll call passes it. */
static void queue_silently(const char *name, int owner)
{
    t_native_sql(t_native(),
                 t_is_postgresql()
                     ? "SELECT number FROM rowlock.enqueue(ARRAY['%s'], ARRAY['exclusive'], "
                       "ARRAY[NULL::integer], ARRAY[1], 'silent %d', pg_backend_pid(), 1000, 'h', "
                       "1, 'c', NULL)"
                     : "CALL rowlock_enqueue(CONCAT(HEX('%s'), ':x:0:0'), 'silent %d', "
                       "CONNECTION_ID(), 1000, 'h', 1, 'c', NULL)",
                 name, owner);
}

/* The roll calls of requests, and of a waiter of the library, remove only the frozen ones. */
TEST(p6_p7_requests_and_waiters_pass_frozen_ones_in_15_s_and_keep_their_order)
{
    atomic_int turn = 0;
    struct client requests[2] = {{.want = {"roll", NULL, 1, WAIT_MS}, .turn = &turn},
                                 {.want = {"roll", NULL, 2, 1000}, .turn = &turn}};
    struct acquisition waiter = {.wants = {t_x("roll")}, .wait_ms = -1, .turn = &turn};
    struct thread *threads[3];
    void *hand = t_native();
    long long began;

    queue_silently("roll", 1);
    queue_silently("roll", 2);
    t_until_queued(hand, "roll", 2);
    began = t_now();
    threads[0] = t_thread(NULL, be_client, &requests[0]);
    t_until_queued(hand, "roll", 3);
    queue_silently("roll", 3);
    threads[1] = t_queue_thread(t_open(), &waiter, hand, 5);
    threads[2] = t_thread(NULL, be_client, &requests[1]);
    t_ok(t_join(threads[0]));
    print_message("# 2 frozen: %lld ms, %d calls\n", t_now() - began, requests[0].calls);
    t_within(began, FROZEN_MS);
    t_int(requests[0].calls < 12, 1);
    t_ok(t_join(threads[1]));
    t_ok(t_join(threads[2]));
    t_int(requests[0].order, 1);
    t_int(waiter.order, 2);
    t_int(requests[1].order, 3);
    t_forget_leases(hand);
}

/* ---- cut, cancelled and killed at any moment ------------------------------------------------- */

/* A call that the client has given up may still be executed. */
static void until_gone(long session)
{
    const char *text = t_is_postgresql() ? "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld"
                                         : "SELECT count(*) FROM " T_PROCESSLIST " WHERE id = %ld";

    t_until(atoi(t_native_sql(t_admin(), text, session)) == 0);
}

/* A request in three calls: it queues, it waits and is granted, and it adopts. The connection is
   cut after every message of all three; the client repeats on another connection. */
static void cut_request(const char *name, int held)
{
    struct rowlock_connection *holder = t_open();
    void *hand = t_native();
    struct want_sql want = {name, NULL, 0, 300};
    struct cuts cuts = {.least = 2, .most = 1000, .stride = 1};

    while (t_next_cut_of(&cuts)) {
        struct rowlock_lease *lease = held ? t_granted(holder, t_x(name), HOUR) : NULL;
        void *cut = t_native_at(t_proxied_url(&t_proxy));
        long session = t_engine()->session(cut);
        char message[500];
        long long token = 0, again;

        want.owner = cuts.n;
        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        for (int call = 0; call < 4 && token == 0; call++) {
            token = request(cut, want, message, sizeof message);
            if (call == 1 && lease) {
                t_give(lease);
                lease = NULL;
            }
        }
        cuts.struck = proxy_has_struck(t_proxy);
        t_true(cuts.struck || token > 0);
        if (lease)
            t_give(lease);
        again = until_granted(hand, want);
        t_true(token <= 0 || again == token);
        if (cuts.struck)
            until_gone(session);
        t_int(leases_of(hand, name), 1);
        if (!cuts.struck) /* else both calls may have been executed at once, and one has queued */
            t_int(waiters_of(hand, name), 0);
        cancel(hand, name, cuts.n);
        t_engine()->close(cut);
        proxy_cut_all(t_proxy);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

TEST(p1_cut_after_every_message_of_a_request)
{
    cut_request("cut", 0);
    cut_request("cut while queued", 1);
}

/* A call that was given up is granted after its repetition has queued. */
TEST(p1_a_lease_that_was_granted_beside_the_ticket_is_adopted)
{
    void *hand = t_native();
    struct want_sql want = {"beside", NULL, 1, 0};
    struct rowlock_lease *lease = t_granted(t_open(), t_x("beside"), HOUR);
    long long token;

    t_int(asked(hand, want), 0);
    t_native_sql(hand, "UPDATE %s SET owner = '%s'", lease_table_of(rowlock_token(lease)),
                 owner_text(1));
    token = asked(hand, want);
    t_int(token, rowlock_token(lease));
    t_int(waiters_of(hand, "beside"), 0);
    give(hand, token);
    rowlock_lease_free(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* At the i-th of many moments of a request in its three calls, an operator cancels its statement,
   or ends its session. */
struct operator
{
    long session;
    int after_us, kills;
};

static int interfere(const void *data, int to)
{
    const struct operator* what = data;
    void *hand = t_engine()->open(t_url());
    char text[80], answer[500];

    (void)to;
    snprintf(text, sizeof text, t_is_postgresql() ? "SELECT pg_%s_backend(%ld)" : "KILL %s %ld",
             t_is_postgresql() ? what->kills ? "terminate" : "cancel"
             : what->kills     ? "CONNECTION"
                               : "QUERY",
             what->session);
    usleep((useconds_t)what->after_us);
    t_engine()->sql(hand, text, answer, sizeof answer);
    t_engine()->close(hand);
    return 0;
}

static void interfered(const char *name, int kills)
{
    struct rowlock_connection *holder = t_open();
    void *hand = t_native();
    struct want_sql want = {name, NULL, 0, 50};
    int rounds = t_effort(15, 30), failed = 0;

    for (int i = 0; i < rounds; i++) {
        struct rowlock_lease *lease = i % 3 ? t_granted(holder, t_x(name), HOUR) : NULL;
        void *victim = t_engine()->open(t_url());
        struct operator what = {t_engine()->session(victim), 4000 + i * 1037 % 60000, kills};
        struct child child = t_child(interfere, &what);
        char message[500];
        long long token = 0, again;

        want.owner = i;
        for (int call = 0; call < 5 && token == 0; call++) {
            token = request(victim, want, message, sizeof message);
            failed += token < 0;
            if (call == 1 && lease) {
                t_give(lease);
                lease = NULL;
            }
        }
        t_int(t_await_child(&child), 0);
        t_engine()->close(victim);
        if (lease)
            t_give(lease);
        again = until_granted(hand, want);
        t_true(token <= 0 || again == token);
        if (kills)
            until_gone(what.session);
        t_int(leases_of(hand, name), 1);
        if (!kills)
            t_int(waiters_of(hand, name), 0);
        cancel(hand, name, i);
        t_text(t_all_rows(hand), NO_ROWS);
    }
    print_message("# %d of %d were hit\n", failed, rounds);
    t_true(failed > 0);
}

TEST(p1_a_request_is_cancelled_at_any_moment)
{
    interfered("cancelled", 0);
}

TEST(p1_the_session_of_a_request_is_killed_at_any_moment)
{
    interfered("killed", 1);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Behind a holder of the library, and behind another request, that of a holder without a session
   lock. */
TEST(p10_an_idle_request_sends_at_most_12_statements_a_minute)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("idle"), HOUR);
    struct client first = {.want = {"idle", NULL, 1, WAIT_MS}},
                  second = {.want = {"idle", NULL, 2, WAIT_MS}};
    struct thread *threads[2];
    void *hand = t_native();
    long long began = t_now(), end = began + 11000;

    threads[0] = t_thread(NULL, be_client, &first);
    t_until_queued(hand, "idle", 1);
    threads[1] = t_thread(NULL, be_client, &second);
    while (t_now() < end)
        t_pause(2);
    t_true(first.calls <= 3 && second.calls <= 3); /* one to queue, and one for each 5 s */
    t_give(lease);
    t_ok(t_join(threads[0]));
    give(hand, first.token);
    t_ok(t_join(threads[1]));
    give(hand, second.token);
    t_text(t_all_rows(hand), NO_ROWS);
}
