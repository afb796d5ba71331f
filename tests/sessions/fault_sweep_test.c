/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth operation fails, for every N, until the whole scenario passes. The Nth batch gets an
 * error as its answer, or finds the session ended, or loses it afterwards; or the Nth memory
 * allocation fails. Each time the test checks the error code, the state of the transaction, that
 * the names are free for others, that the work exists completely or not at all, and (under the
 * sanitizers) that no memory leaks.
 *
 * Quick: first
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "driver/driver.h"
#include "lib/lease.h"
#include "lib/test.h"

#define MOST_FAULTS 500

enum fault { FAULT_NONE, FAULT_REFUSED, FAULT_LOST_BEFORE, FAULT_LOST_AFTER, FAULT_MEMORY };

static enum fault fault;
static int countdown, struck, armed;

/* 1: the next operation */
static int is_due(void)
{
    if (!armed || struck || --countdown > 0)
        return 0;
    return struck = 1;
}

/* ---- a driver whose Nth batch fails ---------------------------------------------------------- */

const struct rowlock_driver *__real_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error);
const struct rowlock_driver *__wrap_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error);
const struct rowlock_driver *__real_rowlock__driver_named(const char *name,
                                                          struct rowlock_error *error);
const struct rowlock_driver *__wrap_rowlock__driver_named(const char *name,
                                                          struct rowlock_error *error);

static const struct rowlock_driver *driver;
static struct rowlock_driver faulty;

/* Replaces the batch by a statement that the server refuses. */
static const struct rowlock_statement refused[] = {
    {"refused", "SELECT 1/0", 0, NULL, NULL},
    {"refused", "SIGNAL SQLSTATE '45000'", 0, NULL, NULL},
    {"refused", "SELECT no_such_function()", 0, NULL, NULL},
};

static int run_refused(struct rowlock_link *link, unsigned bracket,
                       const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
                       struct rowlock_error *error)
{
    int which = strcmp(driver->name, "postgresql") == 0 ? 0
                : strcmp(driver->name, "mariadb") == 0  ? 1
                                                        : 2;
    struct rowlock_call call = {.statement = &refused[which]};

    return driver->run(link, bracket, &call, 1, budget, outcome, error);
}

static void end_session(const struct rowlock_link *link)
{
    int fd = driver->socket(link);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

static int faulty_run(struct rowlock_link *link, unsigned bracket, struct rowlock_call *calls,
                      size_t n, const struct rowlock_budget *budget,
                      struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    int due = fault != FAULT_MEMORY && is_due(), code;

    if (due && fault == FAULT_REFUSED)
        return run_refused(link, bracket, budget, outcome, error);
    if (due && fault == FAULT_LOST_BEFORE)
        end_session(link);
    code = driver->run(link, bracket, calls, n, budget, outcome, error);
    if (due && fault == FAULT_LOST_AFTER)
        end_session(link);
    return code;
}

static const struct rowlock_driver *make_faulty(const struct rowlock_driver *found)
{
    if (!found)
        return NULL;
    driver = found;
    faulty = *found;
    faulty.run = faulty_run;
    return &faulty;
}

const struct rowlock_driver *__wrap_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error)
{
    return make_faulty(__real_rowlock__driver_for_url(url, error));
}

const struct rowlock_driver *__wrap_rowlock__driver_named(const char *name,
                                                          struct rowlock_error *error)
{
    return make_faulty(__real_rowlock__driver_named(name, error));
}

/* ---- the Nth allocation fails ---------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

static int no_memory(void)
{
    return fault == FAULT_MEMORY && is_due();
}

void *__wrap_malloc(size_t size)
{
    return no_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return no_memory() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return no_memory() ? NULL : __real_strdup(text);
}

/* ---- the scenario ---------------------------------------------------------------------------- */

static const struct rowlock_want wants[] = {{.name = "sweep one", .mode = ROWLOCK_EXCLUSIVE},
                                            {.name = "sweep two", .mode = ROWLOCK_EXCLUSIVE},
                                            {.name = "sweep three", .mode = ROWLOCK_EXCLUSIVE}};

enum step { OPEN, PREPARE, BEGIN, LOCK, COMMIT, AGAIN, ROLLBACK, TRY, PING, WARN, VACUUM, STEPS };
static const char *const step_names[] = {"open",   "prepare",     "begin",    "lock",
                                         "commit", "begin again", "rollback", "try",
                                         "ping",   "durability",  "vacuum"};

struct run {
    struct rowlock_connection *connection;
    int step, code, committed, unknown;
    struct rowlock_error error;
};

static int take_step(struct run *run)
{
    static const struct rowlock_want held = {.name = "sweep held", .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_options options = {.statement_ms = 5000};
    char *warning = NULL;
    int64_t removed;
    int code;

    switch (run->step) {
    case OPEN:
        return rowlock_open(t_url(), &options, &run->connection, &run->error);
    case PREPARE:
        return rowlock_prepare(run->connection, wants, 1, &run->error);
    case BEGIN:
        return rowlock_begin(run->connection, wants, 2, 5000, &run->error);
    case LOCK:
        return rowlock_lock(run->connection, &wants[2], 1, 5000, &run->error);
    case COMMIT:
        return rowlock_commit(run->connection, &run->error);
    case AGAIN:
        return rowlock_begin(run->connection, wants, 1, -1, &run->error);
    case ROLLBACK:
        return rowlock_rollback(run->connection, &run->error);
    case TRY: /* a refusal, with the statements that find the holder */
        code = rowlock_begin(run->connection, &held, 1, 0, &run->error);
        /* SQLite: a held name would lock the file, so no name is held there */
        if (code == ROWLOCK_OK)
            return rowlock_rollback(run->connection, &run->error);
        return code == ROWLOCK_EBUSY ? ROWLOCK_OK : code;
    case PING:
        return rowlock_ping(run->connection, &run->error);
    case WARN: /* the servers of the tests have such settings, so a missing warning is an error */
        code = rowlock_durability(run->connection, &warning, &run->error);
        if (code == ROWLOCK_OK && t_facts()->server && !warning)
            code = ROWLOCK_EDB;
        rowlock_free(warning);
        return code;
    default:
        return rowlock_vacuum(run->connection, &removed, &run->error);
    }
}

/* The application's own work, which must not be hit by the fault. */
static int work(const struct run *run)
{
    int failed;

    armed = 0;
    failed = t_try_sql(t_handle(run->connection), "INSERT INTO sweep_work VALUES (1)");
    armed = 1;
    return failed;
}

static void scenario(struct run *run)
{
    armed = 1;
    for (run->step = OPEN; run->step < STEPS; run->step++) {
        memset(&run->error, 0, sizeof run->error);
        run->code = take_step(run);
        if (run->code)
            break;
        if (run->step == LOCK && work(run))
            break;
        run->committed |= run->step == COMMIT;
    }
    armed = 0;
    run->unknown = run->step == COMMIT && run->code == ROWLOCK_EUNKNOWN;
}

/* ---- the expected state afterwards ----------------------------------------------------------- */

static int fits(const struct run *run)
{
    switch (fault) {
    case FAULT_REFUSED: /* the server answered with an error */
        return run->code == ROWLOCK_EDB || run->code == ROWLOCK_EABORTED;
    case FAULT_MEMORY:
        return run->code == ROWLOCK_ENOMEM;
    default:
        return run->code == ROWLOCK_ECONN || (run->code == ROWLOCK_EUNKNOWN && run->step == COMMIT);
    }
}

static int says_the_truth(const struct run *run)
{
    int open;

    if (!run->connection || run->error.transaction == ROWLOCK_TX_DEAD)
        return 1;
    open = t_engine()->in_transaction(t_handle(run->connection));
    switch (run->error.transaction) {
    case ROWLOCK_TX_NONE:
    case ROWLOCK_TX_GONE:
        return !open;
    default:
        return open;
    }
}

static void check_run(const struct run *run, int n)
{
    if (run->code == 0)
        return;
    t_error = run->error;
    if (!fits(run) || !says_the_truth(run) || run->error.text[0] == '\0' ||
        run->error.code != run->code)
        t_fail(__FILE__, __LINE__, "fault %d at the %dth: %s says %s, transaction %d: %s",
               (int)fault, n, step_names[run->step], rowlock_error_name(run->code),
               (int)run->error.transaction, run->error.text);
}

static void check_world(struct rowlock_connection *witness, const struct run *run)
{
    long rows;

    for (int i = 0; i < 3; i++)
        t_lock_once(witness, wants[i], T_TIMEOUT_MS);
    rows = atol(t_sql(witness, "SELECT count(*) FROM sweep_work"));
    if (run->unknown)
        t_true(rows == 0 || rows == 1);
    else
        t_int(rows, run->committed);
}

static void sweep(enum fault kind)
{
    struct rowlock_connection *witness = t_open(), *holder = t_open();
    void *hand = t_native();
    struct run run = {0};
    int n, server = t_facts()->server;

    t_sql(witness, "CREATE TABLE IF NOT EXISTS sweep_work (n INTEGER)");
    if (server)
        t_ok(t_begin(holder, t_x("sweep held"), 0));
    for (n = 1; n < MOST_FAULTS; n++) {
        t_sql(witness, "DELETE FROM sweep_work");
        lease_put(hand, 30000 + n, "sweep two", "exclusive", -1000);
        lease_put(hand, 40000 + n, "sweep three", "exclusive", -1000);
        memset(&run, 0, sizeof run);
        fault = kind;
        countdown = n;
        struck = 0;
        scenario(&run);
        check_run(&run, n);
        fault = FAULT_NONE;
        rowlock_close(run.connection);
        check_world(witness, &run);
        if (!struck)
            break;
    }
    t_int(run.code, 0);
    t_int(run.step, STEPS);
    t_true(n > 5 && n < MOST_FAULTS);
}

TEST(the_nth_batch_is_refused)
{
    sweep(FAULT_REFUSED);
}

TEST(the_nth_batch_finds_the_session_ended)
{
    if (t_facts()->server)
        sweep(FAULT_LOST_BEFORE);
}

TEST(the_session_ends_after_the_nth_batch)
{
    if (t_facts()->server)
        sweep(FAULT_LOST_AFTER);
}

TEST(the_nth_piece_of_memory_is_not_there)
{
    sweep(FAULT_MEMORY);
}
