/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P7: while a living waiter is queued for a name that is not held, every way to a grant refuses a
 * newcomer: each mode, several names, a borrowed handle, a job, a refresh, and the functions and
 * procedures for SQL clients.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include "lib/grants.h"
#include "lib/hand.h"
#include "lib/jobs.h"

#define PERMITS 3

static struct rowlock_want wanted(const char *mode, const char *name)
{
    return *mode == 'x' ? t_x(name) : *mode == 's' ? t_s(name) : t_p(name, PERMITS, 1);
}

/* A waiter for a free name: it wants another one too, which is held. Static, because its thread may
   outlive a test that fails. */
struct queued {
    const char *name;
    struct rowlock_lease *taken;
    struct acquisition waiter;
    struct thread *thread;
};

static void queue(struct queued *queued, const char *mode, const char *name, void *hand)
{
    const char *taken = t_say("taken beside %s", name);

    queued->name = name;
    queued->taken = t_granted(t_open(), t_x(taken), HOUR);
    t_keep_places(hand, name, "");
    t_keep_places(hand, taken, "");
    queued->waiter = (struct acquisition){
        .wants = {wanted(mode, name), t_x(taken)}, .n = 2, .ttl_ms = HOUR, .wait_ms = -1};
    queued->thread = t_queue_thread(t_open(), &queued->waiter, hand, 1);
}

/* It has kept its place, and gets the lease. */
static void serve(struct queued *queued, void *hand)
{
    t_int(leases_of(hand, queued->name), 0);
    t_int(waiters_of(hand, queued->name), 1);
    t_give(queued->taken);
    t_join_and_give(queued->thread, &queued->waiter);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- the library ----------------------------------------------------------------------------- */

static void refuses(struct rowlock_connection *newcomer, const struct rowlock_want *wants, size_t n)
{
    struct rowlock_lease *none = NULL;

    t_fails(t_acquire_all(newcomer, wants, n, 0, 0, &none), EBUSY);
    t_fails(t_acquire_all(newcomer, wants, n, 0, 50, &none), ETIMEDOUT);
}

static void refuses_each_mode(struct rowlock_connection *newcomer, const char *name)
{
    for (const char *mode = "xsp"; *mode; mode++) {
        struct rowlock_want want = wanted(mode, name);

        refuses(newcomer, &want, 1);
    }
}

static void refuses_of_several(struct rowlock_connection *newcomer, const char *name)
{
    struct rowlock_want last[] = {t_x("a before it"), t_x(name)},
                        first[] = {t_x(name), t_s("z behind it")},
                        shared[] = {t_s("a before it"), t_s(name), t_x("z behind it")};

    refuses(newcomer, last, 2);
    refuses(newcomer, first, 2);
    refuses(newcomer, shared, 3);
}

static void refuses_everybody(const char *mode)
{
    const char *name = t_name(*mode);
    void *hand = t_native(), *handle;
    struct rowlock_connection *own = t_open();
    static struct queued queued;

    queue(&queued, mode, name, hand);
    refuses_each_mode(own, name);
    refuses_of_several(own, name);
    if (t_facts()->wraps) {
        struct rowlock_connection *borrowed = t_wrap(&handle, NULL);

        refuses_each_mode(borrowed, name);
        refuses_of_several(borrowed, name);
    }
    serve(&queued, hand);
}

TEST(p7_a_newcomer_does_not_pass_a_waiting_writer)
{
    refuses_everybody("x");
}

TEST(p7_a_newcomer_does_not_pass_a_waiting_reader)
{
    refuses_everybody("s");
}

TEST(p7_a_newcomer_does_not_pass_a_waiter_for_a_permit)
{
    refuses_everybody("p");
}

TEST(p7_a_job_is_not_claimed_while_a_waiter_is_queued_for_its_name)
{
    struct rowlock_connection *node = t_open();
    struct rowlock_job job = t_daily_job("queued");
    struct rowlock_lease *lease = NULL;
    static struct queued queued;
    void *hand = t_native();

    queue(&queued, "s", "job:queued", hand);
    t_int(t_claim(node, &job, &lease).claimed, ROWLOCK_JOB_RUNNING);
    serve(&queued, hand);
    t_finish(t_claimed(node, &job), 0, NULL);
}

TEST(p7_a_refresh_waits_behind_a_user_that_is_queued)
{
    struct rowlock_connection *newcomer = t_open();
    struct rowlock_subject subject = {.name = "queued"};
    struct rowlock_terms terms = {.ttl_ms = HOUR};
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease = NULL;
    static struct queued queued;
    void *hand = t_native();

    queue(&queued, "s", "subject:queued", hand);
    t_fails(rowlock_refresh_acquire(newcomer, &subject, &terms, &refresh, &lease, &t_error), EBUSY);
    serve(&queued, hand);
    t_ok(rowlock_refresh_acquire(newcomer, &subject, &terms, &refresh, &lease, &t_error));
    t_give(lease);
}

/* ---- SQL clients, and a waiter that is one --------------------------------------------------- */

/* The token of a newcomer; 0: it is refused. */
static long long acquired(void *hand, const char *name, const char *mode, const char *limit)
{
    if (t_is_postgresql())
        return hand_number(hand, "SELECT coalesce(rowlock.acquire('%s', '1 min', '%s', %s), 0)",
                           name, mode, limit);
    hand_row(hand, "CALL rowlock_acquire('%s', 60000, '%s', %s, @token)", name, mode, limit);
    return hand_number(hand, "SELECT COALESCE(@token, 0)");
}

static long long requested(void *hand, const char *name, const char *mode, const char *limit)
{
    long long token;

    if (t_is_postgresql())
        token = hand_number(hand,
                            "SELECT coalesce(token, 0) FROM rowlock.request('%s', '1 min', "
                            "'the owner of a request', '0', '%s', %s)",
                            name, mode, limit);
    else
        token = atoll(hand_field(hand_row(hand,
                                          "CALL rowlock_request_row('%s', 60000, "
                                          "'the owner of a request', 0, '%s', %s, NULL, NULL, "
                                          "NULL, NULL)",
                                          name, mode, limit),
                                 0));
    hand_row(hand,
             t_is_postgresql() ? "SELECT rowlock.cancel('%s', 'the owner of a request')"
                               : "CALL rowlock_cancel('%s', 'the owner of a request', @canceled)",
             name);
    return token;
}

static void refuses_sql(void *hand, const char *name)
{
    static const char *const modes[][2] = {
        {"exclusive", "NULL"}, {"shared", "NULL"}, {"permit", "3"}};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        t_int(acquired(hand, name, modes[i][0], modes[i][1]), 0);
        t_int(requested(hand, name, modes[i][0], modes[i][1]), 0);
    }
}

TEST(p7_a_newcomer_by_sql_does_not_pass_a_waiter)
{
    void *hand = t_native();

    if (!t_facts()->server || t_facts()->plain)
        return;
    for (const char *mode = "xsp"; *mode; mode++) {
        static struct queued queued;

        queue(&queued, mode, "by sql", hand);
        refuses_sql(hand, "by sql");
        serve(&queued, hand);
    }
}

/* It has no session lock, but a time until which it counts as alive. */
TEST(p7_a_newcomer_does_not_pass_a_waiter_between_its_calls)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native(), *newcomer = t_native();

    if (!t_facts()->server || t_facts()->plain)
        return;
    for (const char *mode = "xsp"; *mode; mode++) {
        hand_queue(hand, t_say("silent:%c:%d:1", *mode, *mode == 'p' ? PERMITS : 0), 0);
        refuses_sql(newcomer, "silent");
        refuses_each_mode(own, "silent");
        refuses_of_several(own, "silent");
        t_int(leases_of(hand, "silent"), 0);
        t_int(waiters_of(hand, "silent"), 1);
        t_forget_leases(hand);
    }
}
