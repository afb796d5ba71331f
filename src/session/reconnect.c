/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a session, and replaces a lost one by a new one in the same connection. */
#include "session/connection.h"

#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/url.h"

/* Tries the URL that the application reads again after a refused login, and keeps it if the server
   accepts it. `error` has the refusal; a reason why there is no other URL is added to it. */
static int open_by_new_login(struct rowlock_connection *connection,
                             const struct rowlock_budget *budget, struct rowlock_link **out,
                             const struct rowlock_dialect **dialect, struct rowlock_error *error)
{
    struct rowlock_source source = {NULL, NULL, connection->database, connection->interrupt_fd};
    struct rowlock_error why = {0};
    char *url = NULL;
    int code = error->code;

    if (connection->reread_url(connection->reread_data, &url, &why) || !url) {
        if (why.text[0])
            rowlock__advise(error, why.text);
    } else if (!rowlock__same_database(connection->url, url)) {
        rowlock__advise(error,
                        "the URL, read again, names another server or database, or has "
                        "other options, and is not used: correct it, or restart this program");
    } else if (strcmp(connection->url, url) != 0) {
        source.url = url;
        code = connection->driver->open(&source, budget, out, dialect, error);
    }
    if (!code) {
        char *former = connection->url;

        rowlock__clear_error(error);
        connection->url = url;
        url = former;
    }
    if (url)
        rowlock__wipe(url, strlen(url));
    free(url);
    return code;
}

int rowlock__open_session(struct rowlock_connection *connection, void *handle,
                          const struct rowlock_budget *budget, struct rowlock_link **out,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error)
{
    struct rowlock_source source = {NULL, handle, connection->database, connection->interrupt_fd};
    struct rowlock_pause pause = {.next_ms = 20, .most_ms = 500};
    struct rowlock_error full = {0}, ignored = {0};

    if (!error)
        error = &ignored;
    for (;;) {
        int code;

        source.url = connection->url;
        code = connection->driver->open(&source, budget, out, dialect, error);
        if (code == ROWLOCK_EDENIED && !handle && connection->reread_url)
            code = open_by_new_login(connection, budget, out, dialect, error);
        /* a server whose machine is gone is noticed within a minute, unless the URL has limits */
        if (!code && !handle && connection->driver->socket &&
            !rowlock__find_caseless(connection->url, "keepalive") &&
            !rowlock__find_caseless(connection->url, "tcp_user_timeout"))
            rowlock__keep_alive(connection->driver->socket(*out));
        if (code && rowlock_is_full(error))
            full = *error;
        else if (code != ROWLOCK_ECONN || !full.code || rowlock__now_ms() < budget->deadline_ms)
            return code;
        else
            *error = full; /* the deadline ended the last attempt */
        switch (rowlock__pause(&pause, budget->interrupt_fd, budget->deadline_ms)) {
        case ROWLOCK_WAKE_DEADLINE:
            return full.code;
        case ROWLOCK_WAKE_INTERRUPT:
            return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
        case ROWLOCK_WAKE_READY:
            break;
        }
    }
}

int rowlock__can_reconnect(const struct rowlock_connection *connection)
{
    return !connection->wrapped && connection->url != NULL;
}

bool rowlock__can_move(const struct rowlock_connection *connection)
{
    return connection->dialect->procedural && !connection->dialect->plain &&
           rowlock__can_reconnect(connection);
}

static void session_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_connection *connection = data;

    if (n < 2)
        return;
    connection->session = rowlock__value_number(&columns[0]);
    rowlock__column_text(&columns[1], connection->session_start, sizeof connection->session_start);
}

bool rowlock__session_question(struct rowlock_connection *connection, struct rowlock_call *call)
{
    *call = (struct rowlock_call){.statement = rowlock__sql(connection, ROWLOCK_SQL_SESSION),
                                  .row = session_row,
                                  .data = connection};
    return call->statement && connection->session == 0 && rowlock__can_reconnect(connection);
}

void rowlock__session_answered(struct rowlock_connection *connection)
{
    /* with another id there is a pooler in between, and that session serves other clients too */
    if (connection->session == 0 ||
        connection->session != connection->driver->backend_id(connection->link))
        connection->session = -1;
}

int rowlock__learn_session(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_call call;
    int code;

    if (!rowlock__session_question(connection, &call))
        return ROWLOCK_OK;
    code = rowlock__ask(connection, ROWLOCK_SQL_SESSION, NULL, call.row, call.data, error);
    if (!code)
        rowlock__session_answered(connection);
    return code;
}

static void verified_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_connection *connection = data;

    for (unsigned i = 0; i < n && i < 4; i++) {
        char *text = connection->verification_text[i];

        rowlock__column_text(&columns[i], text, sizeof connection->verification_text[i]);
        connection->verification[i] = text[strspn(text, "0123456789")]
                                          ? rowlock__text_value(text)
                                          : rowlock__int_value(rowlock__value_number(&columns[i]));
    }
    connection->verified = 1;
}

int rowlock__verify(struct rowlock_connection *connection, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    struct rowlock_value session;
    struct rowlock_call draw, verify;
    int code = ROWLOCK_OK;

    if (connection->verified || connection->wrapped ||
        !rowlock__sql(connection, ROWLOCK_SQL_VERIFY))
        return ROWLOCK_OK;
    session = rowlock__int_value(connection->driver->backend_id(connection->link));
    draw = rowlock__call(connection, ROWLOCK_SQL_NEXT_NUMBER, NULL, NULL, NULL);
    verify = rowlock__call(connection, ROWLOCK_SQL_VERIFY, &session, verified_row, connection);
    for (int i = 0; !code && !connection->verified && i < 2; i++) {
        if (i > 0)
            code = rowlock__send(connection, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &draw, budget, error);
        if (!code)
            code = rowlock__send(connection, ROWLOCK_INSIDE, &verify, budget, error);
    }
    if (!code && !connection->verified)
        connection->verified = -1;
    return code;
}

int64_t *rowlock__mark_of(struct rowlock_connection *connection, int64_t token)
{
    for (size_t i = 0; i < sizeof connection->mark / sizeof *connection->mark; i++)
        if (connection->mark[i] == token)
            return &connection->mark[i];
    return NULL;
}

int64_t rowlock__marking_session(struct rowlock_connection *connection)
{
    return rowlock__mark_of(connection, 0) ? connection->driver->backend_id(connection->link) : 0;
}

/* Replaces the link, and returns the old one. */
static struct rowlock_link *put_link(struct rowlock_connection *connection,
                                     struct rowlock_link *link)
{
    struct rowlock_link *old = connection->link;

    connection->link = link;
    rowlock__use_former(connection, connection->former);
    connection->verified = 0;
    memset(connection->mark, 0, sizeof connection->mark);
    return old;
}

/* The first statements of a new session, within the time limit of the wait: a server may accept the
   connection and then not answer. */
static int greet(struct rowlock_connection *connection, int64_t deadline_ms,
                 struct rowlock_error *error)
{
    rowlock_duration usual_ms = connection->statement_ms;
    int64_t left_ms = deadline_ms - rowlock__now_ms();
    int code;

    if (usual_ms < 0 || usual_ms > left_ms)
        connection->statement_ms = left_ms > 0 ? left_ms : 0;
    code = rowlock__check_server(connection, error);
    if (!code) {
        /* Ends the lost session at the server. Otherwise its locks and queue positions would
           last until the server notices the loss. */
        struct rowlock_value values[] = {
            {.type = ROWLOCK_INT, .number = connection->session},
            {.type = ROWLOCK_BYTES,
             .bytes = connection->session_start,
             .length = strlen(connection->session_start)},
        };

        if (connection->session > 0)
            rowlock__ask(connection, ROWLOCK_SQL_END_SESSION, values, NULL, NULL, NULL);
        connection->session = 0;
    }
    connection->statement_ms = usual_ms;
    return code;
}

int rowlock__reconnect(struct rowlock_connection *connection, int64_t deadline_ms,
                       struct rowlock_error *error)
{
    struct rowlock_budget budget = {rowlock__after(rowlock__now_ms(), connection->connect_ms),
                                    connection->interrupt_fd, 0};
    const struct rowlock_dialect *dialect = NULL;
    struct rowlock_link *old, *fresh = NULL;
    int code;

    if (!rowlock__can_reconnect(connection))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the connection is lost; it was not opened by URL, so open another");
    budget.give_up_ms = budget.deadline_ms = rowlock__least(budget.deadline_ms, deadline_ms);
    code = rowlock__open_session(connection, NULL, &budget, &fresh, &dialect, error);
    if (!code && dialect != connection->dialect) {
        connection->driver->close(fresh);
        code =
            rowlock__fail(error, ROWLOCK_ECONN, "another kind of server now answers at this URL");
    }
    if (code)
        return rowlock__wrap_error(error, code, "reconnecting");
    old = put_link(connection, fresh);
    code = greet(connection, deadline_ms, error);
    if (code) {
        connection->driver->close(put_link(connection, old));
        return rowlock__wrap_error(error, code, "reconnecting");
    }
    connection->driver->close(old);
    return ROWLOCK_OK;
}
