/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of rowlock's schema on PostgreSQL step by step (postgresql_hand.h). */
#include "lib/postgresql_hand.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/test.h"

#define SIZE 700

static char *buffer(void)
{
    static char all[16][SIZE];
    static unsigned turn;

    return all[turn++ % 16];
}

void *hand_open(void)
{
    void *hand = t_native();

    if (t_facts()->code == ROWLOCK_ROW)
        hand_row(hand, "SELECT rowlock.prepare(n) FROM unnest(ARRAY['a', 'b', 'c', 'd']) n");
    return hand;
}

void hand_forget(void *hand)
{
    hand_row(
        hand,
        "DELETE FROM rowlock.heartbeat; DELETE FROM rowlock.lease; DELETE FROM rowlock.waiter");
}

void *hand_fresh(void)
{
    void *hand = hand_open();

    hand_forget(hand);
    return hand;
}

static const char *joined(const PGresult *result, char *out)
{
    size_t at = 0;

    out[0] = '\0';
    if (PQntuples(result) == 0)
        snprintf(out, SIZE, "(none)");
    for (int i = 0; PQntuples(result) > 0 && i < PQnfields(result) && at < SIZE; i++)
        at += (size_t)snprintf(out + at, SIZE - at, "%s%s", i ? "|" : "", PQgetvalue(result, 0, i));
    return out;
}

/* The last statement of the text that returns rows; `state` is that of the first one that
   failed. */
static const char *answer(void *hand, const char **state)
{
    char *out = buffer(), *why = buffer();
    PGresult *result;

    snprintf(out, SIZE, "(none)");
    *state = NULL;
    while ((result = PQgetResult(hand))) {
        if (PQresultStatus(result) == PGRES_TUPLES_OK) {
            joined(result, out);
        } else if (PQresultStatus(result) != PGRES_COMMAND_OK && !*state) {
            const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

            snprintf(why, SIZE, "%s", code ? code : "lost");
            *state = why;
        }
        PQclear(result);
    }
    return out;
}

static void vsend(void *hand, const char *format, va_list arguments)
{
    char *text = NULL;

    t_true(vasprintf(&text, format, arguments) >= 0);
    if (!PQsendQuery(hand, text))
        t_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(hand));
    free(text);
}

static const char *vrow(void *hand, const char *format, va_list arguments)
{
    const char *state, *row;

    vsend(hand, format, arguments);
    row = answer(hand, &state);
    if (state)
        t_fail(__FILE__, __LINE__, "%s: %s", format, PQerrorMessage(hand));
    return row;
}

const char *hand_row(void *hand, const char *format, ...)
{
    va_list arguments;
    const char *row;

    va_start(arguments, format);
    row = vrow(hand, format, arguments);
    va_end(arguments);
    return row;
}

long long hand_number(void *hand, const char *format, ...)
{
    va_list arguments;
    long long number;

    va_start(arguments, format);
    number = atoll(vrow(hand, format, arguments));
    va_end(arguments);
    return number;
}

/* ---- statements that may wait ---------------------------------------------------------------- */

void hand_start(void *hand, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsend(hand, format, arguments);
    va_end(arguments);
}

/* Whether the whole answer has arrived; consumes nothing. */
int hand_is_done(void *hand)
{
    struct pollfd socket = {PQsocket(hand), POLLIN, 0};

    if (poll(&socket, 1, 0) > 0)
        PQconsumeInput(hand);
    return !PQisBusy(hand);
}

void hand_until_waiting(void *hand)
{
    long long end = t_now() + T_TIMEOUT_MS;

    while (!t_engine()->is_waiting(t_admin(), PQbackendPID(hand)))
        if (hand_is_done(hand) || t_now() > end)
            t_fail(__FILE__, __LINE__, "it does not wait");
}

const char *hand_finish(void *hand)
{
    const char *state, *row = answer(hand, &state);

    return state ? state : row;
}

/* ---- leases ---------------------------------------------------------------------------------- */

const char *hand_wants(const char *wants)
{
    char *out = buffer();
    size_t at = 0;
    int in_name = 1;

    for (; *wants && at + 3 < SIZE; wants++) {
        in_name = in_name && *wants != ':';
        at += (size_t)snprintf(out + at, SIZE - at, in_name ? "%02x" : "%c", (unsigned char)*wants);
        in_name = in_name || *wants == ',';
    }
    return out;
}

static const char *call(void *hand, const struct hand_terms *terms, long wait_ms)
{
    static unsigned calls;
    char *text = buffer(), *own = buffer();

    snprintf(own, SIZE, "owner %d %u", PQbackendPID(hand), ++calls);
    snprintf(text, SIZE,
             "SELECT * FROM rowlock.grant_lease('%s', '%s', %ld, %ld, %lld, pg_backend_pid(), "
             "'here', 4711, 'work', 'a note')",
             hand_wants(terms->wants), terms->owner ? terms->owner : own,
             terms->ttl_ms ? terms->ttl_ms : 60000, wait_ms, terms->ticket);
    return text;
}

#define OWN_BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

const char *hand_try(void *hand, struct hand_terms terms)
{
    return hand_row(hand,
                    OWN_BEGIN "; SELECT g.status, coalesce(g.token, g.number) FROM (%s) g; COMMIT",
                    call(hand, &terms, 0));
}

void hand_wait(void *hand, struct hand_terms terms, long wait_ms)
{
    hand_row(hand, OWN_BEGIN);
    hand_start(hand, "%s", call(hand, &terms, wait_ms));
}

long long hand_lease(void *hand, const char *wants)
{
    const char *row = hand_try(hand, (struct hand_terms){.wants = wants});

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s is not granted: %s", wants, row);
    return atoll(row + 2);
}

long long hand_queue(void *hand, const char *wants, int locked)
{
    const char *row = hand_row(
        hand,
        "SELECT status, number FROM rowlock.enqueue('%s', 'waiter %d', %s, 60000, 'here', 4711, "
        "'work', 'a note')",
        hand_wants(wants), PQbackendPID(hand), locked ? "pg_backend_pid()" : "0");

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s: no ticket: %s", wants, row);
    return atoll(row + 2);
}

const char *hand_place(void *hand, const char *wants, long long ticket, int locked)
{
    return hand_row(hand,
                    "SELECT status, number, before, free, locked "
                    "FROM rowlock.place('%s', %lld, %s, 60000)",
                    hand_wants(wants), ticket, locked ? "pg_backend_pid()" : "0");
}

int hand_is_marked(void *hand, long long number)
{
    return hand_number(hand,
                       "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
                       "(classid::bigint << 32 | objid::bigint) = rowlock.session_key(%lld)",
                       number) > 0;
}

void hand_expire(void *hand, long long token)
{
    hand_row(hand,
             "SELECT rowlock.make_heartbeat(%lld); "
             "UPDATE rowlock.heartbeat SET expires = clock_timestamp() - interval '1 s' "
             "WHERE token = %lld",
             token, token);
}
