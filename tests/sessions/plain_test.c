/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock on engines that have no functions of it: each operation is carried out by statements of
 * the plain dialect, through ODBC on PostgreSQL and MariaDB, through JDBC on Derby, H2 and HSQLDB.
 * Runs on: alone
 * Needs: derby h2 hsqldb postgresql mariadb
 * Quick: never
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/plain.h"
#include "lib/proxy.h"

#define NO_LIMIT -1
#define LONG_MS 600000 /* a ttl that does not pass in a test */

/* ---- exclusion ----------------------------------------------------------------------------- */

static int lock_and_commit(struct t_crowd *crowd, struct rowlock_connection *connection,
                           struct rowlock_error *error)
{
    struct rowlock_want want = t_x(crowd->name);
    int code = rowlock_begin(connection, &want, 1, NO_LIMIT, error);

    if (code)
        return code;
    t_crowd_enter(crowd);
    t_crowd_leave(crowd);
    return rowlock_commit(connection, error);
}

T_PLAIN_ON_EACH(p1_transaction_locks_exclude_each_other)
{
    struct t_crowd crowd = {.on = on, .name = "transaction", .round = lock_and_commit};

    t_plain_open(on);
    t_crowd_run(&crowd);
    t_int(crowd.most, 1);
}

static void note_token(struct t_crowd *crowd, const struct rowlock_lease *lease)
{
    if (rowlock_token(lease) <= atomic_exchange(&crowd->token, rowlock_token(lease)))
        atomic_fetch_add(&crowd->not_greater, 1);
}

static int hold(struct t_crowd *crowd, struct rowlock_connection *connection,
                struct rowlock_want want, struct rowlock_error *error)
{
    struct rowlock_terms terms = {.ttl_ms = LONG_MS, .wait_ms = NO_LIMIT};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_acquire(connection, &want, 1, &terms, &lease, error);

    if (code)
        return code;
    t_crowd_enter(crowd);
    if (want.mode == ROWLOCK_EXCLUSIVE)
        note_token(crowd, lease);
    t_crowd_leave(crowd);
    code = rowlock_release(lease, error);
    rowlock_lease_free(lease);
    return code;
}

static int hold_exclusively(struct t_crowd *crowd, struct rowlock_connection *connection,
                            struct rowlock_error *error)
{
    return hold(crowd, connection, t_x(crowd->name), error);
}

T_PLAIN_ON_EACH(p1_leases_exclude_each_other_and_tokens_rise)
{
    struct t_crowd crowd = {.on = on, .name = "lease", .round = hold_exclusively};

    t_plain_open(on);
    t_crowd_run(&crowd);
    t_int(crowd.most, 1);
    t_int(crowd.not_greater, 0);
}

/* Leases and transaction locks of one name, in turn. */
static int hold_either(struct t_crowd *crowd, struct rowlock_connection *connection,
                       struct rowlock_error *error)
{
    if (atomic_fetch_add(&crowd->turn, 1) % 2)
        return lock_and_commit(crowd, connection, error);
    return hold_exclusively(crowd, connection, error);
}

T_PLAIN_ON_EACH(p1_leases_and_transaction_locks_exclude_each_other)
{
    struct t_crowd crowd = {.on = on, .name = "either", .round = hold_either};

    t_plain_open(on);
    t_crowd_run(&crowd);
    t_int(crowd.most, 1);
    t_int(crowd.not_greater, 0);
}

/* ---- shared leases and permits ------------------------------------------------------------- */

static struct rowlock_want permit(const char *name)
{
    return (struct rowlock_want){.name = name, .mode = ROWLOCK_PERMIT, .limit = 3};
}

static int try(struct rowlock_connection *connection, struct rowlock_want want,
               struct rowlock_lease **lease)
{
    struct rowlock_terms terms = {.ttl_ms = LONG_MS};

    return rowlock_acquire(connection, &want, 1, &terms, lease, &t_error);
}

static void end(struct rowlock_lease *lease)
{
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
}

/* Three are held together, and `refused` is not granted meanwhile. */
static void three_together(const struct t_plain *on, struct rowlock_want want,
                           struct rowlock_want refused)
{
    struct rowlock_connection *connection = t_plain_open(on), *other = t_plain_connect(on);
    struct rowlock_lease *leases[3], *more = NULL;

    for (int i = 0; i < 3; i++)
        t_ok(try(connection, want, &leases[i]));
    t_fails(try(other, refused, &more), EBUSY);
    t_contains(t_error.text, want.name);
    for (int i = 0; i < 3; i++)
        end(leases[i]);
    t_ok(try(other, refused, &more));
    end(more);
}

T_PLAIN_ON_EACH(p1_shared_leases_are_held_together)
{
    three_together(on, t_s("shared"), t_x("shared"));
}

static int hold_permit(struct t_crowd *crowd, struct rowlock_connection *connection,
                       struct rowlock_error *error)
{
    return hold(crowd, connection, permit(crowd->name), error);
}

T_PLAIN_ON_EACH(p1_permits_never_exceed_their_limit)
{
    struct t_crowd crowd = {.on = on, .name = "permits", .round = hold_permit};

    three_together(on, permit("permit"), permit("permit"));
    t_crowd_run(&crowd);
    t_true(crowd.most <= 3);
}

/* ---- counters ------------------------------------------------------------------------------ */

/* Every fifth drawn number is rolled back, and drawn again. */
static int draw(struct t_crowd *crowd, struct rowlock_connection *connection,
                struct rowlock_error *error)
{
    struct rowlock_want want = t_s("drawing");
    atomic_int *drawn = crowd->data;
    int64_t number = 0;
    int code, again = atomic_fetch_add(&crowd->turn, 1) % 5 == 0;

    do {
        code = rowlock_begin(connection, &want, 1, NO_LIMIT, error);
        if (!code)
            code = rowlock_next(connection, crowd->name, 1, 1, NO_LIMIT, &number, error);
        if (!code)
            code = again ? rowlock_rollback(connection, error) : rowlock_commit(connection, error);
    } while (!code && again--);
    if (!code && number >= 1 && number <= T_CROWD_ALL)
        atomic_fetch_add(&drawn[number - 1], 1);
    return code;
}

T_PLAIN_ON_EACH(a_counter_has_no_gap_and_no_duplicate)
{
    atomic_int drawn[T_CROWD_ALL] = {0};
    struct t_crowd crowd = {.on = on, .name = "invoice", .round = draw, .data = drawn};

    t_plain_open(on);
    t_crowd_run(&crowd);
    for (int i = 0; i < T_CROWD_ALL; i++)
        t_int(drawn[i], 1);
}

/* ---- the end of a lease -------------------------------------------------------------------- */

static struct rowlock_lease *acquire(struct rowlock_connection *connection, const char *name,
                                     rowlock_duration ttl_ms)
{
    struct rowlock_want want = t_x(name);
    struct rowlock_terms terms = {.ttl_ms = ttl_ms, .wait_ms = NO_LIMIT};
    struct rowlock_lease *lease = NULL;

    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    return lease;
}

static void is_no_lease(struct rowlock_connection *connection, const char *name, int64_t token)
{
    struct rowlock_lease *adopted = NULL;
    struct rowlock_want under = {.name = "other", .token = 0};

    t_fails(rowlock_adopt(connection, name, token, &adopted, &t_error), ELOST);
    t_ok(rowlock_begin(connection, &under, 1, NO_LIMIT, &t_error));
    t_fails(rowlock_fence(connection, name, token, &t_error), ELOST);
    t_ok(rowlock_rollback(connection, &t_error));
}

T_PLAIN_ON_EACH(p6_an_expired_lease_is_taken_over)
{
    struct rowlock_connection *gone = t_plain_open(on), *late = t_plain_connect(on);
    struct rowlock_connection *next = t_plain_connect(on);
    struct rowlock_lease *first = acquire(gone, "expired", 1000), *second, *third;
    int64_t token = rowlock_token(first);

    rowlock_lease_free(first);
    t_close(gone);
    second = acquire(late, "expired", 1000);
    t_true(rowlock_token(second) > token);
    is_no_lease(next, "expired", token);
    third = acquire(next, "expired", LONG_MS);
    t_true(rowlock_token(third) > rowlock_token(second));
    t_fails(rowlock_renew(second, 0, &t_error), ELOST);
    t_fails(rowlock_release(second, &t_error), ELOST);
    is_no_lease(late, "expired", rowlock_token(second));
    rowlock_lease_free(second);
    t_ok(rowlock_renew(third, 0, &t_error));
    end(third);
}

T_PLAIN_ON_EACH(p4_a_fence_keeps_an_expired_lease_until_commit)
{
    struct rowlock_connection *holder = t_plain_open(on), *writer = t_plain_connect(on);
    struct rowlock_connection *next = t_plain_connect(on);
    struct rowlock_lease *lease = acquire(holder, "fenced", 3000), *other = NULL;
    struct rowlock_want want = t_x("written");
    int code;

    t_ok(rowlock_begin(writer, &want, 1, NO_LIMIT, &t_error));
    t_ok(rowlock_fence(writer, "fenced", rowlock_token(lease), &t_error));
    while (rowlock_remaining(lease) > 0)
        continue;
    code = try(next, t_x("fenced"), &other);
    t_true(code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT);
    t_ok(rowlock_commit(writer, &t_error));
    other = acquire(next, "fenced", LONG_MS);
    t_true(rowlock_token(other) > rowlock_token(lease));
    end(other);
    rowlock_lease_free(lease);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

struct claims {
    struct rowlock_schedule *schedule;
    struct rowlock_lease *lease; /* of the one that claimed it */
    int64_t token;
    atomic_int claimed, running;
    atomic_int all;
};

static struct rowlock_job job_of(const struct t_crowd *crowd)
{
    const struct claims *claims = crowd->data;

    return (struct rowlock_job){
        .name = crowd->name, .schedule = claims->schedule, .ttl_ms = LONG_MS};
}

/* Finishes the run only after every thread has its answer. */
static int claim(struct t_crowd *crowd, struct rowlock_connection *connection,
                 struct rowlock_error *error)
{
    struct claims *claims = crowd->data;
    struct rowlock_job job = job_of(crowd);
    struct rowlock_claim answer = {0};
    struct rowlock_lease *lease = NULL;
    struct rowlock_result done = {0};
    int code;

    do
        code = rowlock_claim(connection, &job, &answer, &lease, error);
    while (!code && answer.claimed == ROWLOCK_JOB_NOT_DUE);
    atomic_fetch_add(&claims->claimed, !code && answer.claimed == ROWLOCK_JOB_CLAIMED);
    atomic_fetch_add(&claims->running, !code && answer.claimed == ROWLOCK_JOB_RUNNING);
    atomic_fetch_add(&claims->all, 1);
    if (!lease)
        return code;
    while (atomic_load(&claims->all) < T_CROWD_THREADS)
        sched_yield();
    code = rowlock_finish(lease, &done, error);
    rowlock_lease_free(lease);
    return code;
}

static int see_job(const struct rowlock_job_view *job, void *data)
{
    *(int *)data += job->last.outcome == ROWLOCK_RUN_DONE && job->running.token == 0;
    return 0;
}

T_PLAIN_ON_EACH(one_of_all_nodes_claims_a_due_job)
{
    struct claims claims = {0};
    struct t_crowd crowd = {.on = on, .name = "report", .rounds = 1, .round = claim};
    struct rowlock_connection *connection = t_plain_open(on);
    int done = 0;

    t_ok(rowlock_schedule_open("every 1s", NULL, &claims.schedule, NULL, &t_error));
    crowd.data = &claims;
    t_crowd_run(&crowd);
    rowlock_schedule_close(claims.schedule);
    t_int(claims.claimed, 1);
    t_int(claims.running, T_CROWD_THREADS - 1);
    t_ok(rowlock_jobs(connection, "report", see_job, &done, &t_error));
    t_int(done, 1);
}

/* ---- subjects ------------------------------------------------------------------------------ */

static const struct rowlock_subject prices = {.name = "prices", .max_age_ms = NO_LIMIT};

static int refresh_under_lease(struct t_crowd *crowd, struct rowlock_connection *connection,
                               struct rowlock_error *error)
{
    struct rowlock_terms terms = {.ttl_ms = LONG_MS, .wait_ms = NO_LIMIT};
    struct rowlock_result done = {0};
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease = NULL;
    int code = rowlock_refresh_acquire(connection, &prices, &terms, &refresh, &lease, error);

    if (code || !lease)
        return code;
    atomic_fetch_add(&crowd->turn, 1);
    code = rowlock_refresh_release(lease, &done, error);
    rowlock_lease_free(lease);
    return code;
}

static int refresh_in_transaction(struct t_crowd *crowd, struct rowlock_connection *connection,
                                  struct rowlock_error *error)
{
    struct rowlock_refresh refresh;
    int code = rowlock_refresh_begin(connection, &prices, NO_LIMIT, &refresh, error);

    if (code || !refresh.stale)
        return code;
    atomic_fetch_add(&crowd->turn, 1);
    return rowlock_refresh_done(connection, &refresh, error);
}

T_PLAIN_ON_EACH(a_subject_is_refreshed_once)
{
    struct t_crowd crowd = {.on = on, .rounds = 2, .round = refresh_under_lease};
    struct t_crowd again = {.on = on, .rounds = 2, .round = refresh_in_transaction};
    struct rowlock_connection *connection = t_plain_open(on);
    int known = 0;

    t_crowd_run(&crowd);
    t_int(crowd.turn, 1);
    t_ok(rowlock_expire(connection, "prices", &known, &t_error));
    t_int(known, 1);
    t_crowd_run(&again);
    t_int(again.turn, 1);
}

/* ---- lost sessions ------------------------------------------------------------------------- */

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

static struct rowlock_connection *connect_through(const struct t_plain *on, struct proxy *proxy)
{
    struct rowlock_connection *connection = NULL;
    char url[300];
    const char *direct = t_plain_url(on), *digits = strstr(direct, "127.0.0.1:") + 10;

    snprintf(url, sizeof url, "%.*s%d%s", (int)(digits - direct), direct, proxy_port(proxy),
             digits + strspn(digits, "0123456789"));
    t_ok(
        rowlock_open(url, &(struct rowlock_options){.statement_ms = 60000}, &connection, &t_error));
    return t_adopt(connection);
}

/* To end the wait the session is cut off, and no other one can be opened. */
static void a_session_without_a_successor_is_lost(const struct t_plain *on)
{
    const char *port = strstr(t_plain_url(on), "127.0.0.1:") + 10;
    struct proxy *proxy = proxy_start(atoi(port), 0);
    struct rowlock_connection *holder = t_plain_open(on), *connection = connect_through(on, proxy);
    struct rowlock_want want = t_x("lost"), free_want = t_x("free");

    t_ok(rowlock_prepare(holder, &want, 1, &t_error));
    t_ok(rowlock_begin(holder, &want, 1, 0, &t_error));
    refuse_connections(proxy);
    t_fails(rowlock_begin(connection, &want, 1, 0, &t_error), ECONN);
    t_left(DEAD);
    t_fails(rowlock_begin(connection, &free_want, 1, 0, &t_error), ECONN);
    t_left(DEAD);
    t_fails(rowlock_install(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_vacuum(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_rollback(connection, &t_error), ECONN);
    t_ok(rowlock_rollback(holder, &t_error));
    proxy_stop(proxy);
}

T_PLAIN_ON(derby, a_session_without_a_successor_is_lost)
T_PLAIN_ON(hsqldb, a_session_without_a_successor_is_lost)

/* ---- the schema ---------------------------------------------------------------------------- */

static void is_complete(struct rowlock_connection *connection)
{
    char *missing = NULL;

    t_ok(rowlock_missing(connection, &missing, &t_error));
    t_text(missing ? missing : "nothing", "nothing");
    rowlock_free(missing);
}

static int install(struct t_crowd *crowd, struct rowlock_connection *connection,
                   struct rowlock_error *error)
{
    (void)crowd;
    return rowlock_install(connection, NULL, error);
}

T_PLAIN_ON_EACH(the_schema_is_installed_and_removed)
{
    struct t_crowd crowd = {.on = on, .rounds = 1, .round = install};
    struct rowlock_connection *connection = t_plain_open(on);
    enum rowlock_technique technique;
    struct rowlock_lease *lease;
    char *missing = NULL;

    t_ok(rowlock_install(connection, NULL, &t_error));
    is_complete(connection);
    lease = acquire(connection, "in use", LONG_MS);
    t_fails(rowlock_uninstall(connection, &t_error), EBUSY);
    t_contains(t_error.text, "in use");
    is_complete(connection);
    t_ok(rowlock_uninstall_force(connection, &t_error));
    rowlock_lease_free(lease);
    t_fails(rowlock_installed(connection, &technique, &t_error), ESCHEMA);
    t_fails(rowlock_missing(connection, &missing, &t_error), ESCHEMA);
    if (on == &t_plain_derby) /* it ends a deadlock in its catalog after 20 s only */
        t_ok(rowlock_install(connection, NULL, &t_error));
    else
        t_crowd_run(&crowd);
    is_complete(connection);
    lease = acquire(connection, "in use", LONG_MS);
    end(lease);
    t_ok(rowlock_uninstall(connection, &t_error));
    t_fails(rowlock_installed(connection, &technique, &t_error), ESCHEMA);
}

/* ---- names --------------------------------------------------------------------------------- */

#define E_ACUTE "\xc3\xa9"         /* one code point */
#define E_AND_ACUTE "e\xcc\x81"    /* the same letter of two */
#define PADLOCK "\xf0\x9f\x94\x92" /* beyond 16 bits */

static char long_x[256], long_y[256], long_wide[256];

static const char *const names[] = {"a",      "A",         "a ",   " a",    "a\t",    "a\n",
                                    E_ACUTE,  E_AND_ACUTE, "e",    PADLOCK, "it's",   "\"a\"",
                                    "a\\",    "a%",        "_",    "?",     ";--",    "`a`",
                                    "{fn a}", "NULL",      long_x, long_y,  long_wide};
#define N_NAMES (sizeof names / sizeof *names)

static void fill_long_names(void)
{
    memset(long_x, 'x', 255);
    memset(long_y, 'x', 254);
    long_y[254] = 'y';
    for (int i = 0; i < 252; i += 4)
        memcpy(long_wide + i, PADLOCK, 4);
    memcpy(long_wide + 252, "end", 3);
}

static int same_name(const struct rowlock_holder *holder, void *data)
{
    *(int *)data += strcmp(holder->name, names[N_NAMES - 1]) == 0;
    return 0;
}

T_PLAIN_ON_EACH(p9_names_are_compared_byte_for_byte)
{
    struct rowlock_connection *connection = t_plain_open(on), *other = t_plain_connect(on);
    struct rowlock_lease *leases[N_NAMES], *more = NULL;
    struct rowlock_want want;
    int seen = 0;

    fill_long_names();
    for (size_t i = 0; i < N_NAMES; i++)
        t_ok(try(connection, t_x(names[i]), &leases[i]));
    for (size_t i = 0; i < N_NAMES; i++)
        t_fails(try(other, t_x(names[i]), &more), EBUSY);
    t_ok(rowlock_list(other, names[N_NAMES - 1], same_name, &seen, &t_error));
    t_int(seen, 1);
    for (size_t i = 0; i < N_NAMES; i++)
        end(leases[i]);
    want = t_x(names[0]);
    t_ok(rowlock_begin(connection, &want, 1, 0, &t_error));
    for (size_t i = 1; i < N_NAMES; i++) {
        want = t_x(names[i]);
        t_ok(rowlock_lock(connection, &want, 1, 0, &t_error));
    }
    for (size_t i = 0; i < N_NAMES; i++) {
        want = t_x(names[i]);
        t_fails(rowlock_begin(other, &want, 1, 0, &t_error), EBUSY);
    }
    t_ok(rowlock_commit(connection, &t_error));
}
