/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the database that url_lookup has determined. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/signals.h"
#include "command/url_lookup.h"
#include "util/clock.h"

#define CONNECT_MS 10000

/* A caller that set a limit of the wait also waits for an unreachable database within that limit.
   One that waits without limit does so for a full server only. Says each of the reasons once. */
static int open_until(const struct approach *approach, struct rowlock_connection **out,
                      struct rowlock_error *error)
{
    static const char *const reasons[] = {"is unreachable, waiting for it",
                                          "has no free session, waiting for one",
                                          "has no memory left, waiting for it"};
    struct rowlock_pause pause = {.next_ms = 50, .most_ms = 1000};
    int64_t until = approach->deadline_ms ? approach->deadline_ms : ROWLOCK_NEVER;
    int fd = approach->interrupt_fd ? approach->interrupt_fd : -1, said[] = {0, 0, 0};

    for (;;) {
        int64_t left = until - rowlock__now_ms();
        struct rowlock_options options = {.connect_ms = approach->deadline_ms && left < CONNECT_MS
                                                            ? rowlock__most(left, 1)
                                                            : CONNECT_MS,
                                          .statement_ms = approach->statement_ms,
                                          .interrupt_fd = approach->interrupt_fd};
        int code = open_database(&options, out, error), full = rowlock_is_full(error);

        if (code != ROWLOCK_ECONN || !(approach->deadline_ms || (approach->is_patient && full)))
            return code;
        if (!said[full]++ && rowlock__now_ms() < until)
            message("the database %s: %s", reasons[full], error->text);
        switch (rowlock__pause(&pause, fd, until)) {
        case ROWLOCK_WAKE_DEADLINE:
            return code;
        case ROWLOCK_WAKE_INTERRUPT:
            return error->code = ROWLOCK_ECANCELED;
        case ROWLOCK_WAKE_READY:
            break;
        }
    }
}

int prepare_database(const struct url *url)
{
    int status = url->is_local ? url_make_folder(url) : STATUS_OK;

    if (status)
        return status;
    if (url->by_default)
        message(
            "no database was named (--db, ROWLOCK_URL; 'local' if that is meant): using %s, for "
            "this user on this machine only",
            url->text);
    keep_url_secret(url);
    note_database(url);
    return STATUS_OK;
}

int connect_database(const struct url *url, const struct approach *approach,
                     struct rowlock_connection **out)
{
    struct rowlock_error error = {0};
    int status = prepare_database(url), ended;

    if (status)
        return status;
    ended = open_until(approach, out, &error);
    if (ended == ROWLOCK_ECANCELED && approach->interrupt_fd)
        return STATUS_FAILED;
    if (ended == ROWLOCK_EINVAL) {
        /* No part of an invalid URL is printed, because it may contain a password. */
        message("%s%s%s%s", error.text, url->source ? " (the URL is that of " : "",
                url->source ? url->source : "", url->source ? ")" : "");
        return exit_status(error.code);
    }
    return ended ? report(&error) : STATUS_OK;
}

static int find_url(const struct command *command, const struct approach *approach, struct url *out)
{
    char *path = NULL;
    int status;

    if (approach->url) {
        *out = (struct url){.text = strdup(approach->url->text)};
        if (approach->url->source)
            out->source = strdup(approach->url->source);
        return out->text ? STATUS_OK : out_of_memory();
    }
    status = url_lookup(command->db, out);
    if (!status && command->is_farm_wide)
        status = refuse_default(command, out);
    if (!status && approach->needs_server && url_is_file(out)) {
        /* while a command of ours held the whole file's write lock, no other program could write
           to it */
        message("run --tx is not for SQLite: the file has one write lock, and holding it while a "
                "command runs stops every other writer; leave out --tx, or use PostgreSQL or "
                "MariaDB (--db, ROWLOCK_URL)");
        status = STATUS_USAGE;
    }
    if (!status && approach->is_absolute)
        status = url_make_absolute(out);
    if (!status && !approach->may_create)
        status = url_must_exist(out);
    if (!status && approach->verbose && (path = url_overridden(out)))
        message("ROWLOCK_URL counts; '%s' names another database", path);
    free(path);
    return status;
}

int connect_as(const struct command *command, const struct approach *approach,
               struct rowlock_connection **out)
{
    enum rowlock_technique technique;
    struct rowlock_error ignored;
    struct url url;
    int status = find_url(command, approach, &url), number;

    if (!status)
        status = connect_database(&url, approach, out);
    /* The local file is rowlock's own, so it never lacks the tables. The verb reports what else is
       wrong. */
    if (!status && url.is_local && !approach->may_create &&
        rowlock_installed(*out, &technique, &ignored) == ROWLOCK_ESCHEMA)
        rowlock_install(*out, NULL, &ignored);
    url_free(&url);
    if (status && approach->signals && (number = signals_next(approach->signals->wait_fd, NULL)))
        return -number; /* also if the attempt has failed */
    return status;
}

int connect_by_lookup(const struct command *command, struct rowlock_connection **out)
{
    return connect_as(command, &(struct approach){0}, out);
}

void warn_of_schema(struct rowlock_connection *connection)
{
    char *risk = NULL;

    if (!rowlock_schema_risk(connection, &risk, NULL) && risk)
        message("warning: %s", risk);
    rowlock_free(risk);
}
