/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P5: answers that come late. Each answer of each call that acquires, adopts or renews is held
 * back in turn. The library then counts no more time for the lease than the database gives it,
 * except for the millisecond to which databases round their clocks.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 * Rest: postgresql/native mariadb/row postgresql/odbc derby/jdbc
 */
#include <string.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/jobs.h"

#define HELD_MS 150 /* much longer than a look at the database takes */
#define MOST_ANSWERS 1000
#define MOST 3 /* leases of one call */
#define GRAIN_MS 1

/* A proxy that counts answers, not messages of the protocol: a round trip has one. */
static void count_answers(void)
{
    if (!t_proxy)
        t_proxy = proxy_start(t_port(), -1);
}

/* ---- the time that the database gives -------------------------------------------------------- */

struct given {
    int64_t token;
    long long ms; /* -1: no such lease */
};

static int note_given(const struct rowlock_holder *holder, void *data)
{
    struct given *given = data;

    if (holder->token == given->token)
        given->ms = holder->remaining_ms;
    return 0;
}

/* The database is asked first: until the library is asked, less and less remains. */
static void is_no_more_than_given(struct rowlock_connection *witness, const char *name,
                                  const struct rowlock_lease *lease)
{
    struct given given = {.token = rowlock_token(lease), .ms = -1};

    t_ok(rowlock_list(witness, name, note_given, &given, &t_error));
    t_true(given.ms > 0);
    t_true(rowlock_remaining(lease) <= given.ms + GRAIN_MS);
}

/* ---- one call, each of whose answers is late once -------------------------------------------- */

struct late {
    const char *names[MOST];
    int n;
    /* Before the answers are held back; may be NULL. */
    void (*prepare)(struct late *late, struct rowlock_connection *connection);
    int (*call)(struct late *late, struct rowlock_connection *connection);
    int (*end)(struct rowlock_lease *lease); /* NULL: rowlock_release */
    int ttl_ms, held_ms;                     /* 0: HOUR, HELD_MS */
    struct rowlock_lease *leases[MOST];
};

static void end_all(struct late *late)
{
    for (int i = 0; i < late->n; i++) {
        if (late->end)
            t_ok(late->end(late->leases[i]));
        else
            t_ok(rowlock_release(late->leases[i], &t_error));
        rowlock_lease_free(late->leases[i]);
    }
}

/* Whether an answer was held back. */
static int call_late(struct late *late, struct rowlock_connection *witness,
                     struct rowlock_connection *connection, int n)
{
    int struck;

    if (late->prepare)
        late->prepare(late, connection);
    proxy_hold(t_proxy, PROXY_TO_CLIENT, n, late->held_ms ? late->held_ms : HELD_MS);
    t_ok(late->call(late, connection));
    struck = proxy_disarm(t_proxy);
    for (int i = 0; i < late->n; i++)
        is_no_more_than_given(witness, late->names[i], late->leases[i]);
    end_all(late);
    return struck;
}

static void each_answer_is_late(struct late late)
{
    struct rowlock_connection *witness = t_open();
    int struck = 1, n;

    count_answers();
    for (int i = 0; i < late.n; i++) /* the name is prepared, in every technique */
        t_give(t_granted(witness, t_x(late.names[i]), 0));
    for (n = 0; struck && n < MOST_ANSWERS; n = t_next_cut(n, 3)) {
        struct rowlock_connection *connection = t_through_proxy();

        struck = call_late(&late, witness, connection, n);
        t_close_through_proxy(connection);
    }
    t_true(n > 1 && n < MOST_ANSWERS);
}

/* ---- calls that acquire ---------------------------------------------------------------------- */

static rowlock_duration ttl_of(const struct late *late)
{
    return late->ttl_ms ? late->ttl_ms : HOUR;
}

static int try_exclusive(struct late *late, struct rowlock_connection *connection)
{
    return t_acquire(connection, t_x(late->names[0]), ttl_of(late), 0, &late->leases[0]);
}

static int wait_to_share(struct late *late, struct rowlock_connection *connection)
{
    return t_acquire(connection, t_s(late->names[0]), ttl_of(late), -1, &late->leases[0]);
}

static int wait_for_permits(struct late *late, struct rowlock_connection *connection)
{
    return t_acquire(connection, t_p(late->names[0], 3, 2), ttl_of(late), -1, &late->leases[0]);
}

static int try_two_names(struct late *late, struct rowlock_connection *connection)
{
    struct rowlock_want wants[] = {t_x(late->names[0]), t_x("late beside")};

    return t_acquire_all(connection, wants, 2, ttl_of(late), 0, &late->leases[0]);
}

TEST(p5_late_answers_to_a_grant)
{
    each_answer_is_late((struct late){.names = {"late x"}, .n = 1, .call = try_exclusive});
    each_answer_is_late((struct late){.names = {"late s"}, .n = 1, .call = wait_to_share});
    each_answer_is_late((struct late){.names = {"late p"}, .n = 1, .call = wait_for_permits});
    each_answer_is_late((struct late){.names = {"late two"}, .n = 1, .call = try_two_names});
}

/* After more than a tenth of the ttl: the library renews such a grant before it returns. */
TEST(p5_answers_to_a_grant_that_are_late_by_much_of_the_ttl)
{
    struct late late = {.names = {"late by much"}, .n = 1, .call = try_exclusive};

    late.ttl_ms = t_is_jdbc() ? 12000 : 4000;
    late.held_ms = late.ttl_ms / 8;
    each_answer_is_late(late);
    late.call = wait_to_share;
    each_answer_is_late(late);
}

static int claim(struct late *late, struct rowlock_connection *connection)
{
    struct rowlock_job job = t_daily_job("late");
    struct rowlock_claim answer = {.now_ms = 0};

    return rowlock_claim(connection, &job, &answer, &late->leases[0], &t_error);
}

/* The next claim finds a job that was never run, and which is due. */
static int finish(struct rowlock_lease *lease)
{
    int code = rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &t_error);

    return code ? code : rowlock_forget_job(t_open(), "late", &t_error);
}

static int begin_refresh(struct late *late, struct rowlock_connection *connection)
{
    struct rowlock_subject subject = {.name = "late"};
    struct rowlock_terms terms = {.ttl_ms = HOUR};
    struct rowlock_refresh refresh;

    return rowlock_refresh_acquire(connection, &subject, &terms, &refresh, &late->leases[0],
                                   &t_error);
}

TEST(p5_late_answers_to_the_claim_of_a_job)
{
    each_answer_is_late((struct late){.names = {"job:late"}, .n = 1, .call = claim, .end = finish});
}

TEST(p5_late_answers_to_the_begin_of_a_refresh)
{
    each_answer_is_late((struct late){.names = {"subject:late"}, .n = 1, .call = begin_refresh});
}

static void grant_to_adopt(struct late *late, struct rowlock_connection *connection)
{
    late->leases[0] = t_granted(connection, t_x(late->names[0]), HOUR);
}

static int adopt(struct late *late, struct rowlock_connection *connection)
{
    int64_t token = rowlock_token(late->leases[0]);

    rowlock_lease_free(late->leases[0]);
    return rowlock_adopt(connection, late->names[0], token, &late->leases[0], &t_error);
}

TEST(p5_late_answers_to_an_adoption)
{
    each_answer_is_late(
        (struct late){.names = {"late adopted"}, .n = 1, .prepare = grant_to_adopt, .call = adopt});
}

/* ---- a waiter -------------------------------------------------------------------------------- */

/* The answers that are late are those after the release of the holder before it: also the one in
   which it is granted the lease. */
TEST(p5_late_answers_to_a_waiter)
{
    struct rowlock_connection *one = t_open();
    void *hand = t_native();

    count_answers();
    for (int n = 0; n < 8; n++) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_granted(one, t_x("late waiter"), HOUR);
        struct acquisition next = {.wants = {t_x("late waiter")}, .ttl_ms = HOUR, .wait_ms = -1};
        struct thread *thread = t_queue_thread(connection, &next, hand, 1);

        proxy_hold(t_proxy, PROXY_TO_CLIENT, n, HELD_MS);
        t_give(lease);
        t_ok(t_join(thread));
        proxy_disarm(t_proxy);
        is_no_more_than_given(one, "late waiter", next.lease);
        t_give(next.lease);
        t_close_through_proxy(connection);
    }
}

/* ---- calls that renew ------------------------------------------------------------------------ */

static void grant_all(struct late *late, struct rowlock_connection *connection)
{
    for (int i = 0; i < late->n; i++)
        late->leases[i] = t_granted(connection, t_x(late->names[i]), 60000);
}

static int renew(struct late *late, __attribute__((unused)) struct rowlock_connection *connection)
{
    return rowlock_renew(late->leases[0], HOUR, &t_error);
}

static int renew_all(struct late *late,
                     __attribute__((unused)) struct rowlock_connection *connection)
{
    return rowlock_renew_all(late->leases, (size_t)late->n, HOUR, NULL, &t_error);
}

TEST(p5_late_answers_to_a_renewal)
{
    each_answer_is_late(
        (struct late){.names = {"late r"}, .n = 1, .prepare = grant_all, .call = renew});
}

TEST(p5_late_answers_to_a_renewal_of_several_leases)
{
    each_answer_is_late((struct late){
        .names = {"late 1", "late 2", "late 3"}, .n = 3, .prepare = grant_all, .call = renew_all});
}

/* The connection that renews is the thread's own, behind the same proxy. */
TEST(p5_late_answers_to_automatic_renewals)
{
    const rowlock_duration ttl_ms = t_is_jdbc() ? 9000 : 3000;
    struct rowlock_connection *witness = t_open(), *connection;
    struct rowlock_lease *lease;
    long long left;

    count_answers();
    connection = t_through_proxy();
    lease = t_granted(connection, t_x("late kept"), ttl_ms);
    t_ok(rowlock_auto_renew(lease, NULL, NULL, &t_error));
    proxy_hold(t_proxy, PROXY_TO_CLIENT, 1, HELD_MS);
    for (int n = 0; n < 3; n++) {
        do {
            left = rowlock_remaining(lease);
            t_pause(1);
            if (proxy_has_struck(t_proxy)) /* every answer is late */
                proxy_hold(t_proxy, PROXY_TO_CLIENT, 1, HELD_MS);
        } while (rowlock_remaining(lease) <= left);
        is_no_more_than_given(witness, "late kept", lease);
    }
    proxy_disarm(t_proxy);
    t_give(lease);
    t_close_through_proxy(connection);
}
