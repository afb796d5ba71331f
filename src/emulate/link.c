/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: it carries out functions, and passes everything else to the inner driver. */
#include <stdlib.h>
#include <string.h>

#include "driver/script.h"
#include "emulate/work.h"
#include "util/clock.h"
#include "util/error.h"

#define TRIES 5 /* for a statement that conflicts with other installers */

static rowlock_procedure *const procedures[ROWLOCK_SQL_COUNT] = {
#define ROWLOCK_XX(id, name) [ROWLOCK_SQL_##id] = rowlock__emulate_##name,
    ROWLOCK_PROCEDURES(ROWLOCK_XX)
#undef ROWLOCK_XX
};

/* ---- open and close -------------------------------------------------------------------------- */

int rowlock__emulate_over(const struct rowlock_driver *driver, struct rowlock_link *inner,
                          const struct rowlock_dialect *dialect, const char *url,
                          struct rowlock_link **out, struct rowlock_error *error)
{
    struct rowlock_link *link = calloc(1, sizeof *link);

    if (link)
        /* where a limit lasts for the session, the first limit of a session is unknown */
        *link = (struct rowlock_link){.driver = driver,
                                      .inner = inner,
                                      .dialect = dialect,
                                      .url = url ? strdup(url) : NULL,
                                      .limit_ms = dialect->plain->wait_stays ? ANY_LIMIT : -1};
    if (link && (link->url || !url)) {
        *out = link;
        return ROWLOCK_OK;
    }
    free(link);
    driver->close(inner);
    return rowlock__no_memory(error);
}

static int rows_open(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    const struct rowlock_driver *driver = rowlock__driver_for_url(source->url, error);
    struct rowlock_link *inner;
    int code;

    if (!driver)
        return error->code;
    code = driver->open(source, budget, &inner, dialect, error);
    return code ? code : rowlock__emulate_over(driver, inner, *dialect, source->url, out, error);
}

static void rows_close(struct rowlock_link *link)
{
    if (!link)
        return;
    if (link->inner)
        link->driver->close(link->inner);
    free(link->url);
    free(link);
}

/* ---- run ------------------------------------------------------------------------------------- */

static void rows_use_former(struct rowlock_link *link, bool former)
{
    link->former = former;
}

static bool rows_replaced(struct rowlock_link *link)
{
    return link->inner && link->driver->replaced && link->driver->replaced(link->inner);
}

static int carry_out(struct rowlock_work *work, struct rowlock_call *call)
{
    size_t id = (size_t)(call->statement - work->link->dialect->statements);
    bool was_first = work->begins != 0;
    int code;

    if (id >= ROWLOCK_SQL_COUNT || *call->statement->text) {
        code = rowlock__inner_run(work, work->begins, call, work->budget);
        work->begins = 0;
        return code;
    }
    work->call = call;
    if (!procedures[id])
        return rowlock__fail(work->error, ROWLOCK_EMODE, "%s is not offered on this engine",
                             call->statement->name);
    code = procedures[id](work);
    if (!code || !work->log_failed || !was_first || !work->own ||
        rowlock__inner_state(work->link) == ROWLOCK_STATE_DEAD)
        return code;
    /* a row of the history must not fail the call: the call begins again without it */
    rowlock__work_undo(work);
    rowlock__clear_error(work->error);
    work->no_log = true;
    return procedures[id](work);
}

/* Functions that only read need no transaction of their own. */
static bool all_read(const struct rowlock_link *link, const struct rowlock_call *calls, size_t n)
{
    static const bool reads[ROWLOCK_SQL_COUNT] = {
        [ROWLOCK_SQL_HOLDER] = true,       [ROWLOCK_SQL_IN_USE] = true,
        [ROWLOCK_SQL_INSTALLED] = true,    [ROWLOCK_SQL_PARTS] = true,
        [ROWLOCK_SQL_EXPIRED] = true,      [ROWLOCK_SQL_JOB_STATE] = true,
        [ROWLOCK_SQL_JOB_LIST] = true,     [ROWLOCK_SQL_RUN_LIST] = true,
        [ROWLOCK_SQL_SUBJECT_LOOK] = true, [ROWLOCK_SQL_CHECK] = true,
        [ROWLOCK_SQL_SUBJECT_LIST] = true, [ROWLOCK_SQL_LIST] = true,
        [ROWLOCK_SQL_CLOCK] = true,        [ROWLOCK_SQL_EXAMINE_SCHEMA] = true,
        [ROWLOCK_SQL_HISTORY] = true,      [ROWLOCK_SQL_HISTORY_RULES] = true,
        [ROWLOCK_SQL_LIST_LONGEST] = true};

    for (size_t i = 0; i < n; i++) {
        size_t id = (size_t)(calls[i].statement - link->dialect->statements);

        if (!*calls[i].statement->text && !(id < ROWLOCK_SQL_COUNT && reads[id]))
            return false;
    }
    return true;
}

static int rows_run(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls, size_t n,
                    const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
                    struct rowlock_error *error)
{
    struct rowlock_error unseen;
    struct rowlock_work work = {
        .link = link, .budget = budget, .outcome = outcome, .error = error ? error : &unseen};
    bool idle = rowlock__inner_state(link) == ROWLOCK_STATE_IDLE;
    bool reads = idle && flags == ROWLOCK_INSIDE && all_read(link, calls, n), nothing_sent;
    int code = ROWLOCK_OK;

    if (flags == ROWLOCK_INSIDE && idle && !reads)
        flags = ROWLOCK_BEGIN | ROWLOCK_COMMIT;
    if ((flags & ROWLOCK_BEGIN) && !link->dialect->plain->wait_stays)
        link->limit_ms = -1;
    if (!idle)
        rows_replaced(link); /* the inner driver checks only when a transaction begins or commits */
    if (rowlock__inner_state(link) == ROWLOCK_STATE_OPEN)
        outcome->left = ROWLOCK_TX_KEPT; /* true if nothing is sent */
    work.begins = flags & ROWLOCK_BEGIN;
    work.own = reads || work.begins;
    for (size_t i = 0; !code && i < n; i++)
        code = carry_out(&work, &calls[i]);
    nothing_sent = work.begins != 0;
    if (!code && (flags & ROWLOCK_COMMIT)) {
        if (!nothing_sent)
            code = rowlock__work_commit(&work);
        if (!code)
            outcome->left = ROWLOCK_TX_NONE;
    } else if (!code && (flags & ROWLOCK_BEGIN) && nothing_sent && !work.undone && n == 0) {
        code = rowlock__inner_run(&work, ROWLOCK_BEGIN, NULL, budget);
    }
    if (reads && link->inner && rowlock__inner_state(link) != ROWLOCK_STATE_IDLE)
        rowlock__work_undo(&work);
    if (reads && code == ROWLOCK_EUNKNOWN) /* the lost COMMIT changed nothing */
        code = work.error->code = ROWLOCK_ECONN;
    return code;
}

static int rows_rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                         struct rowlock_error *error)
{
    if (!link->dialect->plain->wait_stays)
        link->limit_ms = -1;
    return link->inner ? link->driver->rollback(link->inner, budget, error) : ROWLOCK_OK;
}

/* ---- scripts --------------------------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the object exists that the statement creates or drops. `*there` stays as it is if the
   statement does neither. */
static int look(struct rowlock_work *work, const char *statement, bool *there)
{
    const char *word = statement, *column;
    char table[64], name[64];

    for (int i = 0; i < 2; i++) { /* the table is the third word */
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
    snprintf(table, sizeof table, "%.*s", (int)strspn(word, "abcdefghijklmnopqrstuvwxyz_"), word);
    if (starts(statement, "ALTER TABLE ")) {
        column = strstr(statement, " ADD ");
        *there = false;
        if (!column)
            return ROWLOCK_OK;
        column += strlen(" ADD ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(column, " "), column);
        return rowlock__work_has_column(work, table, name, there);
    }
    if (starts(statement, "CREATE TABLE ") || starts(statement, "DROP TABLE "))
        return rowlock__work_has_table(work, table, there);
    return ROWLOCK_OK;
}

/* Runs one statement unless its object shows that it has been executed. The scripts have no IF
   EXISTS, which some engines lack. After a failure it looks again: another installer, or an
   interrupted script, may have executed the statement. */
static int try_statement(struct rowlock_work *work, const char *statement)
{
    bool drops = starts(statement, "DROP TABLE "), there = drops;
    int code = look(work, statement, &there), found;

    if (code || there != drops)
        return code;
    code = rowlock__work_execute(work, statement);
    if ((code != ROWLOCK_EDB && code != ROWLOCK_EABORTED) || drops)
        return code;
    there = true;
    found = look(work, statement, &there);
    if (found || !there)
        return found ? found : code;
    rowlock__clear_error(work->error);
    return ROWLOCK_OK;
}

/* Tries again after a failure: two installers may conflict in the catalog, or deadlock there, and
   the next try finds the object. */
static int run_statement(struct rowlock_work *work, const char *statement)
{
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    int code = try_statement(work, statement);

    for (int i = 0; i < TRIES && (code == ROWLOCK_EDB || code == ROWLOCK_EROLLEDBACK ||
                                  code == ROWLOCK_EABORTED);
         i++) {
        if (rowlock__pause(&pause, work->budget->interrupt_fd, work->budget->deadline_ms) ==
            ROWLOCK_WAKE_INTERRUPT)
            return rowlock__fail(work->error, ROWLOCK_ECANCELED, "interrupted");
        rowlock__clear_error(work->error);
        code = try_statement(work, statement);
    }
    return code;
}

static int rows_script(struct rowlock_link *link, const char *text,
                       const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct rowlock_outcome outcome = {0};
    struct rowlock_error unseen;
    struct rowlock_work work = {.link = link,
                                .budget = budget,
                                .outcome = &outcome,
                                .error = error ? error : &unseen,
                                .begins = ROWLOCK_BEGIN,
                                .own = true};
    int code = ROWLOCK_OK;
    const char *start;
    size_t length;

    if (link->dialect->plain->whole) /* SQLite has scripts of its own, with a transaction */
        return link->driver->script(link->inner, text, budget, error);
    if (rowlock__inner_state(link) != ROWLOCK_STATE_IDLE)
        work.begins = 0;
    if (!work.begins)
        code = rowlock__work_commit(&work);
    while (!code && rowlock__script_next(&text, &start, &length)) {
        char *statement = strndup(start, length);

        code = statement ? run_statement(&work, statement) : rowlock__no_memory(work.error);
        free(statement);
    }
    return code;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int rows_socket(const struct rowlock_link *link)
{
    return link->inner && link->driver->socket ? link->driver->socket(link->inner) : -1;
}

/* Its statements need no session of the server. */
static int64_t no_backend_id(__attribute__((unused)) const struct rowlock_link *link)
{
    return 0;
}

static void *rows_handle(const struct rowlock_link *link)
{
    return link->inner ? link->driver->handle(link->inner) : NULL;
}

const struct rowlock_driver rowlock__emulate_driver = {
    .name = "rows",
    .schemes = "",
    .open = rows_open,
    .close = rows_close,
    .run = rows_run,
    .rollback = rows_rollback,
    .state = rowlock__inner_state,
    .script = rows_script,
    .replaced = rows_replaced,
    .use_former = rows_use_former,
    .socket = rows_socket,
    .backend_id = no_backend_id,
    .handle = rows_handle,
};
