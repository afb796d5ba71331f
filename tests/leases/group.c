/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: threads that share sessions exclude each other, and all other clients, as if each thread
 * had a session. This also covers engines without batches.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/overlap.h"

#define THREADS 8
#define NAMES 4

static struct rowlock_group *t_group(int sessions)
{
    struct rowlock_group *group = NULL;

    t_install();
    t_ok(rowlock_group_open(t_url(), NULL, sessions, &group, &t_error));
    return group;
}

/* The harness does not adopt it: it would close it after its group. */
static struct rowlock_connection *t_join_group(struct rowlock_group *group)
{
    struct rowlock_connection *connection = NULL;

    t_ok(rowlock_group_join(group, &connection, &t_error));
    return connection;
}

/* ---- many threads ---------------------------------------------------------------------------- */

struct work {
    struct overlap *overlap;
    struct rowlock_group *group;
    unsigned seed;
    int turns;
    _Atomic int64_t *last; /* the last token of each name */
};

static void note_token(const struct work *work, int name, const struct rowlock_lease *lease)
{
    int64_t before = atomic_exchange(&work->last[name], rowlock_token(lease));

    if (before >= rowlock_token(lease)) {
        struct rowlock_error error = {.code = ROWLOCK_EDB, .text = "a token was not greater"};

        overlap_failed(work->overlap, &error);
    }
}

static int turn(struct work *work, struct rowlock_connection *connection,
                struct rowlock_error *error)
{
    int name = (int)(rand_r(&work->seed) % NAMES), place, code;
    struct rowlock_terms terms = {.ttl_ms = 60000,
                                  .wait_ms = rand_r(&work->seed) % 4 == 0 ? 0 : -1};
    struct rowlock_lease *lease = NULL;
    struct rowlock_want want;

    want = t_x(t_say("group load %d", name));
    code = rowlock_acquire(connection, &want, 1, &terms, &lease, error);
    if (code == ROWLOCK_EBUSY && terms.wait_ms == 0)
        return 0;
    if (code)
        return code;
    note_token(work, name, lease);
    place = overlap_enter(work->overlap, name, want, lease);
    overlap_leave(work->overlap, place);
    code = rowlock_release(lease, error);
    rowlock_lease_free(lease);
    return code;
}

static int worker(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct work *work = data;
    int code = 0;

    for (int i = 0; !code && i < work->turns; i++)
        code = turn(work, connection, error);
    if (code)
        overlap_failed(work->overlap, error);
    return code;
}

static void many_threads(int sessions)
{
    static _Atomic int64_t last[NAMES];
    struct rowlock_group *group = t_group(sessions);
    struct overlap *overlap = overlap_new(0);
    struct rowlock_connection *members[THREADS];
    struct thread *threads[THREADS];
    struct work work[THREADS];

    for (int i = 0; i < NAMES; i++)
        atomic_store(&last[i], 0);
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){overlap, group, (unsigned)i + 1, 10, last};
        members[i] = t_join_group(group);
        threads[i] = t_thread(members[i], worker, &work[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        t_ok(t_join(threads[i]));
        rowlock_close(members[i]);
    }
    overlap_check(overlap);
    rowlock_group_close(group);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

TEST(p1_p2_threads_that_share_one_session_exclude_each_other)
{
    many_threads(1);
}

TEST(p1_p2_threads_that_share_three_sessions_exclude_each_other)
{
    many_threads(3);
}

/* ---- one member ------------------------------------------------------------------------------ */

TEST(p1_members_and_others_exclude_each_other)
{
    struct rowlock_group *group = t_group(1);
    struct rowlock_connection *one = t_join_group(group), *two = t_join_group(group);
    struct rowlock_lease *lease = t_granted(one, t_x("group mine"), 0), *none = NULL;

    t_fails(t_acquire(two, t_x("group mine"), 0, 0, &none), EBUSY);
    t_contains(t_error.text, "group mine");
    t_fails(t_acquire(t_open(), t_x("group mine"), 0, 0, &none), EBUSY);
    t_int(t_is_free(t_x("group mine")), 0);
    t_give(lease);
    lease = t_granted(t_open(), t_x("group mine"), 0);
    t_fails(t_acquire(two, t_x("group mine"), 0, 0, &none), EBUSY);
    t_give(lease);
    t_ok(rowlock_begin(one, &(struct rowlock_want){.name = "group mine"}, 1, 0, &t_error));
    t_fails(t_acquire(two, t_x("group mine"), 0, 0, &none), EBUSY);
    t_ok(rowlock_commit(one, &t_error));
    t_give(t_granted(two, t_x("group mine"), 0));
    rowlock_close(one);
    rowlock_close(two);
    rowlock_group_close(group);
}

TEST(p6_a_waiter_gets_a_members_lease_and_a_member_a_waiters)
{
    struct rowlock_group *group = t_group(2);
    struct rowlock_connection *one = t_join_group(group), *two = t_join_group(group);
    struct acquisition next = {.wants = {t_x("group wait")}, .wait_ms = -1};
    struct rowlock_lease *lease = t_granted(one, t_x("group wait"), 60000);
    void *hand = t_native();
    struct thread *thread;

    t_ok(rowlock_ping(two, &t_error));
    thread = t_queue_thread(two, &next, hand, 1);
    t_int(t_is_done(thread), 0);
    t_give(lease);
    t_ok(t_join(thread));
    t_true(rowlock_token(next.lease) > 0);
    t_give(next.lease);
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_close(one);
    rowlock_close(two);
    rowlock_group_close(group);
}

/* A member can do everything that a connection can, and `ls` shows its leases like any other. */
TEST(a_member_does_all_that_a_connection_does)
{
    struct rowlock_group *group = t_group(0);
    struct rowlock_connection *one = t_join_group(group);
    struct rowlock_want two_names[] = {t_x("group a"), t_x("group b")};
    struct rowlock_lease *lease = t_granted(one, t_x("group all"), 2000), *other = NULL;
    int64_t broken = 0;

    t_true(rowlock_remaining(lease) > 0);
    t_text(t_native_sql(t_native(), "SELECT note FROM %s WHERE name = '%s'", lease_table(),
                        t_key("group all")),
           "a note");
    t_ok(rowlock_renew(lease, 60000, &t_error));
    t_true(rowlock_remaining(lease) > 30000);
    t_ok(t_acquire_all(one, two_names, 2, 0, 0, &other));
    t_give(other);
    t_ok(t_acquire(one, t_p("group permits", 2, 1), 0, 0, &other));
    t_give(other);
    t_ok(rowlock_auto_renew(lease, NULL, NULL, &t_error));
    t_ok(rowlock_break(one, "group all", 0, 1, &broken, &t_error));
    t_int(broken, 1);
    t_give_lost(lease);
    rowlock_close(one);
    rowlock_group_close(group);
}

TEST(bad_input_is_refused)
{
    struct rowlock_group *group = NULL;
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;

    t_fails(rowlock_group_open(t_url(), NULL, -1, &group, &t_error), EINVAL);
    t_fails(rowlock_group_open(t_url(), NULL, 17, &group, &t_error), EINVAL);
    t_fails(rowlock_group_open("nothing:", NULL, 1, &group, &t_error), EDRIVER);
    t_fails(rowlock_group_join(NULL, &connection, &t_error), EINVAL);
    rowlock_group_close(NULL);
    group = t_group(1);
    connection = t_join_group(group);
    t_ok(rowlock_rollback(connection, &t_error));
    t_fails(rowlock_commit(connection, &t_error), ENOTX);
    t_int(rowlock_socket(connection), -1); /* it has no session of its own yet */
    t_fails(t_acquire(connection, t_x(""), 0, 0, &lease), EINVAL);
    t_fails(t_acquire(connection, t_x("group bad"), 1, 0, &lease), EINVAL);
    rowlock_close(connection);
    rowlock_group_close(group);
}

/* As on every connection, no lease can be acquired while a transaction is open. */
TEST(a_member_with_a_transaction_takes_no_lease)
{
    struct rowlock_group *group = t_group(1);
    struct rowlock_connection *one = t_join_group(group);
    struct rowlock_want want = t_x("group tx");
    struct rowlock_lease *lease = NULL;

    t_ok(rowlock_begin(one, &want, 1, 0, &t_error));
    t_fails(t_acquire(one, t_x("group other"), 0, 0, &lease), EINTX);
    t_ok(rowlock_rollback(one, &t_error));
    t_give(t_granted(one, t_x("group other"), 0));
    rowlock_close(one);
    rowlock_group_close(group);
}

TEST(p11_a_child_of_fork_cannot_use_it)
{
    struct rowlock_group *group = t_group(1);
    struct rowlock_connection *one = t_join_group(group);
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct rowlock_lease *lease = NULL;
        struct rowlock_want want = t_x("group fork");

        t_enter_child();
        if (rowlock_acquire(one, &want, 1, NULL, &lease, NULL) != ROWLOCK_EINVAL)
            _exit(1);
        _exit(rowlock_group_join(group, &one, NULL) == ROWLOCK_EINVAL ? 0 : 2);
    }
    t_int(waitpid(child, &status, 0), child);
    t_int(status, 0);
    t_give(t_granted(one, t_x("group fork"), 0));
    rowlock_close(one);
    rowlock_group_close(group);
}
