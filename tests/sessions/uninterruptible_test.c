/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release, commit and rollback cannot be interrupted, but still end in time: on a borrowed handle,
 * with an interrupt_fd and a URL, when the server stops answering.
 *
 * Runs on: postgresql/native mariadb/row
 * Quick: mariadb/row
 */
#include <string.h>
#include <unistd.h>

#include "lib/cut.h"
#include "lib/grants.h"

#define HANGS_MS 60000 /* a statement's limit, the grace of 2 s, and a reserve for a busy machine */

struct scene {
    void *handle;
    struct rowlock_connection *connection;
    struct rowlock_lease *lease;
};

/* A handle through a proxy; the interrupt comes when the server does not answer any more. */
static struct scene set_up(rowlock_duration statement_ms)
{
    struct scene scene = {.lease = NULL};
    struct rowlock_options options = {
        .statement_ms = statement_ms, .interrupt_fd = t_interrupt_fd(), .url = t_url()};

    t_install();
    scene.handle = t_native_at(t_proxied_url(&t_proxy));
    t_ok(t_engine()->wrap(scene.handle, &options, &scene.connection, &t_error));
    return scene;
}

static void clean_up(struct scene *scene)
{
    rowlock_lease_free(scene->lease);
    rowlock_close(scene->connection);
    t_engine()->close(scene->handle);
    proxy_cut_all(t_proxy);
}

/* Returns the code of `work`. If it hangs, cuts the connection, then fails the test. */
static int in_silence(struct scene *scene, int (*work)(struct rowlock_connection *connection,
                                                       void *data, struct rowlock_error *error))
{
    long long end = t_now() + HANGS_MS;
    struct thread *thread;
    int hangs, code;

    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    t_interrupt();
    thread = t_thread(scene->connection, work, scene);
    while (!t_is_done(thread) && t_now() < end)
        t_pause(5);
    hangs = !t_is_done(thread);
    proxy_cut_all(t_proxy);
    code = t_join(thread);
    t_int(hangs, 0);
    t_int(proxy_has_struck(t_proxy), 1);
    return code;
}

static int release(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    (void)connection;
    return rowlock_release(((struct scene *)data)->lease, error);
}

static int commit(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    (void)data;
    return rowlock_commit(connection, error);
}

static int rollback(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    (void)data;
    return rowlock_rollback(connection, error);
}

TEST(p11_a_release_is_uninterruptible_and_ends_when_the_server_is_silent)
{
    struct scene scene = set_up(0); /* acquiring still needs answers, so statements have no limit */
    int code;

    scene.lease = t_granted(scene.connection, t_x("silent release"), HOUR);
    code = in_silence(&scene, release);
    t_true(code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    clean_up(&scene);
}

TEST(p11_a_commit_is_uninterruptible_and_ends_when_the_server_is_silent)
{
    struct scene scene = set_up(300);

    t_own_begin(scene.handle, t_engine()->begin);
    t_int(in_silence(&scene, commit), ROWLOCK_EUNKNOWN);
    clean_up(&scene);
}

TEST(p11_a_rollback_is_uninterruptible_and_ends_when_the_server_is_silent)
{
    struct scene scene = set_up(300);
    int code;

    t_own_begin(scene.handle, t_engine()->begin);
    code = in_silence(&scene, rollback);
    t_true(code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    clean_up(&scene);
}
