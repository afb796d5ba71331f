/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product's SQLite driver behind a simulated network: batches are delayed, and connections are
 * lost before the database executes a batch, or after, before the reply arrives.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "simulation/table.h"
#include "util/error.h"

static const struct rowlock_driver *real;

struct rowlock_link {
    struct rowlock_link *link;
    struct sim_client *client; /* NULL: the simulation itself */
    bool dead;
    int changes; /* total_changes() at the last check */
};

static struct rowlock_link *links[SIM_ALL + 1]; /* the last one that each client opened */

static sqlite3 *handle_of(const struct rowlock_link *link)
{
    return real->handle(link->link);
}

int sim_gone(struct rowlock_error *error)
{
    rowlock__fail(error, ROWLOCK_ECONN, "the connection was cut");
    rowlock__left(error, ROWLOCK_ECONN, ROWLOCK_TX_DEAD);
    return ROWLOCK_ECONN;
}

/* The server notices at once. That a server may notice late is tested on real servers. */
static void cut(struct rowlock_link *link)
{
    if (link->dead)
        return;
    link->dead = true;
    sqlite3_exec(handle_of(link), "ROLLBACK", NULL, NULL, NULL);
}

void sim_cut(struct sim_client *client)
{
    if (links[client->id])
        cut(links[client->id]);
    table_cut(client);
}

bool sim_holds_file(const struct sim_client *client)
{
    const struct rowlock_link *link = links[client->id];

    return link && !link->dead && !sqlite3_get_autocommit(handle_of(link));
}

/* ---- SQLite sessions are reused: compiling the statements costs more than a history ---------- */

#define MORE 29 /* sessions than clients */

static struct rowlock_link *pool[SIM_ALL + MORE];
static size_t pooled;

static int open_real(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    if (!pooled)
        return real->open(source, budget, out, dialect, error);
    *out = pool[--pooled];
    *dialect = &rowlock__dialect_sqlite;
    return ROWLOCK_OK;
}

static void close_real(struct rowlock_link *link)
{
    sqlite3_exec(real->handle(link), "ROLLBACK", NULL, NULL, NULL);
    if (pooled < sizeof pool / sizeof *pool)
        pool[pooled++] = link;
    else
        real->close(link);
}

/* A new session reads the schema, for which it may have to wait. So that a seed alone decides a
   history, all sessions have done so before the first one. */
void sim_fill_pool(void)
{
    struct rowlock_source source = {.url = rows_url(), .interrupt_fd = -1};
    struct rowlock_budget budget = {INT64_MAX, -1, INT64_MAX};
    const struct rowlock_dialect *dialect;
    struct rowlock_error error;
    struct rowlock_link *link;

    for (size_t i = pooled; i < sim.kind->clients + MORE; i++)
        if (real->open(&source, &budget, &link, &dialect, &error) == ROWLOCK_OK)
            pool[pooled++] = link;
    for (size_t i = 0; i < pooled; i++)
        sqlite3_exec(real->handle(pool[i]), "SELECT * FROM rowlock_lease", NULL, NULL, NULL);
}

void sim_close_pool(void)
{
    while (pooled)
        real->close(pool[--pooled]);
}

/* The delay of a batch on its way. */
static int64_t latency(void)
{
    if (sim.calm)
        return 0;
    if (sim_chance(sim.temper.slow))
        return sim_between(20, 4000);
    return sim_below(3) ? 0 : sim_between(0, sim_delay());
}

/* ---- a link ---------------------------------------------------------------------------------- */

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    struct rowlock_link *link;
    int code;

    sim_pass(latency());
    if (sim.running && (sim.running->dying || sim_chance(sim.temper.lose)))
        return rowlock__fail(error, ROWLOCK_ECONN, "no answer");
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    code = open_real(source, budget, &link->link, dialect, error);
    if (code) {
        free(link);
        return code;
    }
    link->client = sim.running;
    link->changes = sqlite3_total_changes(handle_of(link));
    if (link->client)
        links[link->client->id] = link;
    *out = link;
    return ROWLOCK_OK;
}

static void close_link(struct rowlock_link *link)
{
    if (!link)
        return;
    for (unsigned i = 0; i <= SIM_ALL; i++)
        if (links[i] == link)
            links[i] = NULL;
    close_real(link->link);
    free(link);
}

static void committed(struct rowlock_link *link)
{
    int changes = sqlite3_total_changes(handle_of(link));

    if (changes == link->changes || !sqlite3_get_autocommit(handle_of(link)))
        return;
    link->changes = changes;
    sim.kind->check_committed(link->client);
}

/* Executes the calls, with changed statements where a deliberate mistake is simulated. */
static int run_real(struct rowlock_link *link, unsigned transaction_flags,
                    struct rowlock_call *calls, size_t n, const struct rowlock_budget *budget,
                    struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    for (size_t i = 0; i < n; i++)
        calls[i].statement = wrong_statement(calls[i].statement);
    return real->run(link->link, transaction_flags, calls, n, budget, outcome, error);
}

static int run(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
               size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    int code;

    if (!link->client)
        return run_real(link, transaction_flags, calls, n, budget, outcome, error);
    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD};
    sim_pass(latency());
    if (!link->dead && sim_chance(sim.temper.lose)) {
        tell("%s loses its connection", story_client(link->client->id));
        cut(link);
    }
    if (link->dead)
        return sim_gone(error);
    code = run_real(link, transaction_flags, calls, n, budget, outcome, error);
    if (link->dead) /* lost while the batch waited */
        return sim_gone(error);
    committed(link);
    if (!code && sim_chance(sim.temper.lose_reply)) {
        tell("%s loses its connection before the answer comes", story_client(link->client->id));
        cut(link);
    }
    sim_pass(latency());
    if (!link->dead)
        return code;
    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD,
                                        .sent_commit = (transaction_flags & ROWLOCK_COMMIT) != 0};
    return sim_gone(error);
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    return link->dead ? sim_gone(error) : real->rollback(link->link, budget, error);
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    return link->dead ? ROWLOCK_STATE_DEAD : real->state(link->link);
}

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    return link->dead ? sim_gone(error) : real->script(link->link, text, budget, error);
}

static void *handle(const struct rowlock_link *link)
{
    return handle_of(link);
}

int sim_no_socket(const struct rowlock_link *link)
{
    (void)link;
    return -1;
}

int64_t sim_no_backend_id(const struct rowlock_link *link)
{
    (void)link;
    return 0;
}

void *sim_no_handle(const struct rowlock_link *link)
{
    (void)link;
    return NULL;
}

static const struct rowlock_driver simulated = {
    .name = "sqlite",
    .schemes = "sqlite",
    .open = open_link,
    .close = close_link,
    .run = run,
    .rollback = rollback,
    .state = state,
    .script = script,
    .socket = sim_no_socket,
    .backend_id = sim_no_backend_id,
    .handle = handle,
};

SEAM(const struct rowlock_driver *, rowlock__driver_for_url, const char *url,
     struct rowlock_error *error)
{
    if (strcmp(url, table_url()) == 0)
        return &table_driver;
    if (strcmp(url, functions_url()) == 0)
        return &functions_driver;
    real = __real_rowlock__driver_for_url(url, error);
    return real ? &simulated : NULL;
}
