/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P10: a thousand waiters on one name. A handover wakes one of them, and a waiter costs the server
 * as many rows as one of ten.
 *
 * Runs on: postgresql/native
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"

#define MANY t_effort(200, 1000)
#define FEW 10
#define HANDOVERS t_effort(20, 40)
#define ENOUGH_MS 300000 /* for a thousand sessions to begin, on a busy machine */

struct crowd {
    const char *url;
    struct rowlock_want want;
    int fd; /* interrupts the waiters */
    atomic_int granted, failed, quit;
    char text[500];
};

/* Waits for the name and passes it on; each session does so once. */
static void *wait_once(void *data)
{
    struct crowd *crowd = data;
    struct rowlock_options options = {
        .connect_ms = ENOUGH_MS, .statement_ms = ENOUGH_MS, .interrupt_fd = crowd->fd};
    struct rowlock_terms terms = {.wait_ms = -1, .ttl_ms = 600000};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_open(crowd->url, &options, &connection, &error);

    if (!code)
        code = rowlock_acquire(connection, &crowd->want, 1, &terms, &lease, &error);
    if (!code) {
        atomic_fetch_add(&crowd->granted, 1);
        code = rowlock_release(lease, &error);
        rowlock_lease_free(lease);
    }
    /* the session stays open, so that pg_stat_activity still has it */
    while (!code && !atomic_load(&crowd->quit))
        t_pause(1);
    if (code && code != ROWLOCK_ECANCELED && !atomic_exchange(&crowd->failed, 1))
        snprintf(crowd->text, sizeof crowd->text, "%s", error.text);
    rowlock_close(connection);
    return NULL;
}

struct cost {
    double ms;   /* per handover */
    long awake;  /* sessions that began a statement meanwhile */
    double rows; /* that a transaction read, on average */
};

/* Sessions that wait for their turn, by the locks on which they wait: no row is read. */
static long asleep(void *hand)
{
    return atol(t_native_sql(hand, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                                   "AND NOT granted"));
}

/* Rows that the sessions of the crowd read in rowlock's tables, divided by their transactions. A
   session reports its counts at the latest when it ends. */
static double rows_per_transaction(void *hand)
{
    long long end = t_now() + ENOUGH_MS;

    while (atol(t_native_sql(hand, "SELECT count(*) FROM pg_stat_activity "
                                   "WHERE backend_type = 'client backend'")) > 2) {
        t_true(t_now() < end);
        t_pause(5);
    }
    return atof(t_native_sql(hand, "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 "
                                   "/ (SELECT xact_commit FROM pg_stat_database "
                                   "WHERE datname = current_database()) "
                                   "FROM pg_stat_user_tables WHERE schemaname = 'rowlock'"));
}

/* Lets `n` sessions wait, and the first `handovers` of them pass the name on. Returns the cost
   of one handover. */
static struct cost crowd_of(int n, int handovers, const char *url, void *hand,
                            struct rowlock_connection *one)
{
    char since[80];
    struct crowd crowd = {.url = url};
    struct cost cost;
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    pthread_attr_t attributes;
    struct rowlock_lease *lease;
    long long began, end = t_now() + ENOUGH_MS;
    int granted;
    const char *name = t_say("crowd of %d", n);

    crowd.want = t_x(name);
    crowd.fd = t_interrupt_fd();
    t_native_sql(hand, "SELECT pg_stat_reset()");
    lease = t_granted(one, crowd.want, 600000);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    for (int i = 0; i < n; i++)
        t_int(pthread_create(&threads[i], &attributes, wait_once, &crowd), 0);
    while (asleep(hand) < n) {
        t_text(crowd.text, "");
        t_true(t_now() < end);
        t_pause(1);
    }
    snprintf(since, sizeof since, "%s", t_native_sql(hand, "SELECT clock_timestamp()"));
    began = t_now();
    t_give(lease);
    while (atomic_load(&crowd.granted) < handovers) {
        t_text(crowd.text, "");
        t_true(t_now() < end);
        t_pause(1);
    }
    granted = atomic_load(&crowd.granted);
    cost.ms = (double)(t_now() - began) / granted;
    cost.awake =
        atol(t_native_sql(hand,
                          "SELECT count(*) FROM pg_stat_activity WHERE query_start > '%s' "
                          "AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
                          since));
    t_interrupt();
    atomic_store(&crowd.quit, 1);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    t_text(crowd.text, "");
    cost.rows = rows_per_transaction(hand);
    /* one waiter may have been granted the name, and interrupted during its release */
    t_ok(rowlock_break(one, name, 0, 1, NULL, &t_error));
    /* waiters that could not withdraw are found dead */
    t_ok(t_acquire(one, crowd.want, 0, 60000, &lease));
    t_give(lease);
    t_text(t_all_rows(hand), NO_ROWS);
    print_message("# %d waiters: %d hand-overs, each %.2f ms; %ld sessions woke; %.2f rows "
                  "read by a transaction\n",
                  n, granted, cost.ms, cost.awake, cost.rows);
    free(threads);
    return cost;
}

TEST(p10_a_hand_over_in_a_crowd_wakes_one)
{
    const char *name = extra_name("crowd");
    const char *url =
        extra_postgresql(name, "-c max_connections=1100 -c superuser_reserved_connections=3");
    struct rowlock_connection *one;
    struct cost few, many;
    void *hand;

    t_install_at(url);
    one = t_open_at(url, NULL);
    hand = t_native_at(url);
    few = crowd_of(FEW, FEW, url, hand, one);
    many = crowd_of(MANY, HANDOVERS, url, hand, one);
    /* the new holder and its successor, plus waiters whose slice of waiting just ended */
    t_true(many.awake < 3 * HANDOVERS + MANY / 5);
    /* a look reads at most 17 waiters, and one of ten reads fewer */
    t_true(many.rows < 2 * few.rows + 5);
    t_engine()->close(hand);
    t_close(one);
    extra_stop(name);
}
