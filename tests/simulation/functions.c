/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated database with functions, as PostgreSQL has them: session locks, on which waiters
 * block, and `turn`. They are a driver around src/emulate/ on the tables of table.h, so the
 * rules of a grant are those of src/emulate/. Waits, sessions and transactions are this driver's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/emulate.h"
#include "simulation/table.h"
#include "util/error.h"

#define LINKS 64
#define MOST_HELD 64
#define ROLL_MS 3000 /* how often a blocked waiter looks whether the roll was called */

struct rowlock_link {
    struct rowlock_link *rows;
    struct sim_client *client;
    int64_t held[MOST_HELD]; /* session locks */
    unsigned n_held;
    int64_t awaits; /* 0: none */
};

static struct rowlock_link *links[LINKS];
static struct rowlock_dialect dialect;
static const struct rowlock_dialect *plain;
static bool ignores_queue;

const char *functions_url(void)
{
    return "functions:simulation";
}

bool functions_ignore_queue(void)
{
    return ignores_queue;
}

/* ---- session locks --------------------------------------------------------------------------- */

static bool is_dead(const struct rowlock_link *link)
{
    return rowlock__emulate_driver.state(link->rows) == ROWLOCK_STATE_DEAD;
}

static bool holds(const struct rowlock_link *link, int64_t number)
{
    for (unsigned i = 0; i < link->n_held; i++)
        if (link->held[i] == number)
            return !is_dead(link);
    return false;
}

/* Whether a session other than this one (NULL: any) holds the lock. */
static bool is_locked(const struct rowlock_link *link, int64_t number)
{
    for (int i = 0; i < LINKS; i++)
        if (links[i] && links[i] != link && holds(links[i], number))
            return true;
    return false;
}

bool functions_locked(int64_t number)
{
    return is_locked(NULL, number);
}

static bool lock(struct rowlock_link *link, int64_t number)
{
    if (holds(link, number))
        return true;
    if (is_locked(link, number) || link->n_held == MOST_HELD)
        return false;
    link->held[link->n_held++] = number;
    return true;
}

void functions_wake(void)
{
    for (int i = 0; i < LINKS; i++)
        if (links[i] && links[i]->awaits && !is_locked(links[i], links[i]->awaits) &&
            links[i]->client->wake > sim.now)
            links[i]->client->wake = sim.now;
}

static void unlock(struct rowlock_link *link, int64_t number)
{
    for (unsigned i = 0; i < link->n_held; i++)
        if (link->held[i] == number)
            link->held[i] = link->held[--link->n_held];
    functions_wake();
}

/* ---- the rows, as a function sees them ------------------------------------------------------- */

static bool is_called(int64_t ticket)
{
    const struct table *table = table_of("rowlock_waiter");

    for (size_t i = 0; i < table->n; i++)
        if (table->row[i].committed &&
            table_number(table, table->row[i].committed, "ticket") == ticket &&
            table_number(table, table->row[i].committed, "roll_call"))
            return true;
    return false;
}

/* The ticket directly before this one, 0: none; or the lease that ends first. */
static int64_t ticket_before(const struct sim_rows *rows, const char *name, int64_t ticket)
{
    int64_t found = 0;

    for (size_t i = 0; i < rows->waiters; i++)
        if (strcmp(rows->waiter[i].name, name) == 0 && rows->waiter[i].ticket < ticket &&
            rows->waiter[i].ticket > found)
            found = rows->waiter[i].ticket;
    return found;
}

static const struct sim_row *lease_of(const struct sim_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->leases; i++)
        if (strcmp(rows->lease[i].name, name) == 0)
            return &rows->lease[i];
    return NULL;
}

/* ---- calls of src/emulate/ ------------------------------------------------------------------- */

static const struct rowlock_statement *inner(const struct rowlock_statement *statement)
{
    size_t id = (size_t)(statement - dialect.statements);

    return id < ROWLOCK_SQL_COUNT ? &plain->statements[id] : statement;
}

/* A call of a client, under way. */
struct task {
    struct rowlock_link *link;
    const struct rowlock_budget *budget;
    struct rowlock_outcome *outcome;
    struct rowlock_error *error;
};

static int pass(const struct task *task, unsigned flags, struct rowlock_call *calls, size_t n)
{
    return rowlock__emulate_driver.run(task->link->rows, flags, calls, n, task->budget,
                                       task->outcome, task->error);
}

static int ask(const struct task *task, unsigned flags, enum rowlock_statement_id id,
               const struct rowlock_value *values, rowlock_row *row, void *data)
{
    struct rowlock_call call = {
        .statement = &plain->statements[id], .values = values, .row = row, .data = data};

    return pass(task, flags, &call, 1);
}

/* Blocks until the lock is free; false: not in time, or the roll is called. */
static bool await(struct rowlock_link *link, int64_t number, int64_t ticket, int64_t until)
{
    while (is_locked(link, number)) {
        int64_t left = until - sim.now;

        if (left <= 0 || is_called(ticket) || is_dead(link) || link->client->dying)
            return false;
        link->awaits = number;
        sim_pass(left < ROLL_MS ? left : ROLL_MS);
        link->awaits = 0;
    }
    return !is_dead(link);
}

static int gone(const struct task *task)
{
    task->outcome->left = ROWLOCK_TX_DEAD;
    return sim_gone(task->error);
}

/* Whether the ticket is the first of its name, which is free. */
static bool is_first(int64_t ticket)
{
    const char *name = NULL;
    struct sim_rows rows;

    table_store.read(&rows);
    for (size_t i = 0; i < rows.waiters; i++)
        if (rows.waiter[i].ticket == ticket)
            name = rows.waiter[i].name;
    return name && !ticket_before(&rows, name, ticket) && !lease_of(&rows, name);
}

/* kind, number, limit_ms, ticket -> number: 2 as on MariaDB, if after a ticket the turn has come */
static int run_await(const struct task *task, struct rowlock_call *call)
{
    int64_t number = call->values[1].number;
    bool got = await(task->link, number, call->values[3].number, sim.now + call->values[2].number);
    struct rowlock_value column, ticket = rowlock__int_value(number);
    struct rowlock_call drop = {.statement = &plain->plain->statements[ROWLOCK_PLAIN_WAITER_DROP],
                                .values = &ticket};
    int code = ROWLOCK_OK;

    task->outcome->left = ROWLOCK_TX_NONE;
    if (is_dead(task->link))
        return gone(task);
    if ((got || sim.wrong == SIM_REMOVES_THE_LIVING) && call->values[0].number == 0)
        code = pass(task, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &drop, 1);
    column = rowlock__int_value(got + (got && sim.temper.seizes && call->values[0].number == 0 &&
                                       is_first(call->values[3].number)));
    if (!code)
        call->row(call->data, &column, 1);
    return code;
}

/* ---- turn ------------------------------------------------------------------------------------ */

struct granted {
    enum rowlock_status status;
    int64_t token;
};

static void granted_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct granted *granted = data;

    if (n < 5)
        return;
    granted->status = (enum rowlock_status)rowlock__value_number(&columns[0]);
    granted->token = rowlock__value_number(&columns[2]);
}

enum turn_value {
    TURN_WANTS,
    TURN_OWNER,
    TURN_TTL,
    TURN_LIMIT,
    TURN_TICKET,
    TURN_KIND = 10,
    TURN_NUMBER
};

/* Everything before the name lock: OK, or the status of the turn. */
static enum rowlock_status wait_for_turn(struct rowlock_link *link,
                                         const struct rowlock_value *values, const char *name,
                                         int64_t *number)
{
    int64_t ticket = values[TURN_TICKET].number, until = sim.now + values[TURN_LIMIT].number;
    const struct sim_row *lease;
    struct sim_rows rows;

    *number = values[TURN_NUMBER].number;
    if (!await(link, *number, ticket, until))
        return ROWLOCK_STATUS_TIMEDOUT;
    if (values[TURN_KIND].number)
        return ROWLOCK_STATUS_OK;
    table_store.read(&rows);
    if (sim.wrong != SIM_TURN_IGNORES_QUEUE && ticket_before(&rows, name, ticket)) {
        *number = ticket_before(&rows, name, ticket);
        return ROWLOCK_STATUS_QUEUED;
    }
    lease = lease_of(&rows, name);
    if (!lease)
        return ROWLOCK_STATUS_OK;
    *number = lease->token;
    if (lease->expires - sim_database_ms() < until - sim.now)
        until = sim.now + lease->expires - sim_database_ms();
    return await(link, *number, ticket, until) ? ROWLOCK_STATUS_OK : ROWLOCK_STATUS_TIMEDOUT;
}

/* Under the name lock, as the function's last statements. */
static int grant_first(const struct task *task, const struct rowlock_value *turn,
                       struct granted *granted)
{
    const struct rowlock_value values[] = {
        turn[TURN_WANTS],  turn[TURN_OWNER], turn[TURN_TTL], rowlock__int_value(1000),
        turn[TURN_TICKET], turn[5],          turn[6],        turn[7],
        turn[8],           turn[9]};
    int code;

    ignores_queue = sim.wrong == SIM_TURN_IGNORES_QUEUE;
    code = ask(task, ROWLOCK_BEGIN, ROWLOCK_SQL_GRANT, values, granted_row, granted);
    ignores_queue = false;
    return code;
}

static int run_turn(const struct task *task, struct rowlock_call *call)
{
    const struct rowlock_value *values = call->values;
    char digits[3] = {values[TURN_WANTS].bytes[0], values[TURN_WANTS].bytes[1], '\0'};
    char name[2] = {(char)strtol(digits, NULL, 16), '\0'};
    struct granted granted = {.token = 0};
    struct rowlock_value columns[5] = {{.type = ROWLOCK_NULL}};
    int64_t number;
    int code = ROWLOCK_OK;

    granted.status = wait_for_turn(task->link, values, name, &number);
    task->outcome->left = ROWLOCK_TX_NONE;
    if (is_dead(task->link))
        return gone(task);
    if (granted.status == ROWLOCK_STATUS_OK) {
        code = grant_first(task, values, &granted);
        if (!code && granted.status == ROWLOCK_STATUS_OK)
            lock(task->link, granted.token);
        else if (!code && granted.status != ROWLOCK_STATUS_BUSY)
            granted.status = granted.status == ROWLOCK_STATUS_TIMEDOUT ? ROWLOCK_STATUS_BUSY
                                                                       : ROWLOCK_STATUS_LEASED;
    }
    columns[0] = rowlock__int_value(granted.status);
    columns[2] = rowlock__int_value(granted.token);
    columns[3] = rowlock__int_value(number);
    if (!code)
        call->row(call->data, columns, 5);
    return code;
}

/* ---- the other functions --------------------------------------------------------------------- */

/* An answer of src/emulate/ on its way: session locks are taken before the COMMIT. */
struct passing {
    struct rowlock_link *link;
    size_t id;
    rowlock_row *row;
    void *data;
    int64_t ticket;
};

static void pass_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    const struct passing *passing = data;
    struct rowlock_value copy[8];
    int64_t status = n ? rowlock__value_number(&columns[0]) : 0;

    for (unsigned i = 0; i < n && i < 8; i++)
        copy[i] = columns[i];
    if (passing->id == ROWLOCK_SQL_GRANT && n >= 5 && status == ROWLOCK_STATUS_OK)
        lock(passing->link, rowlock__value_number(&columns[2]));
    if (passing->id == ROWLOCK_SQL_ENQUEUE && n >= 5 && status == ROWLOCK_STATUS_OK)
        lock(passing->link, rowlock__value_number(&columns[3]));
    if (passing->id == ROWLOCK_SQL_PLACE && n >= 8)
        copy[5] = rowlock__int_value(status != ROWLOCK_STATUS_UNQUEUED &&
                                     lock(passing->link, passing->ticket));
    if (passing->id == ROWLOCK_SQL_META && n >= 2)
        copy[1] = rowlock__text_value("native");
    if (passing->row)
        passing->row(passing->data, n <= 8 ? copy : columns, n);
}

/* The number whose session lock the call releases; 0: none. */
static int64_t released_by(const struct rowlock_call *call, size_t id)
{
    return id == ROWLOCK_SQL_RELEASE || id == ROWLOCK_SQL_WITHDRAW ? call->values[0].number
           : id == ROWLOCK_SQL_SESSION_UNLOCK                      ? call->values[1].number
                                                                   : 0;
}

#define MOST_CALLS 8

static int pass_on(const struct task *task, unsigned flags, struct rowlock_call *calls, size_t n)
{
    struct rowlock_call copy[MOST_CALLS];
    struct passing passing[MOST_CALLS];
    int code;

    for (size_t i = 0; i < n && i < MOST_CALLS; i++) {
        size_t id = (size_t)(calls[i].statement - dialect.statements);

        copy[i] = calls[i];
        copy[i].statement = inner(calls[i].statement);
        passing[i] = (struct passing){task->link, id, calls[i].row, calls[i].data, 0};
        passing[i].ticket = id == ROWLOCK_SQL_PLACE ? calls[i].values[1].number : 0;
        copy[i].row = pass_row;
        copy[i].data = &passing[i];
    }
    code = pass(task, flags, copy, n);
    for (size_t i = 0; i < n && i < MOST_CALLS; i++) {
        calls[i].affected = copy[i].affected;
        if (!code && released_by(&calls[i], passing[i].id))
            unlock(task->link, released_by(&calls[i], passing[i].id));
    }
    return code;
}

static int run(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls, size_t n,
               const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    size_t id = n == 1 ? (size_t)(calls->statement - dialect.statements) : ROWLOCK_SQL_COUNT;
    struct rowlock_error unseen;
    struct task task = {link, budget, outcome, error ? error : &unseen};

    if (id == ROWLOCK_SQL_TURN)
        return run_turn(&task, calls);
    if (id == ROWLOCK_SQL_AWAIT)
        return run_await(&task, calls);
    if (id == ROWLOCK_SQL_SESSION_UNLOCK) {
        unlock(link, released_by(calls, id));
        outcome->left = is_dead(link) ? ROWLOCK_TX_DEAD : ROWLOCK_TX_NONE;
        return is_dead(link) ? gone(&task) : ROWLOCK_OK;
    }
    return pass_on(&task, flags, calls, n);
}

/* ---- the rest of a driver -------------------------------------------------------------------- */

static void make_dialect(void)
{
    static const struct rowlock_statement own = {.name = "function", .text = ""};

    dialect = *plain;
    dialect.plain = NULL;
    dialect.statements[ROWLOCK_SQL_TURN] = own;
    dialect.statements[ROWLOCK_SQL_AWAIT] = own;
    dialect.statements[ROWLOCK_SQL_SESSION_UNLOCK] = own;
}

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **found,
                     struct rowlock_error *error)
{
    struct rowlock_source tables = *source;
    struct rowlock_link *link = calloc(1, sizeof *link);
    int place = 0, code;

    tables.url = table_url();
    if (!link)
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    code = rowlock__emulate_driver.open(&tables, budget, &link->rows, &plain, error);
    if (code) {
        free(link);
        return code;
    }
    while (links[place]) /* after the open, in which other clients may open one */
        if (++place == LINKS)
            abort();
    if (!dialect.name)
        make_dialect();
    link->client = sim.running;
    links[place] = link;
    *out = link;
    *found = &dialect;
    return ROWLOCK_OK;
}

static void close_link(struct rowlock_link *link)
{
    if (!link)
        return;
    for (int i = 0; i < LINKS; i++)
        if (links[i] == link)
            links[i] = NULL;
    rowlock__emulate_driver.close(link->rows);
    free(link);
    functions_wake();
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    return rowlock__emulate_driver.rollback(link->rows, budget, error);
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    return rowlock__emulate_driver.state(link->rows);
}

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    return rowlock__emulate_driver.script(link->rows, text, budget, error);
}

const struct rowlock_driver functions_driver = {
    .name = "functions",
    .schemes = "functions",
    .open = open_link,
    .close = close_link,
    .run = run,
    .rollback = rollback,
    .state = state,
    .script = script,
    .socket = sim_no_socket,
    .backend_id = sim_no_backend_id,
    .handle = sim_no_handle,
};
