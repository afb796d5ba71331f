/* SPDX-License-Identifier: Apache-2.0 */
/* The error of a busy lock: names the holder, since when, and how many wait, as far as known. */
#include "lock/refusal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/calendar.h"
#include "util/error.h"

struct holder {
    int found;
    char kind[16], pid[24], host[80], program[64], since[48], expires[48], note[120];
    bool endless;           /* it has no expiry: it lasts until it is released */
    int64_t permits, limit; /* PERMIT: those that are held, and the limit; 0: not permits */
    int64_t waiting;
    const char *owner; /* of the caller, which is not counted; or NULL */
};

void rowlock__answer_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_answer *answer = data;

    if (n < 1 || answer->status != ROWLOCK_STATUS_OK)
        return;
    answer->status = (enum rowlock_status)rowlock__value_number(&columns[0]);
    if (n < 4)
        return;
    rowlock__column_text(&columns[1], answer->name, sizeof answer->name);
    answer->stays = (int)rowlock__value_number(&columns[2]);
    rowlock__column_text(&columns[3], answer->detail, sizeof answer->detail);
}

static void leftover_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_answer *answer = data;
    char uuid[40], since[40];

    if (n < 2)
        return;
    rowlock__column_text(&columns[0], uuid, sizeof uuid);
    rowlock__column_text(&columns[1], since, sizeof since);
    answer->status = ROWLOCK_STATUS_LEFTOVER;
    snprintf(answer->detail, sizeof answer->detail, "uuid %s, locked_ts %s", uuid, since);
}

int rowlock__look_for_leftovers(struct rowlock_connection *connection,
                                const struct rowlock_want *want, size_t n,
                                struct rowlock_answer *answer, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    if (connection->dialect->procedural || connection->installed.technique != ROWLOCK_INSERT)
        return ROWLOCK_OK;
    for (size_t i = 0; !code && answer->status == ROWLOCK_STATUS_OK && i < n; i++) {
        struct rowlock_value name = rowlock__text_value(want[i].name);

        snprintf(answer->name, sizeof answer->name, "%s", want[i].name);
        code = rowlock__ask(connection, ROWLOCK_SQL_LEFTOVER, &name, leftover_row, answer, error);
    }
    return code;
}

/* kind, pid, host, program, since, expires, note, waiting */
static void holder_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct holder *holder = data;
    int64_t waiting = n < 8 ? 0 : rowlock__value_number(&columns[7]);
    char since[48], expires[48]; /* UTC */

    if (n < 8 || holder->found++)
        return;
    rowlock__column_text(&columns[0], holder->kind, sizeof holder->kind);
    rowlock__column_text(&columns[1], holder->pid, sizeof holder->pid);
    rowlock__column_text(&columns[2], holder->host, sizeof holder->host);
    rowlock__column_text(&columns[3], holder->program, sizeof holder->program);
    rowlock__column_text(&columns[4], since, sizeof since);
    rowlock__local_time_of(since, holder->since, sizeof holder->since);
    rowlock__column_text(&columns[5], expires, sizeof expires);
    rowlock__local_time_of(expires, holder->expires, sizeof holder->expires);
    rowlock__column_text(&columns[6], holder->note, sizeof holder->note);
    holder->waiting = waiting > holder->waiting ? waiting : holder->waiting;
}

/* Keeps the first lease, and counts permits, and the waiters except the caller. The columns: state,
   name, mode, token, ticket, owner, host, pid, command, note, since_ms, expires_ms, left_ms, limit,
   count. */
static void listed_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct holder *holder = data;
    char state[16], mode[16];
    bool own;

    if (n < 15)
        return;
    rowlock__column_text(&columns[0], state, sizeof state);
    rowlock__column_text(&columns[2], mode, sizeof mode);
    own = holder->owner && columns[5].type == ROWLOCK_BYTES &&
          columns[5].length == strlen(holder->owner) &&
          memcmp(columns[5].bytes, holder->owner, columns[5].length) == 0;
    holder->waiting += strcmp(state, "waiting") == 0 && !own;
    if (strcmp(state, "held") != 0)
        return;
    if (strcmp(mode, "permit") == 0) {
        holder->permits += rowlock__value_number(&columns[14]);
        holder->limit = rowlock__value_number(&columns[13]);
    }
    if (holder->found++)
        return;
    snprintf(holder->kind, sizeof holder->kind, "lease");
    rowlock__column_text(&columns[7], holder->pid, sizeof holder->pid);
    rowlock__column_text(&columns[6], holder->host, sizeof holder->host);
    rowlock__column_text(&columns[8], holder->program, sizeof holder->program);
    rowlock__column_text(&columns[9], holder->note, sizeof holder->note);
    rowlock__local_time(rowlock__value_number(&columns[10]), holder->since, sizeof holder->since);
    rowlock__local_time(rowlock__value_number(&columns[11]), holder->expires,
                        sizeof holder->expires);
    holder->endless = rowlock__value_number(&columns[12]) > ROWLOCK_UNTIL_RELEASED / 2;
}

static size_t add(char *out, size_t size, size_t at, const char *before, const char *what,
                  const char *after)
{
    int n = *what && at < size ? snprintf(out + at, size - at, "%s%s%s", before, what, after) : 0;

    return at + (size_t)n;
}

/* For a lease, pid and host are the holder's. For a transaction the engine reports its own session
   id and the client's host. */
static void describe(const struct holder *holder, char *out, size_t size)
{
    int leased = strcmp(holder->kind, "lease") == 0;
    char waiting[24] = "";
    size_t at = 0;

    if (holder->waiting)
        snprintf(waiting, sizeof waiting, "%lld", (long long)holder->waiting);
    out[0] = '\0';
    at = add(out, size, at, " by ", leased ? "a lease" : "a transaction", "");
    at = add(out, size, at, leased ? ", pid " : ", server session ", holder->pid, "");
    at = add(out, size, at, leased ? " on " : " of a client on ", holder->host, "");
    at = add(out, size, at, " (", holder->program, ")");
    at = add(out, size, at, ", since ", holder->since, "");
    if (holder->endless)
        at = add(out, size, at, ", until ", "it is released", "");
    else
        at = add(out, size, at, ", expires ", holder->expires, "");
    at = add(out, size, at, ", note: \"", holder->note, "\"");
    add(out, size, at, ", ", waiting, " waiting");
}

/* A name without a lease may be held by a transaction. Waiters for transaction locks are in the
   engine's queue, waiters for leases in rowlock's; the first of these may be in both. */
static void ask_holder(const char *name, const char *owner, struct rowlock_connection *informant,
                       struct holder *holder)
{
    struct rowlock_value value = {ROWLOCK_BYTES, 0, name, strlen(name)};

    *holder = (struct holder){.owner = owner};
    rowlock__ask(informant, ROWLOCK_SQL_LIST, &value, listed_row, holder, NULL);
    if (!holder->found)
        rowlock__ask(informant, ROWLOCK_SQL_HOLDER, &value, holder_row, holder, NULL);
}

void rowlock__find_held(struct rowlock_answer *answer, const struct rowlock_wants *wants,
                        struct rowlock_connection *informant)
{
    struct holder holder = {0};
    size_t i = 0;

    for (size_t k = 0; informant && wants->n > 1 && k < wants->n && !holder.found; k++) {
        ask_holder(wants->want[k].name, answer->owner, informant, &holder);
        i = holder.found ? k : 0;
    }
    snprintf(answer->name, sizeof answer->name, "%s", wants->want[i].name);
}

/* "'a' is held by a lease, pid 7 on db1 (backup), since ..., 2 waiting"; for permits also the
   counts. */
static int held(const struct rowlock_answer *answer, rowlock_duration wait_ms,
                struct rowlock_connection *informant, struct rowlock_error *error)
{
    struct holder holder = {0};
    char by[400], text[600];
    int busy = answer->status == ROWLOCK_STATUS_BUSY || wait_ms == 0;

    if (!answer->detail[0] && informant && answer->name[0])
        ask_holder(answer->name, answer->owner, informant, &holder);
    if (answer->detail[0])
        snprintf(by, sizeof by, " by %s", answer->detail);
    else if (holder.found)
        describe(&holder, by, sizeof by);
    else
        snprintf(by, sizeof by, " by another transaction");
    if (holder.permits)
        snprintf(text, sizeof text, "%lld of %lld permits of '%.100s' %s held%s",
                 (long long)holder.permits, (long long)holder.limit, answer->name,
                 holder.permits == 1 ? "is in use," : "are in use; one is", by);
    else
        snprintf(text, sizeof text, "'%.100s' is held%s", answer->name, by);
    return rowlock__fail(error, busy ? ROWLOCK_EBUSY : ROWLOCK_ETIMEDOUT, "%s%s%s", text,
                         busy ? "" : "; not acquired in time",
                         answer->stays ? "; a row asked for stays locked until the transaction ends"
                                       : "");
}

/* No session holds the name, but earlier waiters are queued. */
static int queued(const struct rowlock_answer *answer, rowlock_duration wait_ms,
                  struct rowlock_connection *informant, struct rowlock_error *error)
{
    struct holder holder = {0};
    char waiting[24] = "some";

    if (informant && answer->name[0])
        ask_holder(answer->name, answer->owner, informant, &holder);
    if (holder.found)
        return held(answer, wait_ms, informant, error);
    if (holder.waiting)
        snprintf(waiting, sizeof waiting, "%lld", (long long)holder.waiting);
    return rowlock__fail(error, wait_ms == 0 ? ROWLOCK_EBUSY : ROWLOCK_ETIMEDOUT,
                         "'%.100s' has earlier waiters in its queue (%s waiting)%s", answer->name,
                         waiting, wait_ms == 0 ? "" : "; not acquired in time");
}

/* An error that the SQL function caught: the detail is its SQLSTATE, a blank and its text. */
static int raised(const struct rowlock_answer *answer, int code, const char *advice,
                  struct rowlock_error *error)
{
    const char *text = answer->detail;
    char sqlstate[6] = "";

    if (strlen(text) > 6 && text[5] == ' ') {
        snprintf(sqlstate, sizeof sqlstate, "%.5s", text);
        text += 6;
    }
    if (strncmp(text, "rowlock: ", 9) == 0)
        text += 9;
    rowlock__fail(error, code, "'%.100s': %s%s", answer->name, text, advice);
    if (error)
        snprintf(error->sqlstate, sizeof error->sqlstate, "%s", sqlstate);
    return code;
}

int rowlock__refuse(const struct rowlock_answer *answer, rowlock_duration wait_ms,
                    struct rowlock_connection *informant, int interrupted,
                    struct rowlock_error *error)
{
    switch (answer->status) {
    case ROWLOCK_STATUS_BUSY:
    case ROWLOCK_STATUS_TIMEDOUT:
    case ROWLOCK_STATUS_LEASED:
    case ROWLOCK_STATUS_EXPIRED:
        return held(answer, wait_ms, informant, error);
    case ROWLOCK_STATUS_UNPREPARED:
        return rowlock__fail(error, ROWLOCK_EUNPREPARED,
                             "'%s' was never locked before; call rowlock_prepare before the "
                             "transaction, or give options.url for a second connection",
                             answer->name);
    case ROWLOCK_STATUS_LEFTOVER:
        return rowlock__fail(error, ROWLOCK_ELEFTOVER,
                             "'%.100s' is held by a committed row that another program left behind "
                             "(%s); if that program is not at work, run: rowlock vacuum",
                             answer->name, answer->detail);
    case ROWLOCK_STATUS_CANCELED:
        return rowlock__fail(error, interrupted ? ROWLOCK_ECANCELED : ROWLOCK_ETIMEDOUT,
                             "%s while waiting for '%.100s'",
                             interrupted         ? "interrupted"
                             : answer->detail[0] ? answer->detail
                                                 : "the server cancelled the statement",
                             answer->name);
    case ROWLOCK_STATUS_LOST:
        return rowlock__fail(
            error, ROWLOCK_ELOST,
            "the token is not (or no longer) a lease of '%s' that allows this lock", answer->name);
    case ROWLOCK_STATUS_SNAPSHOT:
        return raised(answer, ROWLOCK_ESNAPSHOT,
                      "; roll back, and BEGIN ISOLATION LEVEL READ COMMITTED, or use rowlock_begin",
                      error);
    case ROWLOCK_STATUS_SERVER:
        return raised(answer, ROWLOCK_ESERVER, "", error);
    case ROWLOCK_STATUS_QUEUED:
    case ROWLOCK_STATUS_UNQUEUED:
        return queued(answer, wait_ms, informant, error);
    case ROWLOCK_STATUS_LIMIT:
        return rowlock__fail(error, ROWLOCK_ELIMIT,
                             "'%.100s': the number of permits was stated differently (%s); all who "
                             "use the name must state the same limit",
                             answer->name, answer->detail);
    case ROWLOCK_STATUS_STOPPED:
        return rowlock__fail(error, ROWLOCK_ELOST,
                             "the lease of '%.100s' was broken; stop the work under it",
                             answer->name);
    case ROWLOCK_STATUS_OK:
        break;
    }
    return rowlock__fail(error, ROWLOCK_EDB, "unexpected status %d of the locking statement",
                         (int)answer->status);
}
