/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the helper class: the request, its failure, and the end of its time. */
#include <string.h>

#include "driver/credentials.h"
#include "driver/failure.h"
#include "driver/jdbc/jvm.h"
#include "driver/jdbc/link.h"
#include "util/error.h"

void rowlock__jdbc_give_up(struct rowlock_link *link)
{
    rowlock__watch_shut_down(link->watch);
    link->dead = true;
}

static void cancel(void *data)
{
    struct rowlock_link *link = data;

    rowlock__jdbc_call_cancel(link->session);
}

void rowlock__jdbc_begin(struct rowlock_link *link, const struct rowlock_budget *budget)
{
    rowlock__watch_begin(link->watch, budget, link->engine->cancels ? cancel : NULL, link);
}

int rowlock__jdbc_end(struct rowlock_link *link, int code, struct rowlock_error *error)
{
    struct rowlock_watched watched = rowlock__watch_end(link->watch);
    bool cut = code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED || code == ROWLOCK_EDB;
    bool lost;

    link->dead = link->dead || watched.result == ROWLOCK_WATCH_GIVEN_UP;
    lost = link->dead && (code || link->open); /* perhaps of a call that had finished */
    if (watched.result == ROWLOCK_WATCH_CALM || !(cut || lost))
        return code;
    if (link->dead)
        rowlock__clear_error(error);
    return rowlock__cut_off(error, watched.why, false, link->dead);
}

int rowlock__jdbc_failure(struct rowlock_link *link, struct rowlock_error *error)
{
    static const char statement[] = "; SQL statement:"; /* H2 adds it on further lines */
    char sqlstate[sizeof error->sqlstate], text[4096];
    size_t length;
    int native;

    rowlock__jdbc_get_string(&link->message, sqlstate, sizeof sqlstate);
    native = (int)rowlock__jdbc_get_number(&link->message, 4);
    rowlock__jdbc_get_string(&link->message, text, sizeof text);
    length = strcspn(text, "\r\n");
    text[length] = '\0';
    if (length >= sizeof statement - 1 &&
        strcmp(text + length - (sizeof statement - 1), statement) == 0)
        text[length - (sizeof statement - 1)] = '\0';
    if (link->secrets) { /* first, because a later cut may leave a part of a password */
        const char *password = link->secrets->password;

        rowlock__jdbc_hide(link->secrets->url, text);
        rowlock__hide_password(text, password, password ? strlen(password) : 0);
    }
    return rowlock__failure(error, link->engine->name, sqlstate, native, text);
}

/* Asks the session after an error that the failure table does not know, because drivers report a
   lost session in many ways, and after that of a full server, which keeps the session. The
   violation of a constraint (class 23) needs no question. */
int rowlock__jdbc_request(struct rowlock_link *link, struct rowlock_error *error)
{
    struct rowlock__jdbc_message *message = &link->message;
    struct rowlock_error unseen;
    bool full, lost;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__jdbc_call(link->session, message, NULL, error);
    if (code) { /* without an answer its state is unknown */
        rowlock__jdbc_give_up(link);
        return code;
    }
    if (rowlock__jdbc_get_byte(message) == '+')
        return ROWLOCK_OK;
    code = rowlock__jdbc_failure(link, error);
    full = code == ROWLOCK_ECONN && rowlock_is_full(error);
    lost = (code == ROWLOCK_ECONN && !full) || strncmp(error->sqlstate, "08", 2) == 0;
    if (!lost && (code == ROWLOCK_EDB || full) && strncmp(error->sqlstate, "23", 2) != 0) {
        rowlock__jdbc_put(message, 'v');
        lost = rowlock__jdbc_call(link->session, message, NULL, NULL) != ROWLOCK_OK ||
               rowlock__jdbc_get_byte(message) != '+' || rowlock__jdbc_get_byte(message) != 1;
    }
    if (lost) {
        link->dead = true;
        code = ROWLOCK_ECONN;
        error->code = code;
    }
    return code;
}

int rowlock__jdbc_order(struct rowlock_link *link, char kind, struct rowlock_error *error)
{
    rowlock__jdbc_put(&link->message, kind);
    return rowlock__jdbc_request(link, error);
}

int rowlock__jdbc_execute(struct rowlock_link *link, struct rowlock_call *call,
                          struct rowlock_error *error)
{
    int code;

    call->affected = 0;
    rowlock__jdbc_put_call(&link->message, call);
    code = rowlock__jdbc_request(link, error);
    if (code)
        return code;
    call->affected = rowlock__jdbc_get_number(&link->message, 8);
    rowlock__jdbc_get_rows(&link->message, call);
    if (link->message.broken)
        return rowlock__fail(error, ROWLOCK_EDB, "a result of more than %d columns",
                             ROWLOCK_COLUMNS);
    return ROWLOCK_OK;
}
