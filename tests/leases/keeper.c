/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P5: a kept lease lives as long as it is kept, whatever happens to connections. Its loss is
 * reported once, in time. The technique has no influence on this.
 *
 * Runs on: sqlite/native postgresql/native mariadb/row odbc jdbc
 * Quick: postgresql/native
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"

struct loss {
    atomic_int times, code;
    atomic_llong left_ms, when;
};

static void lost(struct rowlock_lease *lease, const struct rowlock_error *why, void *data)
{
    struct loss *loss = data;

    atomic_store(&loss->code, why->code);
    atomic_store(&loss->left_ms, rowlock_remaining(lease));
    atomic_store(&loss->when, t_now());
    atomic_fetch_add(&loss->times, 1);
}

/* Waits until the database has seen `times` renewals. */
static void until_renewed(void *hand, int64_t token, int times)
{
    char last[100] = "";
    long long end = t_now() + T_TIMEOUT_MS;

    while (times >= 0) {
        const char *expires = t_native_sql(hand, "SELECT expires FROM %s WHERE token = %lld",
                                           lease_heartbeat_table(), (long long)token);

        if (!*expires)
            t_fail(__FILE__, __LINE__, "the lease is gone");
        if (t_now() > end)
            t_fail(__FILE__, __LINE__, "it is not renewed");
        if (strcmp(expires, last) != 0) {
            snprintf(last, sizeof last, "%s", expires);
            times--;
        }
        t_pause(3);
    }
}

static struct rowlock_lease *kept(struct rowlock_connection *connection, const char *name,
                                  rowlock_duration ttl_ms, struct loss *loss)
{
    struct rowlock_lease *lease = t_granted(connection, t_x(name), ttl_ms);

    t_ok(rowlock_auto_renew(lease, lost, loss, &t_error));
    return lease;
}

TEST(p5_a_kept_lease_outlives_its_ttl)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), "kept", 4000, &loss);
    long long began = t_now();
    void *hand = t_native();

    until_renewed(hand, rowlock_token(lease), 4);
    while (t_now() < began + 4400)
        t_pause(3);
    t_int(t_may_have(t_x("kept")), 0);
    t_true(rowlock_remaining(lease) > 0);
    t_fails(rowlock_auto_renew(lease, lost, &loss, &t_error), EINVAL);
    t_give(lease);
    t_int(atomic_load(&loss.times), 0);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p5_a_freed_lease_is_kept_no_more)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), "freed", 3000, &loss);

    until_renewed(t_native(), rowlock_token(lease), 1);
    rowlock_lease_free(lease);
    t_until_free(t_x("freed"), T_TIMEOUT_MS);
    t_int(atomic_load(&loss.times), 0);
}

static void lost_in_the_database(const char *name, int now)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), name, 3000, &loss);
    void *hand = t_native();
    int64_t token = rowlock_token(lease);

    until_renewed(hand, token, 1);
    t_ok(rowlock_break(t_open(), name, token, now, NULL, &t_error));
    t_until(atomic_load(&loss.times) > 0);
    t_int(atomic_load(&loss.code), ROWLOCK_ELOST);
    t_int(rowlock_remaining(lease), 0);
    if (now)
        t_fails(rowlock_release(lease, &t_error), ELOST);
    else
        t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
    t_int(atomic_load(&loss.times), 1);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p5_a_keeper_learns_of_a_break)
{
    lost_in_the_database("broken", 0);
}

TEST(p5_a_keeper_learns_of_a_break_now)
{
    lost_in_the_database("broken now", 1);
}

TEST(p5_a_kept_lease_survives_killed_connections)
{
    struct rowlock_connection *one = t_open();
    struct loss loss = {0};
    struct rowlock_lease *lease;
    int64_t token;

    if (!t_facts()->server)
        return;
    lease = kept(one, "survives", 4000, &loss);
    token = rowlock_token(lease);
    for (int i = 0; i < 2; i++) {
        until_renewed(t_admin(), token, 1);
        t_kill_all_sessions();
    }
    until_renewed(t_admin(), token, 2);
    t_int(atomic_load(&loss.times), 0);
    t_true(rowlock_remaining(lease) > 0);
    t_give(lease);
    t_text(t_all_rows(t_admin()), NO_ROWS);
}

/* Another process locks the file until after the lease's end, as if the database hung. */
static void hang_by_write_lock(void)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), "hangs", 3000, &loss);
    void *hand = t_native();

    t_native_sql(hand, "BEGIN IMMEDIATE");
    t_until(atomic_load(&loss.times) > 0);
    t_native_sql(hand, "ROLLBACK");
    t_int(atomic_load(&loss.code), ROWLOCK_ECONN);
    t_int(rowlock_remaining(lease), 0);
    rowlock_lease_free(lease);
    t_int(atomic_load(&loss.times), 1);
    t_until_free(t_x("hangs"), T_TIMEOUT_MS);
}

/* Sends the signal to all processes of the server. */
static void signal_server(const char *name, const char *how)
{
    extra_shell(
        "pid=$(cat $ROWLOCK_TEST_FOLDER/%s/pid) && kill -s %s $pid $(pgrep -P $pid) && echo", name,
        how);
}

static const char *url_of_server(const char *name)
{
    if (t_is_jdbc())
        return extra_shell("start_%s %s >&2 && jdbc_url %s $server_port hanging", t_facts()->engine,
                           name, t_facts()->engine);
    return t_is_postgresql() ? extra_postgresql(name, "") : extra_mariadb(name, "");
}

static void hang_by_signal(void)
{
    const char *name = extra_name("hanging"), *url = url_of_server(name);
    struct rowlock_connection *one;
    struct loss loss = {0};
    struct rowlock_lease *lease;
    long long began, deadline;

    t_install_at(url);
    one = t_open_at(url, t_usual());
    lease = kept(one, "hangs", 3000, &loss);
    began = t_now();
    signal_server(name, "STOP");
    deadline = t_now() + rowlock_remaining(lease);
    t_until(atomic_load(&loss.times) > 0);
    signal_server(name, "CONT");
    print_message("# told %lld ms after its end, %lld after the stop\n",
                  atomic_load(&loss.when) - deadline, t_now() - began);
    t_true(atomic_load(&loss.when) <= deadline + 1000);
    t_int(atomic_load(&loss.code), ROWLOCK_ECONN);
    t_int(rowlock_remaining(lease), 0);
    rowlock_lease_free(lease);
    t_int(atomic_load(&loss.times), 1);
    t_close(one);
    extra_stop(name);
}

TEST(p5_a_keeper_tells_the_loss_while_the_database_hangs)
{
    if (t_facts()->server)
        hang_by_signal();
    else
        hang_by_write_lock();
}

TEST(p5_a_keeper_leaves_signals_to_the_program)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), "signals", 4000, &loss);
    sigset_t usr1, pending;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    t_int(pthread_sigmask(SIG_BLOCK, &usr1, NULL), 0);
    kill(getpid(), SIGUSR1); /* would end the process if the keeper's thread received it */
    until_renewed(t_native(), rowlock_token(lease), 1);
    sigpending(&pending);
    t_int(sigismember(&pending, SIGUSR1), 1);
    t_int(sigtimedwait(&usr1, NULL, &(struct timespec){5, 0}), SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    t_give(lease);
}

/* The keeper is stopped at random points of its work. */
TEST(p5_keepers_come_and_go)
{
    struct rowlock_connection *one = t_open();
    struct loss loss = {0};
    void *hand = t_native();

    for (int i = 0; i < 6; i++) {
        struct rowlock_lease *lease = kept(one, "come and go", 3000, &loss);

        if (i % 3 == 0)
            t_ok(rowlock_renew(lease, 0, &t_error));
        if (i % 4 == 0)
            until_renewed(hand, rowlock_token(lease), 1);
        t_true(rowlock_remaining(lease) > 0);
        t_give(lease);
    }
    t_int(atomic_load(&loss.times), 0);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* Whichever of the two notices the loss first: the call fails, and the callback still comes
   once. */
TEST(p5_a_break_is_heard_by_the_keeper_and_by_the_caller)
{
    struct loss loss = {0};
    struct rowlock_lease *lease = kept(t_open(), "both", 4000, &loss);

    t_ok(rowlock_break(t_open(), "both", 0, 1, NULL, &t_error));
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_int(rowlock_remaining(lease), 0);
    t_until(atomic_load(&loss.times) > 0);
    t_give_lost(lease);
    t_int(atomic_load(&loss.times), 1);
}

TEST(p5_a_keeper_needs_a_url)
{
    void *handle;
    struct rowlock_connection *bare = t_wrap(&handle, NULL);
    struct rowlock_connection *known = t_wrap(&handle, &(struct rowlock_options){.url = t_url()});
    struct rowlock_lease *lease = t_granted(bare, t_x("no url"), 0);
    struct loss loss = {0};

    t_fails(rowlock_auto_renew(lease, lost, &loss, &t_error), EINVAL);
    t_give(lease);
    lease = kept(known, "a url", 4000, &loss);
    until_renewed(t_native(), rowlock_token(lease), 1);
    t_give(lease);
    t_text(t_all_rows(t_native()), NO_ROWS);
}
