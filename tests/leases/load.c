/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1, P6 under load: clients acquire and release as fast as they can, in all modes. Some of them
 * die. A detector notices holders that overlap.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: postgresql/native mariadb/row
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/overlap.h"

#define MOST_CLIENTS 8
#define CLIENTS (t_is_jdbc() ? 4 : MOST_CLIENTS) /* each starts a JVM */
#define SHORT_MS 1000 /* the ttl of clients that only hold the lease, and die */
/*
 * The ttl of clients that write under the lease, and how much of it must be left before a write.
 * Without a fence the ttl is the only protection, and a busy machine may pause a client between its
 * check of the clock and the write.
 */
#define LONG_MS 30000
#define ENOUGH_MS 20000

struct load {
    struct overlap *overlap;
    const char *prefix;
    int number, names, turns;
};

static struct rowlock_want random_want(const char *name)
{
    switch (rand() % 4) {
    case 0:
        return t_s(name);
    case 1:
        return t_p(name, 3, 1 + rand() % 2);
    default:
        return t_x(name);
    }
}

/* Holds one or two names briefly. Two of the clients die before they release their last
   lease. */
static int turn(const struct load *load, struct rowlock_connection *connection, int dies)
{
    int first = rand() % load->names, second = rand() % load->names, places[2] = {0, 0};
    char names[2][40];
    struct rowlock_want wants[2];
    size_t n = first != second && rand() % 3 == 0 ? 2 : 1;
    struct rowlock_terms terms = {.ttl_ms = dies ? SHORT_MS : 30000, .wait_ms = -1};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error = {0};
    int code;

    snprintf(names[0], sizeof names[0], "%s %d", load->prefix, first);
    snprintf(names[1], sizeof names[1], "%s %d", load->prefix, second);
    wants[0] = random_want(names[0]);
    wants[1] = random_want(names[1]);
    if (rand() % 8 == 0)
        terms.wait_ms = rand() % 2 ? 0 : 20;
    code = rowlock_acquire(connection, wants, n, &terms, &lease, &error);
    if (terms.wait_ms >= 0 && (code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT))
        return 0;
    if (!code) {
        places[0] = overlap_enter(load->overlap, first, wants[0], lease);
        if (n == 2)
            places[1] = overlap_enter(load->overlap, second, wants[1], lease);
        if (dies)
            raise(SIGKILL);
        sched_yield();
        overlap_leave(load->overlap, places[0]);
        if (n == 2)
            overlap_leave(load->overlap, places[1]);
        code = rowlock_release(lease, &error);
        rowlock_lease_free(lease);
    }
    if (code)
        overlap_failed(load->overlap, &error);
    return code;
}

static int client(const void *data, int to)
{
    const struct load *load = data;
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(t_url(), t_usual(), &connection, &error), dies = load->number % 4 == 3;

    (void)to;
    srand((unsigned)load->number + 7);
    if (code)
        overlap_failed(load->overlap, &error);
    for (int i = 0; !code && i < load->turns; i++)
        code = turn(load, connection, dies && i == load->turns / 2);
    rowlock_close(connection);
    return code != 0;
}

/* ---- deadlocks: the library retries, so only the server's counters show them ----------------- */

static int is(const char *engine)
{
    return strcmp(t_facts()->engine, engine) == 0;
}

/* InnoDB's technique insert cannot avoid them (docs/internals/techniques.md). SQLite has none; H2,
   HSQLDB and Derby do not count them. */
static int may_deadlock(void)
{
    return !t_facts()->server || t_facts()->begins_meet || t_engine()->sessions;
}

/* MariaDB counts deadlocks of all databases together, so this program has a server of its own. */
static void own_server(void)
{
    static int started;
    const char *name = extra_name("load"), *url;

    if (started || !is("mariadb") || may_deadlock())
        return;
    started = 1;
    url = extra_mariadb(name, "");
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'GRANT PROCESS ON *.* TO rowlock'", name);
    if (t_facts()->plain)
        url = extra_shell("transport_url mariadb odbc '%s'", url);
    setenv("ROWLOCK_TEST_URL", url, 1);
    setenv("ROWLOCK_TEST_ADMIN", url, 1);
}

/* PostgreSQL's sessions report their statistics when they end. */
static long deadlocks(void *hand)
{
    if (may_deadlock())
        return 0;
    return atol(
        t_native_sql(hand, "%s",
                     is("postgresql") ? "SELECT deadlocks FROM pg_stat_database WHERE datname = "
                                        "current_database()"
                     : t_is_mysql()   ? "SELECT count FROM information_schema.innodb_metrics "
                                        "WHERE name = 'lock_deadlocks'"
                                    : "SELECT variable_value FROM information_schema.global_status "
                                      "WHERE variable_name = 'INNODB_DEADLOCKS'"));
}

static void run_load(const char *prefix, int names, int turns)
{
    struct load load = {
        .overlap = overlap_new(3), .prefix = prefix, .names = names, .turns = turns};
    struct child children[MOST_CLIENTS];
    struct rowlock_connection *one;
    void *hand;
    long long began = t_now();
    int64_t removed;
    long before;
    int sessions;

    own_server();
    one = t_open();
    hand = t_native();
    before = deadlocks(hand);
    sessions = t_facts()->server ? t_sessions() : 0;
    for (load.number = 0; load.number < CLIENTS; load.number++)
        children[load.number] = t_child(client, &load);
    for (int i = 0; i < CLIENTS; i++) {
        int status = t_await_child(&children[i]);

        t_true(status == 0 || status == 128 + SIGKILL || load.overlap->code);
    }
    overlap_check(load.overlap);
    if (t_facts()->server)
        t_until_sessions(sessions);
    t_int(deadlocks(hand) - before, 0);
    print_message("# %d grants in %lld ms\n", load.overlap->entered, t_now() - began);
    t_int(t_odd_rows(hand), 0);
    t_text(t_native_sql(hand, "SELECT count(*) FROM %s", waiter_table()), "0");
    /* until the leases of the dead clients expire */
    while (strcmp(t_all_rows(hand), NO_ROWS) != 0) {
        t_ok(rowlock_vacuum(one, &removed, &t_error));
        t_true(t_now() < began + 60000);
    }
}

TEST(p1_eight_clients_on_three_names)
{
    run_load("three", 3, t_effort(15, 30));
}

TEST(p1_eight_clients_on_a_hundred_names)
{
    run_load("hundred", 100, t_effort(20, 40));
}

/* ---- a file under one lock ------------------------------------------------------------------- */

#define MOST_WORKERS 12
#define WORKERS (t_is_jdbc() ? 4 : MOST_WORKERS)
#define WRITES t_effort(10, 25)
#define VICTIMS 3

struct file_work {
    char path[300]; /* of a file of lines "1\n2\n3\n", each padded to 8 bytes */
    struct overlap *overlap;
    atomic_int *done;
    int victim; /* 1: the parent kills it; 2, 3: it kills itself before, after it has written */
    pid_t dead[VICTIMS + 1];
    int n_dead;
};

/* Appends the successor of the last number. Two overlapping clients would write one number
   twice. */
static int append_next(int file)
{
    char record[16] = "00000000";
    off_t end = lseek(file, 0, SEEK_END);

    if (end > 0 && pread(file, record, 8, end - 8) != 8)
        return -1;
    sched_yield();
    snprintf(record, sizeof record, "%07d\n", atoi(record) + 1);
    return write(file, record, 8) == 8 ? 0 : -1;
}

static int file_worker(const void *data, int to)
{
    const struct file_work *work = data;
    int ttl_ms = work->victim == 2 ? SHORT_MS : LONG_MS;
    struct rowlock_terms terms = {.ttl_ms = ttl_ms, .wait_ms = -1};
    struct rowlock_want want = t_x("the file");
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    struct rowlock_lease *lease = NULL;
    int file = open(work->path, O_RDWR | O_APPEND);
    int code = rowlock_open(t_url(), t_usual(), &connection, &error);

    for (int i = 0; !code && (work->victim || i < WRITES);) {
        code = rowlock_acquire(connection, &want, 1, &terms, &lease, &error);
        if (code)
            break;
        if (work->victim == 2)
            raise(SIGKILL);
        if (rowlock_remaining(lease) >
            ENOUGH_MS) { /* else the grant's reply came late: do not write */
            if (append_next(file))
                return 1;
            if (work->victim == 3)
                raise(SIGKILL);
            i++;
        }
        code = rowlock_release(lease, &error);
        code = code == ROWLOCK_ELOST ? 0 : code;
        rowlock_lease_free(lease);
    }
    if (code)
        overlap_failed(work->overlap, &error);
    atomic_fetch_add(work->done, 1);
    return write(to, "!", 1) != 1 || code != 0;
}

/* The leases of that process. */
static void expire_those_of(void *hand, int pid)
{
    t_try_sql(hand,
              "UPDATE %s SET expires = %s WHERE token IN (SELECT token FROM %s WHERE pid = %ld)",
              lease_heartbeat_table_of(1), lease_instant(-1000), lease_table_of(1), (long)pid);
    if (lease_has_views())
        t_try_sql(hand, "UPDATE rowlock_name SET expires = %s WHERE held = 1 AND pid = %ld",
                  lease_instant(-1000), (long)pid);
}

/*
 * Waits until the child has ended or reported. The leases of dead clients are expired at once, to
 * save their ttl. This is repeated, because a dead client's last COMMIT may arrive late, and SQLite
 * may be busy.
 */
static void outlive(const struct child *child, void *hand, const struct file_work *work)
{
    while (!t_has_spoken(child)) {
        for (int i = 0; i < work->n_dead; i++)
            expire_those_of(hand, work->dead[i]);
        t_pause(20);
    }
}

/* Kills waiters and holders, wherever they are by then. One lease is left to expire by itself. */
static void kill_some(struct file_work *work, void *hand)
{
    struct timespec pause = {0, 0};
    struct child victims[2];

    for (int i = 0; i < 2; i++) {
        work->victim = 2 + i;
        victims[i] = t_child(file_worker, work);
    }
    work->victim = 1;
    for (int i = 0; i < VICTIMS; i++) {
        struct child victim = t_child(file_worker, work);

        pause.tv_nsec = 60000000 + rand() % 100000000;
        nanosleep(&pause, NULL);
        t_end_child(&victim, SIGKILL);
        work->dead[work->n_dead++] = victim.pid;
    }
    for (int i = 1; i >= 0; i--) {
        outlive(&victims[i], hand, work);
        t_int(t_await_child(&victims[i]), 128 + SIGKILL);
        if (i == 1)
            work->dead[work->n_dead++] = victims[i].pid;
    }
}

/* Returns how many numbers the file has; checks that each occurs once, in order. */
static int count_numbers(const char *path)
{
    FILE *file = fopen(path, "r");
    int number, last = 0;

    t_true(file != NULL);
    while (fscanf(file, "%d", &number) == 1)
        t_int(number, ++last);
    fclose(file);
    return last;
}

TEST(p1_a_file_under_one_lock_is_exact_though_processes_are_killed)
{
    struct file_work work = {.overlap = overlap_new(0)};
    struct child workers[MOST_WORKERS];
    int file, numbers;
    void *hand;
    long long began = t_now();

    snprintf(work.path, sizeof work.path, "%s/file", getenv("ROWLOCK_TEST_TEMP"));
    file = open(work.path, O_CREAT | O_RDWR, 0600);
    t_true(file >= 0);
    close(file);
    work.done = t_shared(sizeof *work.done);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = t_child(file_worker, &work);
    hand = t_native();
    kill_some(&work, hand);
    for (int i = 0; i < WORKERS; i++) {
        outlive(&workers[i], hand, &work);
        t_int(t_await_child(&workers[i]), 0);
    }
    overlap_check(work.overlap);
    t_int(atomic_load(work.done), WORKERS);
    numbers = count_numbers(work.path);
    print_message("# %d numbers in %lld ms\n", numbers, t_now() - began);
    t_true(numbers >= WORKERS * WRITES + 1);
    t_until_free(t_x("the file"), T_TIMEOUT_MS);
    t_int(t_odd_rows(hand), 0);
    t_forget_leases(hand);
}

/* ---- a semaphore ----------------------------------------------------------------------------- */

#define PERMITS 3

/* Inside, it waits until all permits have been taken at the same time once. */
static int semaphore_worker(const void *data, int to)
{
    struct overlap *overlap = *(struct overlap *const *)data;
    struct rowlock_terms terms = {.wait_ms = -1};
    struct rowlock_want want = t_p("semaphore", PERMITS, 1);
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_open(t_url(), t_usual(), &connection, &error);

    for (int i = 0; !code && i < 5; i++) {
        int place;

        code = rowlock_acquire(connection, &want, 1, &terms, &lease, &error);
        if (code)
            break;
        place = overlap_enter(overlap, 0, want, lease);
        for (int n = 0; n < 10000 && overlap->most_permits < PERMITS; n++)
            t_pause(1);
        sched_yield();
        overlap_leave(overlap, place);
        code = rowlock_release(lease, &error);
        rowlock_lease_free(lease);
    }
    if (code)
        overlap_failed(overlap, &error);
    return write(to, "!", 1) != 1 || code != 0;
}

TEST(p1_a_semaphore_is_never_over_its_limit_and_reaches_it)
{
    struct overlap *overlap = overlap_new(PERMITS);
    struct child workers[MOST_WORKERS];
    long long began = t_now();

    for (int i = 0; i < WORKERS; i++)
        workers[i] = t_child(semaphore_worker, &overlap);
    for (int i = 0; i < WORKERS; i++)
        t_int(t_await_child(&workers[i]), 0);
    overlap_check(overlap);
    print_message("# %d permits in %lld ms\n", overlap->entered, t_now() - began);
    t_int(overlap->entered, WORKERS * 5);
    t_int(overlap->most_permits, PERMITS);
    t_text(t_all_rows(t_native()), NO_ROWS);
}
