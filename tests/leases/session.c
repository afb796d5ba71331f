/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P11: after every call, successful or not, a wrapped connection has its old settings and no
 * session lock.
 *
 * Runs on: sqlite postgresql mariadb odbc
 * Quick: first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"

static char before[6000];

static void remember(void *handle)
{
    snprintf(before, sizeof before, "%s", t_native_sql(handle, "%s", t_engine()->settings));
}

/* The number of locks that the session holds outside of its transaction. */
static long session_locks(void *handle)
{
    if (!t_facts()->server || t_facts()->plain)
        return 0;
    if (strcmp(t_facts()->engine, "mariadb") == 0)
        return atol(t_native_sql(handle, "SELECT RELEASE_ALL_LOCKS()"));
    return atol(t_native_sql(handle,
                             "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = "
                             "pg_backend_pid()"));
}

static void is_as_before(void *handle)
{
    t_int(t_engine()->in_transaction(handle), 0);
    t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
}

static void has_nothing(void *handle)
{
    is_as_before(handle);
    t_int(session_locks(handle), 0);
}

static struct rowlock_connection *wrapped(void **handle)
{
    struct rowlock_connection *connection = t_wrap(handle, NULL);

    /* creates everything that a first call sets up */
    t_give(t_granted(connection, t_x("known"), 0));
    remember(*handle);
    return connection;
}

TEST(p11_a_refusal)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle), *two = t_open();
    struct rowlock_lease *lease = t_granted(two, t_x("refused"), HOUR), *none = NULL;

    t_fails(t_acquire(one, t_x("refused"), 0, 0, &none), EBUSY);
    has_nothing(handle);
    t_fails(t_acquire(one, t_x("refused"), 0, 300, &none), ETIMEDOUT);
    has_nothing(handle);
    t_give(lease);
}

TEST(p11_a_refusal_for_a_transaction)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle), *two = t_open();
    struct rowlock_lease *none = NULL;

    t_ok(t_begin(two, t_x("in T"), 0));
    t_fails(t_acquire(one, t_x("in T"), 0, 0, &none), EBUSY);
    if (t_facts()->server)
        has_nothing(handle);
    t_fails(t_acquire(one, t_x("in T"), 0, 300, &none), ETIMEDOUT);
    t_ok(rowlock_commit(two, &t_error));
    has_nothing(handle);
}

TEST(p11_a_lease_waited_for_in_the_queue)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle), *two = t_open();
    struct rowlock_lease *lease = t_granted(two, t_x("queue"), HOUR);
    struct acquisition us = {.wants = {t_x("queue")}, .wait_ms = -1};
    struct thread *thread = t_acquire_thread(one, &us);

    t_until_queued(t_native(), "queue", 1);
    t_give(lease);
    t_ok(t_join(thread));
    is_as_before(handle);
    t_give(us.lease);
    has_nothing(handle);
}

static void waits_for_a_transaction(rowlock_duration wait_ms)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle), *two = t_open();
    struct acquisition us = {.wants = {t_x("waits for the name lock")}, .wait_ms = wait_ms};
    struct thread *thread;

    t_ok(t_begin(two, t_x("waits for the name lock"), 0));
    thread = t_acquire_thread(one, &us);
    t_until_waiting(thread);
    t_ok(rowlock_commit(two, &t_error));
    t_ok(t_join(thread));
    is_as_before(handle);
    t_give(us.lease);
    has_nothing(handle);
}

TEST(p11_a_lease_waited_for_behind_a_transaction)
{
    waits_for_a_transaction(-1);
}

/* MariaDB's procedures poll in the time of a try. */
static int waits(struct rowlock_connection *connection)
{
    if (t_is_postgresql() || t_facts()->plain)
        return t_engine()->is_waiting(t_admin(), t_engine()->session(t_handle(connection)));
    return t_server_polls(connection);
}

/* A try waits a moment for the name lock: the transaction ends within it, or the try is
   repeated. */
TEST(p11_a_try_that_waited_a_moment_for_a_transaction)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle), *two = t_open();
    int code = ROWLOCK_EBUSY;

    for (int i = 0; code == ROWLOCK_EBUSY && i < 20; i++) {
        struct acquisition us = {.wants = {t_x("a moment")}, .wait_ms = 0};
        struct thread *thread;

        t_ok(t_begin(two, t_x("a moment"), 0));
        thread = t_acquire_thread(one, &us);
        if (t_facts()->server)
            while (!waits(one) && !t_is_done(thread))
                ;
        t_ok(rowlock_commit(two, &t_error));
        code = t_join(thread);
        is_as_before(handle);
        if (!code)
            t_give(us.lease);
        has_nothing(handle);
    }
    t_int(code, 0);
}

TEST(p11_an_interrupted_wait)
{
    void *handle, *hand = t_native();
    struct rowlock_connection *one, *two = t_open();
    struct rowlock_lease *lease = t_granted(two, t_x("interrupted"), HOUR);
    struct acquisition us = {.wants = {t_x("interrupted")}, .wait_ms = -1};
    struct thread *thread;

    one = t_wrap(&handle,
                 &(struct rowlock_options){.interrupt_fd = t_interrupt_fd(), .url = t_url()});
    t_give(t_granted(one, t_x("known"), 0));
    remember(handle);
    thread = t_queue_thread(one, &us, hand, 1);
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    has_nothing(handle);
    t_int(waiters_of(hand, "interrupted"), 0);
    t_give(lease);
}

TEST(p11_several_leases_of_one_connection)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle);
    struct rowlock_lease *leases[5];

    for (int i = 0; i < 5; i++)
        leases[i] = t_granted(one, t_x(t_name(i)), HOUR);
    for (int i = 0; i < 5; i++) {
        is_as_before(handle);
        t_ok(rowlock_renew(leases[i], 0, &t_error));
        is_as_before(handle);
    }
    for (int i = 0; i < 5; i++) {
        is_as_before(handle);
        t_give(leases[(i + 2) % 5]);
    }
    has_nothing(handle);
}

TEST(p11_fence_break_list_and_adopt)
{
    void *handle;
    struct rowlock_connection *one = wrapped(&handle);
    struct rowlock_lease *lease = t_granted(one, t_x("others"), HOUR), *same = NULL;

    t_own_begin(handle, t_engine()->begin);
    t_ok(rowlock_fence(one, "others", rowlock_token(lease), &t_error));
    t_fails(rowlock_fence(one, "others", rowlock_token(lease) + 1, &t_error), ELOST);
    t_native_sql(handle, "COMMIT");
    is_as_before(handle);
    t_ok(rowlock_adopt(one, "others", rowlock_token(lease), &same, &t_error));
    t_ok(rowlock_break(one, "others", 0, 0, NULL, &t_error));
    is_as_before(handle);
    t_ok(rowlock_release(same, &t_error));
    has_nothing(handle);
    rowlock_lease_free(same);
    rowlock_lease_free(lease);
}

/* The grant's BEGIN states all properties of its transaction, so the session's defaults have no
   effect. */
static void under_default(const char *statement)
{
    void *handle;
    struct rowlock_connection *one, *two = t_open();
    struct rowlock_lease *lease, *none = NULL;

    if (!statement)
        return;
    one = t_wrap(&handle, NULL);
    t_native_sql(handle, "%s", statement);
    remember(handle);
    lease = t_granted(one, t_x("default"), HOUR);
    t_fails(t_acquire(two, t_x("default"), 0, 0, &none), EBUSY);
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_give(lease);
    lease = t_granted(two, t_x("default"), HOUR);
    t_fails(t_acquire(one, t_x("default"), 0, 0, &none), EBUSY);
    t_fails(t_acquire(one, t_x("default"), 0, 100, &none), ETIMEDOUT);
    t_give(lease);
    has_nothing(handle);
}

TEST(p1_a_default_of_repeatable_read_changes_nothing)
{
    under_default(t_engine()->default_repeatable);
}

TEST(p1_a_default_of_read_only_changes_nothing)
{
    under_default(t_engine()->default_read_only);
}

/* Makes grants stop after they have their session lock and before COMMIT, until `other` ends its
   transaction. */
static void make_grants_stop(void *other)
{
    static const char *const mariadb[] = {
        "CREATE TABLE stop_here (n INT PRIMARY KEY) ENGINE = InnoDB SELECT 1 AS n",
        "DROP PROCEDURE rowlock_set_idle_limit",
        "CREATE PROCEDURE rowlock_set_idle_limit() SELECT n INTO @n FROM stop_here FOR UPDATE",
        "BEGIN",
        "SELECT n FROM stop_here FOR UPDATE",
        NULL};
    static const char *const postgresql[] = {
        "CREATE FUNCTION stop_here() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock(1, 1); RETURN NULL; END'",
        "CREATE CONSTRAINT TRIGGER stop_here AFTER INSERT ON rowlock.lease "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stop_here()",
        "BEGIN", "SELECT pg_advisory_xact_lock(1, 1)", NULL};
    const char *const *statement = strcmp(t_facts()->engine, "mariadb") == 0 ? mariadb : postgresql;

    while (*statement)
        t_native_sql(other, "%s", *statement++);
}

static int is_stopped(struct thread *thread, struct rowlock_connection *one)
{
    while (!t_is_done(thread)) {
        if (t_engine()->is_waiting(t_admin(), t_engine()->session(t_handle(one))))
            return 1;
        t_pause(3);
    }
    return 0;
}

/* Where a try cannot be stopped there, uses a call that has waited for a transaction. On a slow
   machine that wait has ended before the transaction, and a try has followed: then once more. */
static struct thread *until_stopped(struct rowlock_connection *one, struct acquisition *us)
{
    struct rowlock_connection *two = t_open();
    struct thread *thread;

    us->wait_ms = strcmp(t_facts()->engine, "mariadb") == 0 ? -1 : 0;
    for (;;) {
        if (us->wait_ms)
            t_ok(t_begin(two, us->wants[0], 0));
        thread = t_acquire_thread(one, us);
        t_until_waiting(thread);
        if (!us->wait_ms)
            return thread;
        t_ok(rowlock_commit(two, &t_error));
        if (is_stopped(thread, one))
            return thread;
        t_ok(t_join(thread));
        t_give(us->lease);
    }
}

TEST(p11_an_interrupted_grant_that_had_its_session_lock)
{
    void *handle, *other = t_native();
    struct rowlock_connection *one;
    struct acquisition us = {.wants = {t_x("half-way")}};
    struct thread *thread;

    if (!t_facts()->server)
        return;
    if (t_facts()->plain)
        t_not_here(WHY_SESSION_LOCKS);
    /* there a grant limits its waits, and a round trip that cannot be interrupted commits it */
    if (t_facts()->code == ROWLOCK_INSERT && t_is_postgresql())
        return;
    one = t_wrap(&handle,
                 &(struct rowlock_options){.interrupt_fd = t_interrupt_fd(), .url = t_url()});
    t_give(t_granted(one, t_x("known"), 0));
    remember(handle);
    make_grants_stop(other);
    thread = until_stopped(one, &us);
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    t_native_sql(other, "ROLLBACK");
    has_nothing(handle);
    t_int(leases_of(other, "half-way"), 0);
    t_int(waiters_of(other, "half-way"), 0);
}
