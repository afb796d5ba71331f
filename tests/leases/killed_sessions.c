/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1, P5: an operator kills sessions at random while clients acquire, renew and release. Each call
 * still succeeds, no holders overlap, and no rows are left.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/overlap.h"
#include "lib/proxy.h"

#define CLIENTS 6
#define KILLS 50
#define CUTS 12

struct work {
    struct overlap *overlap;
    struct common {
        atomic_int again; /* calls that the caller had to repeat */
        atomic_int stop;
    } * shared;
    int number;
    const char *url;
};

static struct proxy *proxy;

static int open_it(const char *url, struct rowlock_connection **connection,
                   struct rowlock_error *error)
{
    int code = ROWLOCK_ECONN;

    for (int i = 0; code == ROWLOCK_ECONN && i < 100; i++)
        code = rowlock_open(url, t_usual(), connection, error);
    return code;
}

/* If a session is killed twice within one call, the caller must repeat the call. */
static int give(const struct work *work, struct rowlock_lease *lease, struct rowlock_error *error)
{
    int code = ROWLOCK_ECONN;

    for (int i = 0; code == ROWLOCK_ECONN && i < 100; i++) {
        atomic_fetch_add(&work->shared->again, i > 0);
        code = rowlock_release(lease, error);
    }
    rowlock_lease_free(lease);
    return code;
}

static int turn(const struct work *work, struct rowlock_connection *connection,
                struct rowlock_error *error)
{
    static const char *const names[] = {"killed a", "killed b"};
    int first = rand() % 2;
    struct rowlock_want wants[] = {t_x(names[first]), t_x(names[1 - first])};
    struct rowlock_terms terms = {.ttl_ms = 600000, .wait_ms = -1};
    struct rowlock_lease *lease = NULL;
    size_t n = 1 + (size_t)(rand() % 4 == 0);
    int places[2], code;

    if (rand() % 4 == 1)
        wants[0].mode = ROWLOCK_SHARED;
    code = rowlock_acquire(connection, wants, n, &terms, &lease, error);
    if (code)
        return code;
    places[0] = overlap_enter(work->overlap, first, wants[0], lease);
    if (n == 2)
        places[1] = overlap_enter(work->overlap, 1 - first, wants[1], lease);
    if (rand() % 3 == 0) {
        code = rowlock_renew(lease, 0, error);
        code = code == ROWLOCK_ECONN ? 0 : code;
    }
    overlap_leave(work->overlap, places[0]);
    if (n == 2)
        overlap_leave(work->overlap, places[1]);
    return code ? code : give(work, lease, error);
}

static int client(const void *data, int to)
{
    const struct work *work = data;
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = open_it(work->url, &connection, &error);

    (void)to;
    srand((unsigned)work->number + 11);
    while (!code && !atomic_load(&work->shared->stop))
        code = turn(work, connection, &error);
    if (code)
        overlap_failed(work->overlap, &error);
    rowlock_close(connection);
    return code != 0;
}

/* Where no statement ends a session, the network ends all of them. */
static void cut_sessions(const struct work *work)
{
    for (int cuts = 0; cuts < CUTS && !work->overlap->code; cuts++) {
        int entered = work->overlap->entered;

        t_until(work->overlap->entered > entered + CLIENTS || work->overlap->code);
        proxy_cut_all(proxy);
    }
}

static void kill_sessions(const struct work *work)
{
    long long end = t_now() + 60000;

    for (int kills = 0; kills < KILLS && !work->overlap->code; t_pause(8)) {
        int n = t_sessions();

        if (n > 0)
            kills += t_kill_session(rand() % n);
        if (t_now() > end)
            t_fail(__FILE__, __LINE__, "only %d sessions came to be killed", kills);
    }
}

TEST(p1_sessions_are_killed_at_random)
{
    struct work work = {.overlap = overlap_new(0)};
    struct child children[CLIENTS];
    long long began = t_now();
    int failed = 0;

    t_install();
    work.url = t_engine()->cut_all ? t_proxied_url(&proxy) : t_url();
    work.shared = t_shared(sizeof *work.shared);
    for (work.number = 0; work.number < CLIENTS; work.number++)
        children[work.number] = t_child(client, &work);
    if (t_engine()->cut_all)
        cut_sessions(&work);
    else
        kill_sessions(&work);
    atomic_store(&work.shared->stop, 1);
    for (int i = 0; i < CLIENTS; i++)
        failed += t_await_child(&children[i]) != 0;
    overlap_check(work.overlap);
    t_int(failed, 0);
    print_message("# %d grants, %d calls repeated, %lld ms\n", work.overlap->entered,
                  atomic_load(&work.shared->again), t_now() - began);
    t_true(work.overlap->entered >= CLIENTS);
    t_until_sessions(0);
    t_text(t_all_rows(t_admin()), NO_ROWS);
}
