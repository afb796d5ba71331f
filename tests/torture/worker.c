/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker prepare|settle|rows|run|exhaust|act WORKLOAD CLIENT SEED FOLDER: a client of a cell
 * (worker.h) on the database of ROWLOCK_TEST_URL.
 *
 *   prepare   installs the schema and creates the tables
 *   run       repeats the operation until SIGTERM; logs into FOLDER/client.CLIENT
 *   settle    after the faults: locks and leases each name, and logs whether it is free
 *   rows      through ODBC or JDBC: prints the rows of the clients as lines of a log
 *   exhaust   opens all sessions that the server allows, and closes them after a while
 *   act       is the command of `rowlock run` (workload_command.c)
 */
#include "torture/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/transport.h"

#define SETTLE_MS 30000
#define MOST_SESSIONS 500

volatile sig_atomic_t worker_stopped;
static int wake[2];

const struct workload workloads[] = {
    {"counter", turn_counters, 1, 1, "torture %d", 1, 0, 0, 0, 0},
    {"documents", turn_counters, 5, 3, "torture %d", 1, 0, 0, 0, 0},
    {"gapless", turn_drawn, 1, 1, "counter:torture %d", 1, 0, 0, 0, 0},
    {"lease", turn_lease, 2, 1, "torture %d", 1, 0, 0, 1, 0},
    {"fence", turn_lease, 2, 1, "torture %d", 1, 0, 0, 0, 1},
    {"permits", turn_lease, 1, 1, "torture %d", 0, 0, 1, 0, 0},
    {"shared", turn_lease, 1, 1, "torture %d", 1, 3, 0, 0, 0},
    {"tokens", turn_lease, 1, 1, "torture %d", 2, 1, 1, 0, 0},
    {"several", turn_several, 6, 3, "torture %d", 1, 0, 0, 0, 0},
    {"jobs", turn_job, 48, 1, "job:torture %d", 1, 0, 0, 0, 0},
    {"refresh", turn_refresh, 2, 1, "subject:torture %d", 1, 0, 0, 0, 0},
    {"command", turn_command, 3, 1, "torture %d", 1, 0, 0, 0, 0},
    {"cron", turn_cron, 24, 1, "job:torture %d", 1, 0, 0, 0, 0},
    {"sql-counter", turn_sql_counter, 1, 1, "torture %d", 1, 0, 0, 0, 0},
    {"sql-gapless", turn_sql_drawn, 1, 1, "counter:torture %d", 1, 0, 0, 0, 0},
    {"sql-fence", turn_sql_lease, 1, 1, "torture %d", 1, 0, 0, 0, 1},
    {"sql-tokens", turn_sql_lease, 1, 1, "torture %d", 2, 1, 1, 0, 0},
    {"sql-requests", turn_sql_request, 1, 1, "torture %d", 2, 1, 1, 0, 0},
    {"ways", turn_ways, 1, 1, "torture %d", 2, 1, 0, 0, 0},
    {"names", turn_names, 12, 1, NULL, 1, 0, 0, 0, 0},
    {"refused", turn_refused, 2, 1, "torture %d", 1, 0, 0, 0, 0},
    {"clients-counter", turn_client_counter, 1, 1, "torture %d", 1, 0, 0, 0, 0},
    {"clients-lease", turn_client_lease, 2, 1, "torture %d", 1, 0, 0, 1, 0},
    {"clients-fence", turn_client_lease, 8, 1, "torture %d", 1, 0, 0, 0, 10},
    {"clients-permits", turn_client_lease, 1, 1, "torture %d", 0, 0, 1, 0, 0},
    {"clients-shared", turn_client_lease, 1, 1, "torture %d", 1, 3, 0, 0, 0},
    {"clients-tokens", turn_client_lease, 1, 1, "torture %d", 2, 1, 1, 0, 0},
    {"clients-jobs", turn_client_job, 48, 1, "job:torture %d", 1, 0, 0, 0, 1},
    {NULL, NULL, 0, 0, NULL, 0, 0, 0, 0, 0},
};

const char *const worker_modes[] = {
    [ROWLOCK_EXCLUSIVE] = "exclusive", [ROWLOCK_SHARED] = "shared", [ROWLOCK_PERMIT] = "permit"};

int64_t worker_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int worker_draw(struct client *client, int n)
{
    client->seed = client->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((client->seed >> 33) % (uint64_t)n);
}

int worker_ttl_ms(void)
{
    const char *ms = getenv("TORTURE_TTL");

    return ms ? atoi(ms) : 1000;
}

void worker_pause(int64_t us)
{
    struct timespec span = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&span, NULL);
}

void worker_dwell(struct client *client)
{
    worker_pause(worker_draw(client, 16) ? worker_draw(client, 3000) : worker_draw(client, 200000));
}

void worker_outlast(struct client *client)
{
    if (!worker_draw(client, 64))
        worker_pause(worker_ttl_ms() * 1000 + worker_draw(client, 500000));
}

/* One write for each line, so that each logged event survives SIGKILL. */
void worker_log(struct client *client, enum phase phase, enum kind kind, int key,
                const char *format, ...)
{
    char line[300];
    int64_t now = worker_now();
    int length = snprintf(line, sizeof line, "%" PRId64 " %ld %ld %s %s %d ", now, client->id,
                          client->op, history_phases[phase], history_kinds[kind], key);
    va_list arguments;

    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    if (write(client->log, line, (size_t)length) != length)
        abort();
}

int worker_sql(struct client *client, int64_t *value, const char *format, ...)
{
    char text[300], answer[500] = "";
    va_list arguments;
    int code;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    code = t_engine()->sql(t_engine()->handle(client->connection), text, answer, sizeof answer);
    if (code)
        fprintf(stderr, "%s: %s\n", text, answer);
    else if (value)
        *value = strtoll(answer, NULL, 10);
    return code;
}

int worker_record(struct client *client, int key, int64_t value, int64_t token)
{
    return worker_sql(client, NULL,
                      "INSERT INTO torture_row (k, n, client, op, token) VALUES (%d, %" PRId64
                      ", %ld, %ld, %" PRId64 ")",
                      key, value, client->id, client->op, token);
}

int worker_write(struct client *client, int key, int64_t value, int64_t token)
{
    return worker_sql(client, NULL, "UPDATE torture_value SET n = %" PRId64 " WHERE k = %d", value,
                      key) ||
           worker_record(client, key, value, token);
}

int worker_add(struct client *client, int key, int64_t *value)
{
    if (worker_sql(client, value, "SELECT n FROM torture_value WHERE k = %d", key))
        return 1;
    if (!worker_draw(client, 4))
        worker_dwell(client);
    return worker_write(client, key, ++*value, 0);
}

/* Names that only their bytes distinguish: case, blanks, composition, the last of 255 bytes. */
#define TEN "xxxxxxxxxx"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG FIFTY FIFTY FIFTY FIFTY FIFTY "xxxx"
static const char *const unlike[] = {"a",        "A",  "a ", " a", "\xc3\xa1", "a\xcc\x81",
                                     "\xc3\x9f", "ss", "1",  "01", LONG "1",   LONG "2"};

const char *worker_name(const struct client *client, int key)
{
    static _Thread_local char names[8][40];
    static _Thread_local int next;
    char *name = names[next++ % 8];

    if (!client->workload->names)
        return unlike[key];
        /* the format is one of the table's */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(name, sizeof names[0], client->workload->names, key);
#pragma GCC diagnostic pop
    return name;
}

/* ---- the session ----------------------------------------------------------------------------- */

void worker_open(struct client *client)
{
    struct rowlock_options options = {
        .connect_ms = 10000, .statement_ms = 10000, .interrupt_fd = wake[0]};

    while (!worker_stopped &&
           rowlock_open(client->url, &options, &client->connection, &client->error)) {
        fprintf(stderr, "open: %s\n", client->error.text);
        worker_pause(50000);
    }
}

void worker_recover(struct client *client)
{
    struct rowlock_error ignored;

    if (client->error.code != ROWLOCK_EBUSY && client->error.code != ROWLOCK_ETIMEDOUT)
        fprintf(stderr, "%ld:%ld %s: %s\n", client->id, client->op,
                rowlock_error_name(client->error.code), client->error.text);
    worker_pause(1000); /* else the log of a client that always fails grows fast */
    if (worker_stopped || rowlock_ping(client->connection, &ignored) == 0)
        return;
    rowlock_close(client->connection);
    client->connection = NULL;
    worker_open(client);
}

static void on_term(int signal)
{
    (void)signal;
    worker_stopped = 1;
    while (write(wake[1], "!", 1) < 0 && errno == EINTR)
        ;
}

/* ---- the three calls ------------------------------------------------------------------------- */

static int prepare(struct client *client)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};

    if (rowlock_install(client->connection, &plan, &client->error)) {
        fprintf(stderr, "install: %s\n", client->error.text);
        return 1;
    }
    if (worker_sql(client, NULL,
                   "CREATE TABLE torture_value (k INTEGER NOT NULL PRIMARY KEY, "
                   "n INTEGER)") ||
        worker_sql(client, NULL,
                   "CREATE TABLE torture_row (k INTEGER, n INTEGER, client INTEGER, op INTEGER, "
                   "token BIGINT)"))
        return 1;
    for (int key = 0; key < client->workload->keys; key++)
        if (worker_sql(client, NULL, "INSERT INTO torture_value (k, n) VALUES (%d, 0)", key))
            return 1;
    return 0;
}

/* A transaction lock does not look at the queue of leases. */
static int lock_and_lease(struct client *client, const char *name)
{
    struct rowlock_want want = {.name = name};
    struct rowlock_terms terms = {.wait_ms = SETTLE_MS};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_begin(client->connection, &want, 1, SETTLE_MS, &client->error);

    if (!code)
        code = rowlock_rollback(client->connection, &client->error);
    if (!code)
        code = rowlock_acquire(client->connection, &want, 1, &terms, &lease, &client->error);
    if (!code)
        code = rowlock_release(lease, &client->error);
    rowlock_lease_free(lease);
    return code;
}

static int settle(struct client *client)
{
    for (int key = 0; key < client->workload->keys && !worker_stopped; key++) {
        int code;

        worker_log(client, PHASE_INVOKE, KIND_FREE, key, " ");
        code = lock_and_lease(client, worker_name(client, key));
        worker_log(client, code ? PHASE_FAIL : PHASE_OK, KIND_FREE, key, " ");
        if (code)
            fprintf(stderr, "settle: %s\n", client->error.text);
    }
    return 0;
}

static void print_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    int64_t number[5] = {0};

    (void)data;
    for (unsigned i = 0; i < n && i < 5; i++)
        number[i] = rowlock__value_number(&columns[i]);
    printf("0 %" PRId64 " %" PRId64 " ok final %" PRId64 " %" PRId64 " %" PRId64 "\n", number[0],
           number[1], number[2], number[3], number[4]);
}

static int rows(struct client *client)
{
    char answer[500] = "";
    int failed = transport_rows(t_engine()->handle(client->connection),
                                "SELECT client, op, k, n, token FROM torture_row ORDER BY k, n",
                                print_row, NULL, answer, sizeof answer);

    if (failed)
        fprintf(stderr, "rows: %s\n", answer);
    return failed;
}

static int exhaust(struct client *client)
{
    struct rowlock_options options = {.connect_ms = 2000};
    struct rowlock_connection *taken[MOST_SESSIONS];
    int n = 0;

    while (n < MOST_SESSIONS && !rowlock_open(client->url, &options, &taken[n], &client->error))
        n++;
    fprintf(stderr, "exhaust: %d sessions, then: %s\n", n, client->error.text);
    worker_pause(300000 + worker_draw(client, 700000));
    while (n > 0)
        rowlock_close(taken[--n]);
    return 0;
}

static int run(struct client *client)
{
    for (client->op = 1; !worker_stopped; client->op++)
        client->workload->turn(client);
    return 0;
}

static int open_log(const struct client *client, const char *folder)
{
    char path[500];

    snprintf(path, sizeof path, "%s/client.%ld", folder, client->id);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

int main(int argc, char **argv)
{
    struct client client = {.url = getenv("ROWLOCK_TEST_URL")};
    struct sigaction action = {.sa_handler = on_term};
    int code;

    if (argc != 6 || !client.url || pipe(wake)) {
        fprintf(stderr, "usage: worker prepare|settle|rows|run|exhaust|act WORKLOAD CLIENT SEED "
                        "FOLDER\n");
        return 64;
    }
    client.workload = workloads;
    while (client.workload->name && strcmp(client.workload->name, argv[2]) != 0)
        client.workload++;
    client.id = atol(argv[3]);
    client.seed = strtoull(argv[4], NULL, 10) * 1000003 + (uint64_t)client.id;
    client.outside = argv[5];
    client.log = open_log(&client, argv[5]);
    if (!client.workload->name || client.log < 0)
        return 64;
    if (strcmp(argv[1], "act") == 0)
        return act_command(&client);
    sigaction(SIGTERM, &action, NULL);
    if (strcmp(argv[1], "exhaust") == 0)
        return exhaust(&client);
    worker_open(&client);
    code = !client.connection                ? 0
           : strcmp(argv[1], "prepare") == 0 ? prepare(&client)
           : strcmp(argv[1], "settle") == 0  ? settle(&client)
           : strcmp(argv[1], "rows") == 0    ? rows(&client)
                                             : run(&client);
    rowlock_close(client.connection);
    return code;
}
