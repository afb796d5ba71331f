/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tables of leases and waiters as an observer (sim.h). */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rowlock/sqlite.h"
#include "simulation/sim.h"

#define WORK                                                                                  \
    "CREATE TABLE work (name TEXT, token INTEGER, value INTEGER, client INTEGER, op INTEGER," \
    " PRIMARY KEY (name, client, op))"

sqlite3 *rows_observer;
static sqlite3_stmt *leases, *waiters, *heartbeats, *work;
static char url[300];

void rows_must(int code, const char *what)
{
    if (code == SQLITE_OK)
        return;
    fprintf(stderr, "simulation: %s: %s\n", what, sqlite3_errmsg(rows_observer));
    exit(1);
}

sqlite3_stmt *rows_prepare(const char *text)
{
    sqlite3_stmt *stmt = NULL;

    rows_must(sqlite3_prepare_v3(rows_observer, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL),
              text);
    return stmt;
}

const char *rows_url(void)
{
    return url;
}

void rows_open(const char *folder)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;

    snprintf(url, sizeof url, "sqlite:%s/simulation.db", folder);
    rows_must(sqlite3_open(strchr(url, ':') + 1, &rows_observer), "open");
    if (rowlock_open(url, NULL, &connection, &error) || rowlock_install(connection, NULL, &error)) {
        fprintf(stderr, "simulation: %s\n", error.text);
        exit(1);
    }
    rowlock_close(connection);
    rows_must(sqlite3_exec(rows_observer, WORK, NULL, NULL, NULL), WORK);
    leases = rows_prepare(
        "SELECT l.token, l.name, l.mode, l.owner, count(*), max(l.\"limit\"), b.expires, b.stop"
        "  FROM rowlock_lease l LEFT JOIN rowlock_heartbeat b USING (token)"
        " GROUP BY l.token, l.name ORDER BY l.token, l.name");
    waiters = rows_prepare("SELECT ticket, name, mode, owner, alive_until FROM rowlock_waiter");
    work = rows_prepare("SELECT name, value, token, client, op FROM work");
    heartbeats = rows_prepare("SELECT count(*) FROM rowlock_heartbeat");
}

void rows_close(void)
{
    sqlite3_finalize(leases);
    sqlite3_finalize(waiters);
    sqlite3_finalize(heartbeats);
    sqlite3_finalize(work);
    sqlite3_close(rows_observer);
    unlink(strchr(url, ':') + 1); /* the driver creates the file, but writes nothing to it */
}

/* Deletes rows only, so that connections keep their compiled statements between histories. */
static void rows_reset(void)
{
    rows_must(sqlite3_exec(rows_observer,
                           "BEGIN; DELETE FROM rowlock_lease; DELETE FROM rowlock_heartbeat;"
                           "DELETE FROM rowlock_waiter; UPDATE rowlock_number SET last = 0;"
                           "DELETE FROM rowlock_history; DELETE FROM work; COMMIT",
                           NULL, NULL, NULL),
              "emptying the tables");
}

static enum rowlock_mode mode_of(const unsigned char *text)
{
    return *text == 'e' ? ROWLOCK_EXCLUSIVE : *text == 's' ? ROWLOCK_SHARED : ROWLOCK_PERMIT;
}

static void read_lease(sqlite3_stmt *s, struct sim_row *row)
{
    row->token = sqlite3_column_int64(s, 0);
    snprintf(row->name, sizeof row->name, "%s", (const char *)sqlite3_column_text(s, 1));
    row->mode = mode_of(sqlite3_column_text(s, 2));
    snprintf(row->owner, sizeof row->owner, "%s", (const char *)sqlite3_column_text(s, 3));
    row->count = sqlite3_column_int(s, 4);
    row->limit = sqlite3_column_int(s, 5);
    row->heartbeat = sqlite3_column_type(s, 6) != SQLITE_NULL;
    row->expires = sqlite3_column_int64(s, 6);
    row->stop = sqlite3_column_int(s, 7) != 0;
}

static void read_waiter(sqlite3_stmt *s, struct sim_waiter *row)
{
    row->ticket = sqlite3_column_int64(s, 0);
    snprintf(row->name, sizeof row->name, "%s", (const char *)sqlite3_column_text(s, 1));
    row->mode = mode_of(sqlite3_column_text(s, 2));
    snprintf(row->owner, sizeof row->owner, "%s", (const char *)sqlite3_column_text(s, 3));
    row->seen = sqlite3_column_type(s, 4) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 4);
}

static bool rows_read(struct sim_rows *rows)
{
    int code;

    rows->leases = rows->waiters = rows->heartbeats = 0;
    while ((code = sqlite3_step(leases)) == SQLITE_ROW && rows->leases < SIM_ROWS)
        read_lease(leases, &rows->lease[rows->leases++]);
    sqlite3_reset(leases);
    if (code != SQLITE_DONE)
        return false;
    while ((code = sqlite3_step(waiters)) == SQLITE_ROW && rows->waiters < SIM_ROWS)
        read_waiter(waiters, &rows->waiter[rows->waiters++]);
    sqlite3_reset(waiters);
    if (code == SQLITE_DONE && sqlite3_step(heartbeats) == SQLITE_ROW)
        rows->heartbeats = (size_t)sqlite3_column_int64(heartbeats, 0);
    sqlite3_reset(heartbeats);
    return code == SQLITE_DONE;
}

/* ---- inside a client's own transaction ------------------------------------------------------- */

/* The first column, or 0. */
static int64_t rows_ask(struct sim_client *client, const char *text, const char *name,
                        int64_t number)
{
    sqlite3_stmt *stmt = NULL;
    int64_t answer = 0;

    if (sqlite3_prepare_v2(rowlock_sqlite_handle(client->connection), text, -1, &stmt, NULL) !=
        SQLITE_OK)
        return 0;
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, number);
    if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        answer = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return answer;
}

static bool begin(struct sim_client *client)
{
    return sqlite3_exec(rowlock_sqlite_handle(client->connection), "BEGIN", NULL, NULL, NULL) ==
           SQLITE_OK;
}

static bool has_lease(struct sim_client *client, const char *name, int64_t token)
{
    return rows_ask(client, "SELECT 1 FROM rowlock_lease WHERE name = ?1 AND token = ?2", name,
                    token) != 0;
}

static bool is_leased(struct sim_client *client, const char *name, bool but_shared)
{
    return rows_ask(client,
                    "SELECT 1 FROM rowlock_lease JOIN rowlock_heartbeat USING (token)"
                    " WHERE name = ?1 AND (NOT ?2 OR mode <> 'shared')",
                    name, but_shared) != 0;
}

static int64_t write_work(struct sim_client *client, const char *name, int64_t token, long op)
{
    static const char add[] = "INSERT INTO work SELECT ?1, ?2, coalesce(max(value), 0) + 1, ?3, ?4"
                              "  FROM work WHERE name = ?1";
    sqlite3_stmt *stmt = NULL;
    int code;

    if (sqlite3_prepare_v2(rowlock_sqlite_handle(client->connection), add, -1, &stmt, NULL) !=
        SQLITE_OK)
        return 0;
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, token);
    sqlite3_bind_int64(stmt, 3, client->id);
    sqlite3_bind_int64(stmt, 4, op);
    code = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE)
        return 0;
    return rows_ask(client, "SELECT max(value) FROM work WHERE name = ?1", name, 0);
}

static size_t written(struct sim_written *rows, size_t room)
{
    size_t n = 0;

    for (; n < room && sqlite3_step(work) == SQLITE_ROW; n++) {
        snprintf(rows[n].name, sizeof rows[n].name, "%s",
                 (const char *)sqlite3_column_text(work, 0));
        rows[n].value = sqlite3_column_int64(work, 1);
        rows[n].token = sqlite3_column_int64(work, 2);
        rows[n].client = (long)sqlite3_column_int64(work, 3);
        rows[n].op = (long)sqlite3_column_int64(work, 4);
    }
    sqlite3_reset(work);
    return n;
}

const struct sim_store sqlite_store = {.url = rows_url,
                                       .reset = rows_reset,
                                       .read = rows_read,
                                       .begin = begin,
                                       .has_lease = has_lease,
                                       .is_leased = is_leased,
                                       .write = write_work,
                                       .written = written};
