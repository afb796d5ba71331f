/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the simulated database, as an inner driver of src/emulate/. Every statement is
 * delayed, so that other sessions' statements come between; it waits for locks in virtual time; and
 * its session may be lost before it, or after it, before the answer arrives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/script.h"
#include "simulation/table.h"
#include "util/error.h"

#define SESSIONS 64
#define CACHED 1024 /* parsed statements; a power of 2 */

struct rowlock_link {
    struct table_link table;
};

/* The differences between the engines, as docs/databases.md lists them. */
struct engine {
    const char *name;
    bool reads_wait;             /* a read waits for a changed row */
    bool cancels;                /* a wait can be cancelled; otherwise its session is cut off */
    const char *busy, *deadlock; /* SQLSTATEs */
    int busy_number, deadlock_number;
    int64_t limit_ms;                   /* of the server's own, for a lock; < 0: none */
    enum rowlock_transaction otherwise; /* after an error without a row in failure.c */
};

static const struct engine engines[] = {
    {"derby", true, false, "40XL1", "40001", 0, 0, 60000, ROWLOCK_TX_ABORTED},
    {"h2", false, false, "HYT00", "40001", 50200, 40001, 2000, ROWLOCK_TX_ABORTED},
    {"hsqldb", false, false, "40001", "40001", -4861, -4861, -1, ROWLOCK_TX_ABORTED},
    {"postgresql", false, true, "55P03", "40P01", 0, 0, -1, ROWLOCK_TX_KEPT},
    {"mariadb", false, true, "HY000", "40001", 1205, 1213, 50000, ROWLOCK_TX_KEPT},
    {"oracle", false, true, "61000", "61000", 54, 60, -1, ROWLOCK_TX_ABORTED},
    {"sqlserver", true, true, "HYT00", "40001", 1222, 1205, -1, ROWLOCK_TX_ABORTED},
    {"db2", true, true, "40001", "40001", -911, -911, -1, ROWLOCK_TX_ABORTED},
};

static const struct engine *engine = &engines[0];
static const struct rowlock_dialect *dialect;
static struct table_link *sessions[SESSIONS];

void table_choose(unsigned dice)
{
    engine = &engines[dice % (sizeof engines / sizeof *engines)];
    dialect = rowlock__plain_named(engine->name);
}

const char *table_engine(void)
{
    return engine->name;
}

const char *table_url(void)
{
    return "tables:simulation";
}

/* ---- statements, parsed once ----------------------------------------------------------------- */

/* The text of the engine's clock, from "SELECT {now} AS now_ms FROM rowlock_meta". */
static const char *clock_text(void)
{
    static const struct rowlock_dialect *of;
    static char text[600];
    const char *now = dialect->plain->statements[ROWLOCK_PLAIN_NOW].text + strlen("SELECT ");

    if (of != dialect)
        snprintf(text, sizeof text, "%.*s", (int)(strstr(now, " AS now_ms") - now), now);
    of = dialect;
    return text;
}

static const struct table_sql *parsed(const char *text)
{
    static struct {
        const char *text;
        struct table_sql *sql;
    } cache[CACHED];
    size_t i = ((uintptr_t)text >> 3) % CACHED;

    while (cache[i].text && cache[i].text != text)
        i = (i + 1) % CACHED;
    if (!cache[i].sql)
        cache[i].sql = malloc(sizeof *cache[i].sql);
    if (!cache[i].text && table_parse(text, clock_text(), cache[i].sql))
        cache[i].text = text;
    return cache[i].text ? cache[i].sql : NULL;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Those that wait for the session look again at the rows. A stopped one does so later, and closes
   no circle of waits meanwhile. */
static void wake_waiters(int session)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct table_link *waiter = sessions[i];

        if (!waiter || !(waiter->waits_for & UINT64_C(1) << session))
            continue;
        waiter->waits_for &= ~(UINT64_C(1) << session);
        if (waiter->client->wake > sim.now)
            waiter->client->wake = sim.now;
    }
}

static void end(struct table_link *link, bool commits)
{
    bool changed = table_end(link->session, commits);

    wake_waiters(link->session);
    functions_wake();
    link->n_late = 0;
    link->drawn = 0;
    if (!dialect->plain->wait_stays)
        link->limit_ms = engine->limit_ms;
    if (link->state != ROWLOCK_STATE_DEAD)
        link->state = ROWLOCK_STATE_IDLE;
    if (commits && changed && link->client)
        sim.kind->check_committed(link->client);
}

/* The server notices at once, and rolls back. */
static void cut(struct table_link *link)
{
    if (link->state == ROWLOCK_STATE_DEAD)
        return;
    link->state = ROWLOCK_STATE_DEAD;
    end(link, false);
}

void table_cut(struct sim_client *client)
{
    for (int i = 0; i < SESSIONS; i++)
        if (sessions[i] && sessions[i]->client == client)
            cut(sessions[i]);
}

static int64_t latency(void)
{
    if (sim.calm)
        return 0;
    if (sim_chance(sim.temper.slow))
        return sim_between(20, 4000);
    return sim_below(6) ? 0 : sim_between(0, sim_delay());
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* Whether the sessions wait, directly or not, for this one. */
static bool reaches(uint64_t from, int session, uint64_t *visited)
{
    if (from & UINT64_C(1) << session)
        return true;
    for (int i = 0; i < SESSIONS; i++) {
        uint64_t one = UINT64_C(1) << i;

        if (!(from & one) || (*visited & one) || !sessions[i])
            continue;
        *visited |= one;
        if (reaches(sessions[i]->waits_for, session, visited))
            return true;
    }
    return false;
}

/* Chooses the victim of a deadlock that this wait closes: the session itself, or one of those for
   which it waits. */
static void find_deadlock(struct table_link *link)
{
    uint64_t visited = 0;

    if (!reaches(link->waits_for, link->session, &visited))
        return;
    link->victim = true;
    for (int i = 0; i < SESSIONS && !sim.calm && sim_below(2); i++) {
        visited = 0;
        if (!(link->waits_for & UINT64_C(1) << i) || !sessions[i]->waits_for ||
            !reaches(sessions[i]->waits_for, link->session, &visited))
            continue;
        link->victim = false;
        sessions[i]->victim = true;
        sessions[i]->client->wake = sim.now;
        return;
    }
}

static int64_t until_of(const struct table_link *link, const struct rowlock_budget *budget,
                        int64_t began)
{
    int64_t until = sim_true_ms(link->client, budget->deadline_ms);

    if (link->limit_ms >= 0 && began + link->limit_ms < until)
        until = began + link->limit_ms;
    return until;
}

static int fails(const char *sqlstate, int number, struct rowlock_error *error)
{
    return rowlock__failure(error, engine->name, sqlstate, number,
                            number == -911 && strcmp(sqlstate, engine->busy) == 0 ? "\"68\"" : "");
}

/* The wait has ended without the lock: by the server's limit, or by the client's. */
static int give_up(struct table_link *link, const struct rowlock_budget *budget,
                   struct rowlock_error *error)
{
    if (link->limit_ms >= 0 && sim_own_ms(link->client) < budget->deadline_ms)
        return fails(engine->busy, engine->busy_number, error);
    if (!engine->cancels)
        cut(link);
    return rowlock__fail(error, ROWLOCK_ETIMEDOUT, "the wait took too long");
}

/* Waits until a session ends its transaction. */
static int wait_for(struct table_link *link, uint64_t blockers, int64_t until)
{
    link->waits_for = blockers;
    find_deadlock(link);
    if (!link->victim)
        sim_pass(until - sim.now);
    link->waits_for = 0;
    return link->state == ROWLOCK_STATE_DEAD || link->client->dying;
}

static int refuse(struct table_link *link, enum table_result result, struct rowlock_error *error)
{
    const char *deadlock = engine->deadlock;

    if (result == TABLE_DUPLICATE)
        return fails("23505", 0, error);
    link->victim = false;
    rowlock__failure(error, engine->name, deadlock, engine->deadlock_number, "a deadlock");
    return error->code;
}

int table_ask(struct table_link *link, struct rowlock_call *call,
              const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct table_run run = {.sql = parsed(call->statement->text),
                            .values = call->values,
                            .session = link->session,
                            .reads_wait = engine->reads_wait,
                            .row = call->row,
                            .data = call->data};
    int64_t began = sim.now;
    enum table_result result;

    if (!run.sql)
        return rowlock__fail(error, ROWLOCK_ESCHEMA, "there is no such table");
    while ((result = table_execute(&run)) == TABLE_BLOCKED) {
        int64_t until = until_of(link, budget, began);

        if (run.sql->nowait)
            return fails(engine->busy, engine->busy_number, error);
        if (sim.now >= until)
            return give_up(link, budget, error);
        if (wait_for(link, run.blockers, until))
            return sim_gone(error);
        if (link->victim)
            return refuse(link, result, error);
    }
    if (result == TABLE_DUPLICATE)
        return refuse(link, result, error);
    call->affected = run.sql->verb == TABLE_SELECT ? 0 : run.affected;
    return ROWLOCK_OK;
}

/* ---- statements that need no table ----------------------------------------------------------- */

static bool answer_by_itself(struct rowlock_call *call)
{
    size_t id = (size_t)(call->statement - dialect->statements);
    struct rowlock_value column = {.type = ROWLOCK_NULL};

    if (id == ROWLOCK_SQL_PING)
        column = rowlock__int_value(sim_database_ms());
    else if (id != ROWLOCK_SQL_SERVER)
        return false;
    if (call->row)
        call->row(call->data, &column, 1);
    return true;
}

static int send(struct table_link *link, struct rowlock_call *call,
                const struct rowlock_budget *budget, struct rowlock_error *error)
{
    size_t id = (size_t)(call->statement - dialect->plain->statements);
    int code = ROWLOCK_OK;

    call->affected = 0;
    if (answer_by_itself(call))
        return ROWLOCK_OK;
    if (id < ROWLOCK_PLAIN_COUNT && link->client &&
        table_mistake(link, (enum rowlock_plain_id)id, call, budget, error, &code))
        return code;
    call->statement = wrong_statement(call->statement);
    return table_ask(link, call, budget, error);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* The state in which the error leaves the transaction. */
static enum rowlock_transaction left_after(struct table_link *link, bool open,
                                           const struct rowlock_error *error)
{
    enum rowlock_transaction left =
        rowlock__failure_left(engine->name, error->sqlstate, error->native, engine->otherwise);

    if (link->state == ROWLOCK_STATE_DEAD)
        return ROWLOCK_TX_DEAD;
    if (!open || left == ROWLOCK_TX_GONE)
        end(link, false);
    else
        link->state = left == ROWLOCK_TX_ABORTED ? ROWLOCK_STATE_ABORTED : ROWLOCK_STATE_OPEN;
    return open ? left : ROWLOCK_TX_NONE;
}

static int check_state(const struct table_link *link, unsigned flags, size_t n,
                       struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    outcome->left = ROWLOCK_TX_ABORTED;
    if (link->state == ROWLOCK_STATE_ABORTED)
        return rowlock__fail(error, ROWLOCK_EABORTED, "an earlier statement failed; roll back");
    outcome->left = ROWLOCK_TX_NONE;
    if (n == 0 && flags == ROWLOCK_COMMIT && link->state == ROWLOCK_STATE_IDLE)
        return rowlock__fail(error, ROWLOCK_ENOTX, "no transaction is open");
    return ROWLOCK_OK;
}

/* On the server. */
static int execute(struct table_link *link, unsigned flags, struct rowlock_call *calls, size_t n,
                   const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
                   struct rowlock_error *error)
{
    bool open = link->state == ROWLOCK_STATE_OPEN || flags != ROWLOCK_INSIDE;
    int code = check_state(link, flags, n, outcome, error);

    if (code)
        return code;
    if (open)
        link->state = ROWLOCK_STATE_OPEN;
    for (size_t i = 0; !code && i < n; i++) {
        code = send(link, &calls[i], budget, error);
        if (!code && !open)
            end(link, true);
    }
    if (code) {
        outcome->left = left_after(link, open, error);
        return code;
    }
    if (flags & ROWLOCK_COMMIT)
        end(link, true);
    outcome->left = link->state == ROWLOCK_STATE_OPEN ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE;
    return ROWLOCK_OK;
}

static void lose(struct table_link *link, bool lost, const char *when)
{
    if (!lost || link->state == ROWLOCK_STATE_DEAD)
        return;
    tell("%s loses its connection%s", story_client(link->client->id), when);
    cut(link);
}

static int run(struct rowlock_link *outer, unsigned flags, struct rowlock_call *calls, size_t n,
               const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    struct table_link *link = &outer->table;
    struct rowlock_error unseen;
    int code;

    error = error ? error : &unseen;
    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD};
    if (!link->client)
        return execute(link, flags, calls, n, budget, outcome, error);
    if (link->client->meets && n)
        link->client->meets(calls->statement->name);
    sim_pass(latency());
    lose(link, sim_chance(sim.temper.lose), "");
    if (link->state == ROWLOCK_STATE_DEAD)
        return sim_gone(error);
    code = execute(link, flags, calls, n, budget, outcome, error);
    if (!code)
        lose(link, sim_chance(sim.temper.lose_reply), " before the answer comes");
    sim_pass(latency());
    if (link->state != ROWLOCK_STATE_DEAD)
        return code;
    outcome->left = ROWLOCK_TX_DEAD;
    outcome->sent_commit = (flags & ROWLOCK_COMMIT) != 0;
    return code ? code : sim_gone(error);
}

/* ---- the rest of a driver -------------------------------------------------------------------- */

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **found,
                     struct rowlock_error *error)
{
    struct rowlock_link *link;
    int session = 0;

    (void)source, (void)budget;
    sim_pass(latency());
    if (sim.running && (sim.running->dying || sim_chance(sim.temper.lose)))
        return rowlock__fail(error, ROWLOCK_ECONN, "no answer");
    while (session < SESSIONS && sessions[session])
        session++;
    link = session < SESSIONS ? calloc(1, sizeof *link) : NULL;
    if (!link)
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    link->table = (struct table_link){.client = sim.running,
                                      .session = session,
                                      .state = ROWLOCK_STATE_IDLE,
                                      .limit_ms = engine->limit_ms};
    sessions[session] = &link->table;
    *found = dialect;
    *out = link;
    return ROWLOCK_OK;
}

static void close_link(struct rowlock_link *link)
{
    if (!link)
        return;
    cut(&link->table);
    sessions[link->table.session] = NULL;
    free(link);
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    (void)budget;
    if (link->table.state == ROWLOCK_STATE_DEAD)
        return sim_gone(error);
    end(&link->table, false);
    return ROWLOCK_OK;
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    return link->table.state;
}

/* "SET LOCK_TIMEOUT 250", in the unit that the engine's words give. */
static void set_limit(struct table_link *link, const char *text)
{
    const char *wait = dialect->plain->wait, *at = strchr(wait, '{');

    link->limit_ms = -1;
    if (strcmp(text, dialect->plain->no_wait_limit) != 0)
        link->limit_ms =
            strtoll(text + (at - wait), NULL, 10) * (strncmp(at, "{s}", 3) == 0 ? 1000 : 1);
}

static int run_text(struct table_link *link, const char *text, struct rowlock_error *error)
{
    struct table_sql sql;
    struct table_run run = {.sql = &sql, .session = link->session};
    char name[32] = "";

    if (sscanf(text, "SELECT COUNT(*) FROM %31s", name) == 1)
        return table_of(name) ? ROWLOCK_OK
                              : rowlock__fail(error, ROWLOCK_ESCHEMA, "no table %s", name);
    if (strncmp(text, "SET ", 4) == 0) {
        set_limit(link, text);
    } else if (strncmp(text, "CREATE TABLE ", 13) == 0) {
        table_create(text);
    } else if (strncmp(text, "INSERT ", 7) == 0) {
        if (table_parse(text, clock_text(), &sql))
            table_execute(&run);
    } /* CREATE INDEX, CREATE FUNCTION, GRANT change nothing here */
    return ROWLOCK_OK;
}

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    const char *statement;
    size_t length;
    int code = ROWLOCK_OK;

    (void)budget;
    if (link->table.state == ROWLOCK_STATE_DEAD)
        return sim_gone(error);
    while (!code && rowlock__script_next(&text, &statement, &length)) {
        char *one = strndup(statement, length);

        code = one ? run_text(&link->table, one, error) : ROWLOCK_ENOMEM;
        free(one);
    }
    if (link->table.state == ROWLOCK_STATE_IDLE)
        table_end(link->table.session, !code);
    return code;
}

const struct rowlock_driver table_driver = {
    .name = "tables",
    .schemes = "tables",
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
