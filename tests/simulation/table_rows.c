/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated database as an observer reads it, and the work that clients do in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/table.h"

static void must(int code, const struct rowlock_error *error)
{
    if (!code)
        return;
    fprintf(stderr, "simulation: %s\n", error->text);
    exit(1);
}

/* Installs the schema as on any database. Its tables stay for all histories and engines. */
static void install(void)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;

    must(rowlock_open(table_url(), NULL, &connection, &error), &error);
    must(rowlock_install(connection, NULL, &error), &error);
    rowlock_close(connection);
    table_create("CREATE TABLE work (name VARCHAR(510), token BIGINT, value BIGINT, "
                 "client BIGINT, op BIGINT, PRIMARY KEY (name, client, op))");
}

struct rowlock_value *table_drawn(void)
{
    struct table *table = table_of("rowlock_number");

    return &table->row[0].committed->column[table_column(table, "drawn", 5)];
}

static void reset(void)
{
    static const char *const emptied[] = {
        "rowlock_name", "rowlock_lease",   "rowlock_heartbeat", "rowlock_waiter",  "rowlock_job",
        "rowlock_run",  "rowlock_subject", "rowlock_expiry",    "rowlock_history", "work"};

    sim.calm =
        true; /* the first history installs, and must not draw more numbers than later ones */
    table_choose(sim.kind->store == &functions_store ? TABLE_MARIADB : (unsigned)sim.seed);
    if (!table_of("rowlock_meta"))
        install();
    for (size_t i = 0; i < sizeof emptied / sizeof *emptied; i++)
        table_empty(emptied[i]);
    *table_drawn() = rowlock__int_value(0);
    sim.calm = false;
}

/* ---- the observer ---------------------------------------------------------------------------- */

static const struct rowlock_value *value_of(const struct table *table,
                                            const struct table_version *version, const char *column)
{
    return &version->column[table_column(table, column, strlen(column))];
}

int64_t table_number(const struct table *table, const struct table_version *version,
                     const char *column)
{
    return rowlock__value_number(value_of(table, version, column));
}

static void copy_text(const struct rowlock_value *value, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)value->length, value->bytes);
}

/* A name of the simulation is one letter: two hexadecimal digits. */
static void copy_name(const struct rowlock_value *value, char out[8])
{
    char digits[8];

    copy_text(value, digits, sizeof digits);
    snprintf(out, 8, "%c", (int)strtol(digits, NULL, 16));
}

static enum rowlock_mode mode_of(const struct rowlock_value *kind)
{
    return *kind->bytes == 'x'   ? ROWLOCK_EXCLUSIVE
           : *kind->bytes == 's' ? ROWLOCK_SHARED
                                 : ROWLOCK_PERMIT;
}

static void read_heartbeat(struct sim_row *row)
{
    struct table *table = table_of("rowlock_heartbeat");

    for (size_t i = 0; i < table->n; i++) {
        const struct table_version *version = table->row[i].committed;

        if (!version || table_number(table, version, "token") != row->token)
            continue;
        row->heartbeat = true;
        row->expires = table_number(table, version, "expires");
        row->stop = table_number(table, version, "stop") != 0;
    }
}

/* The permits of a lease are one row here. */
static struct sim_row *lease_row(struct sim_rows *rows, int64_t token, const char *name)
{
    for (size_t i = 0; i < rows->leases; i++)
        if (rows->lease[i].token == token && strcmp(rows->lease[i].name, name) == 0)
            return &rows->lease[i];
    if (rows->leases == SIM_ROWS)
        return &rows->lease[SIM_ROWS - 1];
    rows->lease[rows->leases] = (struct sim_row){.token = token};
    snprintf(rows->lease[rows->leases].name, sizeof rows->lease->name, "%s", name);
    return &rows->lease[rows->leases++];
}

static void read_lease(struct sim_rows *rows, const struct table *table,
                       const struct table_version *version)
{
    struct sim_row *row;
    char name[8];

    copy_name(value_of(table, version, "name"), name);
    row = lease_row(rows, table_number(table, version, "token"), name);
    row->mode = mode_of(value_of(table, version, "kind"));
    copy_text(value_of(table, version, "owner"), row->owner, sizeof row->owner);
    row->limit = (int)table_number(table, version, "permits");
    if (!row->count++)
        read_heartbeat(row);
}

static int by_token(const void *a, const void *b)
{
    const struct sim_row *left = a, *right = b;
    int order = (left->token > right->token) - (left->token < right->token);

    return order ? order : strcmp(left->name, right->name);
}

static void read_waiter(struct sim_rows *rows, const struct table *table,
                        const struct table_version *version)
{
    struct sim_waiter *row = &rows->waiter[rows->waiters];

    if (rows->waiters == SIM_ROWS)
        return;
    row->ticket = table_number(table, version, "ticket");
    copy_name(value_of(table, version, "name"), row->name);
    row->mode = mode_of(value_of(table, version, "kind"));
    copy_text(value_of(table, version, "owner"), row->owner, sizeof row->owner);
    row->seen = table_number(table, version, "alive_until");
    rows->waiters++;
}

static bool read_rows(struct sim_rows *rows)
{
    const struct table *leases = table_of("rowlock_lease"), *waiters = table_of("rowlock_waiter");
    const struct table *heartbeats = table_of("rowlock_heartbeat");

    rows->leases = rows->waiters = rows->heartbeats = 0;
    for (size_t i = 0; i < leases->n; i++)
        if (leases->row[i].committed)
            read_lease(rows, leases, leases->row[i].committed);
    qsort(rows->lease, rows->leases, sizeof *rows->lease, by_token);
    for (size_t i = 0; i < waiters->n; i++)
        if (waiters->row[i].committed)
            read_waiter(rows, waiters, waiters->row[i].committed);
    for (size_t i = 0; i < heartbeats->n; i++)
        rows->heartbeats += heartbeats->row[i].committed != NULL;
    return true;
}

/* ---- inside a client's own transaction ------------------------------------------------------- */

static void greatest_number(void *data, const struct rowlock_value *columns, unsigned n)
{
    int64_t *greatest = data;

    if (n > 0 && rowlock__value_number(&columns[0]) > *greatest)
        *greatest = rowlock__value_number(&columns[0]);
}

static int ask(struct sim_client *client, const char *text, struct rowlock_value *values,
               int64_t *greatest)
{
    struct rowlock_connection *connection = client->connection;
    struct rowlock_statement statement = {.name = "work", .text = text};
    struct rowlock_call call = {.statement = &statement,
                                .values = values,
                                .row = greatest ? greatest_number : NULL,
                                .data = greatest};
    struct rowlock_budget budget = {INT64_MAX, -1, 0};
    struct rowlock_outcome outcome;

    return connection->driver->run(connection->link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome,
                                   NULL);
}

static struct rowlock_value key_of(const char *name, char out[3])
{
    snprintf(out, 3, "%02X", *name);
    return rowlock__text_value(out);
}

static bool begin(struct sim_client *client)
{
    struct rowlock_connection *connection = client->connection;
    struct rowlock_budget budget = {INT64_MAX, -1, 0};
    struct rowlock_outcome outcome;

    return connection->driver->run(connection->link, ROWLOCK_BEGIN, NULL, 0, &budget, &outcome,
                                   NULL) == ROWLOCK_OK;
}

static bool has_lease(struct sim_client *client, const char *name, int64_t token)
{
    struct sim_rows rows;

    (void)client;
    read_rows(&rows);
    for (size_t i = 0; i < rows.leases; i++)
        if (rows.lease[i].token == token && strcmp(rows.lease[i].name, name) == 0)
            return true;
    return false;
}

/* The transaction's own sweep is not committed, so expired leases do not count. */
static bool is_leased(struct sim_client *client, const char *name, bool but_shared)
{
    struct sim_rows rows;

    (void)client;
    read_rows(&rows);
    for (size_t i = 0; i < rows.leases; i++)
        if (strcmp(rows.lease[i].name, name) == 0 && rows.lease[i].heartbeat &&
            rows.lease[i].expires > sim_database_ms() &&
            !(but_shared && rows.lease[i].mode == ROWLOCK_SHARED))
            return true;
    return false;
}

static int64_t write_work(struct sim_client *client, const char *name, int64_t token, long op)
{
    char key[3];
    struct rowlock_value values[] = {key_of(name, key), rowlock__int_value(token),
                                     rowlock__int_value(0), rowlock__int_value(client->id),
                                     rowlock__int_value(op)};
    int64_t value = 0;

    if (ask(client, "SELECT value FROM work WHERE name = ?", values, &value))
        return 0;
    values[2] = rowlock__int_value(++value);
    if (ask(client, "INSERT INTO work (name, token, value, client, op) VALUES (?, ?, ?, ?, ?)",
            values, NULL))
        return 0;
    return value;
}

static size_t written(struct sim_written *rows, size_t room)
{
    const struct table *work = table_of("work");
    size_t n = 0;

    for (size_t i = 0; i < work->n && n < room; i++) {
        const struct table_version *version = work->row[i].committed;

        if (!version)
            continue;
        copy_name(value_of(work, version, "name"), rows[n].name);
        rows[n].value = table_number(work, version, "value");
        rows[n].token = table_number(work, version, "token");
        rows[n].client = (long)table_number(work, version, "client");
        rows[n++].op = (long)table_number(work, version, "op");
    }
    return n;
}

#define STORE(url_)                                                                               \
    {                                                                                             \
        .url = (url_), .reset = reset, .read = read_rows, .begin = begin, .has_lease = has_lease, \
        .is_leased = is_leased, .write = write_work, .written = written                           \
    }

const struct sim_store table_store = STORE(table_url);
const struct sim_store functions_store = STORE(functions_url);

/* ---- the kinds of histories ------------------------------------------------------------------ */

/* A step is many statements here, each of which can fail. */
static void adapt(void)
{
    sim.temper.stop /= 8;
    sim.temper.crash /= 8;
    sim.temper.lose /= 8;
    sim.temper.lose_reply /= 4;
    sim.temper.slow /= 8;
}

static void adapt_functions(void)
{
    adapt();
    sim.temper.sessions = true;
    sim.temper.pooled = sim.temper.frozen = false;
}

#define KIND(name_, store_, adapt_)                                                       \
    {                                                                                     \
        .name = (name_), .store = (store_), .clients = SIM_CLIENTS, .most_steps = 300000, \
        .check_committed = check_committed, .name_client = check_name_client,             \
        .draw_stop = sim_draw_stop, .history = sim_history, .adapt = (adapt_)             \
    }

const struct sim_kind sim_tables = KIND("tables", &table_store, adapt);
const struct sim_kind sim_functions = KIND("functions", &functions_store, adapt_functions);
