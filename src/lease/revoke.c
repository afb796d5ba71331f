/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_break: an operator ends a lease by its name. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lease/lease.h"
#include "lease/query.h"
#include "lease/request.h"
#include "util/error.h"
#include "util/utf8.h"

static int not_broken(const struct rowlock_connection *connection, int code, const char *name,
                      struct rowlock_error *error)
{
    bool waited = code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED;

    if (waited && rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return rowlock__fail(error, code == ROWLOCK_ETIMEDOUT ? ROWLOCK_ECONN : code,
                             "'%.100s': cancelled, but the server did not answer: "
                             "the lease may be broken; 'rowlock ls' shows it",
                             name);
    if (code == ROWLOCK_ECANCELED)
        return rowlock__fail(error, code,
                             "interrupted: the lease of '%.100s' that was waited for is not broken",
                             name);
    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(error, code,
                             "'%.100s' was not broken: a transaction that has checked its token "
                             "(the fence) is still "
                             "open; try again when it has ended, or end that session",
                             name);
    return rowlock__wrap_error(error, code, "breaking '%.100s'", name);
}

/* ---- who broke it, for the history ----------------------------------------------------------- */

struct broken {
    int64_t only; /* 0: all of the name */
    struct rowlock_rows tokens;
};

/* Collects the tokens of the leases that are held and not broken yet. */
static int take_token(const struct rowlock_holder *holder, void *data)
{
    struct broken *broken = data;
    int64_t *tokens = broken->tokens.row, *token;

    if (holder->holding != ROWLOCK_HOLDS || holder->stop || holder->remaining_ms <= 0 ||
        (broken->only && broken->only != holder->token))
        return 0;
    for (size_t i = 0; i < broken->tokens.n; i++)
        if (tokens[i] == holder->token)
            return 0;
    if ((token = rowlock__rows_add(&broken->tokens)))
        *token = holder->token;
    return 0;
}

#define TOGETHER 64 /* rows of one transaction, where a dialect has BEGIN */

void rowlock__log_user(struct rowlock_connection *connection, const char *name,
                       const int64_t *tokens, size_t n)
{
    static const char *const variables[] = {"SUDO_USER", "LOGNAME", "USER"};
    bool begins = rowlock__sql(connection, ROWLOCK_SQL_BEGIN) != NULL;
    size_t most = begins ? TOGETHER : 1;
    unsigned flags = begins ? ROWLOCK_BEGIN | ROWLOCK_COMMIT : ROWLOCK_INSIDE;
    const char *name_of_user = connection->user;
    char host[256], user[64];
    struct rowlock_value who[3], values[TOGETHER][5];
    struct rowlock_call calls[TOGETHER];
    int code = ROWLOCK_OK;

    /* of the connection, or of the environment, also behind sudo */
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!name_of_user || !*name_of_user)
            name_of_user = getenv(variables[i]);
    rowlock__utf8_copy(user, sizeof user, name_of_user ? name_of_user : "");
    rowlock__host(host, sizeof host);
    who[0] = rowlock__text_value(host);
    who[1] = rowlock__int_value(getpid());
    who[2] = rowlock__text_value(user);
    /* the leases are broken already: the first failure ends this, and is not reported */
    while (!code && n > 0) {
        struct rowlock_budget budget = rowlock__budget(connection);
        struct rowlock_outcome outcome = {0};
        size_t now = n < most ? n : most;

        for (size_t i = 0; i < now; i++) {
            values[i][0] = rowlock__text_value(name);
            values[i][1] = rowlock__int_value(tokens[i]);
            memcpy(&values[i][2], who, sizeof who);
            calls[i] = rowlock__call(connection, ROWLOCK_SQL_LOG_BREAK, values[i], NULL, NULL);
        }
        code =
            connection->driver->run(connection->link, flags, calls, now, &budget, &outcome, NULL);
        rowlock__clean_up(connection, &outcome);
        tokens += now;
        n -= now;
    }
}

/* ---------------------------------------------------------------------------------------------- */

int rowlock_break(struct rowlock_connection *connection, const char *name, int64_t token, int now,
                  int64_t *broken, struct rowlock_error *error)
{
    struct broken leases = {token, {.size = sizeof(int64_t)}};
    int64_t count = 0;
    int code = rowlock__query_check(connection, name, 0, token, error);

    if (!code) {
        struct rowlock_value values[] = {rowlock__text_value(name), rowlock__int_value(token),
                                         rowlock__int_value(now != 0)};
        struct rowlock_query query = {.id = ROWLOCK_SQL_BREAK,
                                      .values = values,
                                      .row = rowlock__take_number,
                                      .data = &count,
                                      .deadline_ms = rowlock__query_deadline(connection)};

        rowlock_list(connection, name, take_token, &leases, NULL);
        code = rowlock__query_result(rowlock__query(connection, &query, error), error);
        if (code)
            code = not_broken(connection, code, name, error);
    }
    if (!code && count > 0)
        rowlock__log_user(connection, name, leases.tokens.row, leases.tokens.n);
    rowlock__rows_clear(&leases.tokens);
    if (!code && broken)
        *broken = count;
    return code;
}
