/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases behind JDBC alone: threads that compete, the fence, and a session that is lost. Through
 * ODBC leases/load and leases/fence test that.
 *
 * Runs on: derby/jdbc h2/jdbc hsqldb/jdbc
 * Quick: never
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/proxy.h"

#define THREADS 8
#define ROUNDS t_effort(5, 25)
#define LONG_MS 600000 /* a ttl that does not pass in a test */

/* ---- threads --------------------------------------------------------------------------------- */

/* How many are inside, the most so far, the greatest token, and tokens that did not rise. */
struct crowd {
    const char *name;
    atomic_int inside, most, turn, not_greater;
    atomic_llong token;
};

static void pass(struct crowd *crowd)
{
    int now = atomic_fetch_add(&crowd->inside, 1) + 1, most = atomic_load(&crowd->most);

    while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now))
        continue;
    sched_yield();
    atomic_fetch_sub(&crowd->inside, 1);
}

static int lock(struct crowd *crowd, struct rowlock_connection *connection,
                struct rowlock_error *error)
{
    struct rowlock_want want = t_x(crowd->name);
    int code = rowlock_begin(connection, &want, 1, -1, error);

    if (code)
        return code;
    pass(crowd);
    return rowlock_commit(connection, error);
}

static int lease(struct crowd *crowd, struct rowlock_connection *connection,
                 struct rowlock_want want, struct rowlock_error *error)
{
    struct rowlock_terms terms = {.ttl_ms = LONG_MS, .wait_ms = -1};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_acquire(connection, &want, 1, &terms, &lease, error);

    if (code)
        return code;
    if (want.mode == ROWLOCK_EXCLUSIVE)
        crowd->not_greater +=
            rowlock_token(lease) <= atomic_exchange(&crowd->token, rowlock_token(lease));
    pass(crowd);
    code = rowlock_release(lease, error);
    rowlock_lease_free(lease);
    return code;
}

static int either(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct crowd *crowd = data;
    int code = 0;

    for (int i = 0; !code && i < ROUNDS; i++)
        code = atomic_fetch_add(&crowd->turn, 1) % 2
                   ? lock(crowd, connection, error)
                   : lease(crowd, connection, t_x(crowd->name), error);
    return code;
}

static int permits(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct crowd *crowd = data;
    int code = 0;

    for (int i = 0; !code && i < ROUNDS; i++)
        code = lease(crowd, connection, t_p(crowd->name, 3, 1), error);
    return code;
}

/* Every thread has a session of its own. */
static void run(struct crowd *crowd, int (*work)(struct rowlock_connection *connection, void *data,
                                                 struct rowlock_error *error))
{
    struct thread *threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        threads[i] = t_thread(t_open(), work, crowd);
    for (int i = 0; i < THREADS; i++)
        t_ok(t_join(threads[i]));
    t_true(crowd->most > 0);
}

TEST(p1_p3_leases_and_transactions_exclude_each_other_and_tokens_rise)
{
    struct crowd crowd = {.name = "either"};

    run(&crowd, either);
    t_int(crowd.most, 1);
    t_int(crowd.not_greater, 0);
}

TEST(p1_permits_never_exceed_their_limit)
{
    struct crowd crowd = {.name = "permits"};

    run(&crowd, permits);
    t_true(crowd.most <= 3);
}

/* ---- the fence ------------------------------------------------------------------------------- */

TEST(p4_a_fence_keeps_an_expired_lease_until_commit)
{
    struct rowlock_connection *holder = t_open(), *writer = t_open(), *next = t_open();
    struct rowlock_lease *lease = t_granted(holder, t_x("fenced"), 3000), *other = NULL;
    int code;

    t_ok(t_begin(writer, t_x("written"), -1));
    t_ok(rowlock_fence(writer, "fenced", rowlock_token(lease), &t_error));
    while (rowlock_remaining(lease) > 0)
        continue;
    code = t_acquire(next, t_x("fenced"), LONG_MS, 0, &other);
    t_true(code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_acquire(next, t_x("fenced"), LONG_MS, -1, &other));
    t_true(rowlock_token(other) > rowlock_token(lease));
    t_give(other);
    rowlock_lease_free(lease);
}

/* ---- lost sessions --------------------------------------------------------------------------- */

/* From now on the proxy refuses connections, and keeps those that it has: only this client, which
   sends a byte, is cut off. */
static void refuse_connections(struct proxy *proxy)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)proxy_port(proxy)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    char byte;

    t_int(connect(client, (struct sockaddr *)&at, sizeof at), 0);
    proxy_arm(proxy, PROXY_DOWN, PROXY_TO_SERVER, 0);
    t_int(send(client, "!", 1, MSG_NOSIGNAL), 1);
    t_true(recv(client, &byte, 1, 0) <= 0);
    t_true(proxy_has_struck(proxy));
    close(client);
}

/* To end the wait the session is cut off, and no other one can be opened. */
TEST(a_session_without_a_successor_is_lost)
{
    struct rowlock_options options = {.statement_ms = 60000};
    struct rowlock_connection *holder = t_open(), *connection = NULL;
    struct rowlock_want want = t_x("lost");
    struct proxy *proxy;

    if (!t_facts()->limit_ends_session)
        return;
    proxy = proxy_start(t_port(), 0);
    t_ok(rowlock_open(t_url_at(proxy_port(proxy)), &options, &connection, &t_error));
    t_adopt(connection);
    t_ok(rowlock_prepare(holder, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    refuse_connections(proxy);
    t_fails(t_begin(connection, want, 0), ECONN);
    t_left(DEAD);
    t_fails(t_begin(connection, t_x("free"), 0), ECONN);
    t_left(DEAD);
    t_fails(rowlock_install(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_vacuum(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_rollback(connection, &t_error), ECONN);
    t_ok(rowlock_rollback(holder, &t_error));
    proxy_stop(proxy);
}
