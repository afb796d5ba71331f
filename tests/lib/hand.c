/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of rowlock's schema step by step (hand.h). */
#include "lib/hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/hand_mariadb.h"
#include "lib/test.h"

#define SIZE 700

static char *buffer(void)
{
    static _Thread_local char all[32][SIZE];
    static _Thread_local unsigned turn;

    return all[turn++ % 32];
}

void *hand_open(void)
{
    void *hand = t_native();

    if (t_is_postgresql() && t_facts()->code != ROWLOCK_ROW)
        return hand;
    for (const char *name = "abcd"; *name; name++)
        hand_row(hand,
                 t_is_postgresql() ? "SELECT rowlock.prepare('%c')" : "CALL rowlock_prepare('%c')",
                 *name);
    return hand;
}

void *hand_fresh(void)
{
    void *hand = hand_open();

    t_forget_leases(hand);
    return hand;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void vsend(void *hand, const char *format, va_list arguments)
{
    char *text = NULL;

    t_true(vasprintf(&text, format, arguments) >= 0);
    if (t_engine()->send(hand, text))
        t_fail(__FILE__, __LINE__, "it cannot be sent: %s", text);
    free(text);
}

const char *hand_row(void *hand, const char *format, ...)
{
    char *out = buffer(), failed[20];
    va_list arguments;

    va_start(arguments, format);
    vsend(hand, format, arguments);
    va_end(arguments);
    t_engine()->receive(hand, out, SIZE, failed, sizeof failed);
    if (*failed)
        t_fail(__FILE__, __LINE__, "%s: %s %s", format, failed, out);
    return out;
}

const char *hand_field(const char *row, int n)
{
    char *out = buffer();

    for (; n > 0 && row; n--)
        row = strchr(row, '|') ? strchr(row, '|') + 1 : NULL;
    snprintf(out, SIZE, "%.*s", row ? (int)strcspn(row, "|") : 0, row ? row : "");
    return out;
}

void hand_start(void *hand, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsend(hand, format, arguments);
    va_end(arguments);
}

static int waits_for_a_session(long session)
{
    return !t_is_postgresql() && hand_number(t_admin(),
                                             "SELECT count(*) FROM " T_PROCESSLIST
                                             " WHERE id = %ld AND state = 'User lock'",
                                             session) > 0;
}

void hand_until_waiting(void *hand)
{
    long long end = t_now() + T_TIMEOUT_MS;
    long session = t_engine()->session(hand);

    while (!t_engine()->is_waiting(t_admin(), session) && !waits_for_a_session(session))
        if (t_engine()->has_answered(hand) || t_now() > end)
            t_fail(__FILE__, __LINE__, "it does not wait");
}

const char *hand_finish(void *hand)
{
    char *out = buffer(), *failed = buffer();

    t_engine()->receive(hand, out, SIZE, failed, SIZE);
    return *failed ? failed : out;
}

/* ---- leases ---------------------------------------------------------------------------------- */

const char *hand_wants(const char *wants)
{
    char *out = buffer();
    size_t at = 0;
    int in_name = 1;

    for (; *wants && at + 3 < SIZE; wants++) {
        in_name = in_name && *wants != ':';
        at += (size_t)snprintf(out + at, SIZE - at, in_name ? "%02X" : "%c", (unsigned char)*wants);
        in_name = in_name || *wants == ',';
    }
    return out;
}

/* The session, where it has session locks. */
static const char *own_session(int locked)
{
    return !locked ? "0" : t_is_postgresql() ? "pg_backend_pid()" : "CONNECTION_ID()";
}

#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "

/* The arguments of PostgreSQL's functions for these names. */
const char *hand_arrays(const char *wants)
{
    char *out = buffer();
    char names[300] = "", modes[120] = "", limits[120] = "", counts[120] = "";
    char copy[300], *rest = copy, *want;

    snprintf(copy, sizeof copy, "%s", wants);
    while ((want = strsep(&rest, ","))) {
        char *name = strsep(&want, ":"), *mode = strsep(&want, ":"), *limit = strsep(&want, ":");
        const char *comma = *names ? "," : "";
        int permit = mode && *mode == 'p';

        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", comma, name);
        snprintf(modes + strlen(modes), sizeof modes - strlen(modes), "%s%s", comma,
                 permit                 ? "permit"
                 : mode && *mode == 's' ? "shared"
                                        : "exclusive");
        snprintf(limits + strlen(limits), sizeof limits - strlen(limits), "%s%s", comma,
                 permit ? limit : "NULL");
        snprintf(counts + strlen(counts), sizeof counts - strlen(counts), "%s%s", comma,
                 permit ? want : "1");
    }
    snprintf(out, SIZE, "'{%s}', '{%s}', '{%s}', '{%s}'", names, modes, limits, counts);
    return out;
}

static const char *grant_arguments(const char *wants)
{
    return t_is_postgresql() ? hand_arrays(wants) : t_say("'%s'", hand_wants(wants));
}

const char *hand_grant_call(void *hand, struct hand_terms terms)
{
    static _Thread_local unsigned calls;
    char *text = buffer(), own[60];

    snprintf(own, sizeof own, "owner %ld by %u", t_engine()->session(hand), ++calls);
    snprintf(text, SIZE, "%s(%s, '%s', %ld, %ld, %lld, %s, 'here', 4711, 'work', 'a note')%s",
             t_is_postgresql() ? BEGIN "SELECT * FROM rowlock.grant_lease" : "CALL rowlock_grant",
             grant_arguments(terms.wants), terms.owner ? terms.owner : own,
             terms.ttl_ms ? terms.ttl_ms : 60000, terms.wait_ms, terms.ticket, own_session(1),
             t_is_postgresql() && !terms.wait_ms && !terms.open ? "; COMMIT" : "");
    return text;
}

const char *hand_grant_as(void *hand, struct hand_terms terms)
{
    return hand_row(hand, "%s", hand_grant_call(hand, terms));
}

const char *hand_try(void *hand, struct hand_terms terms)
{
    const char *row = hand_grant_as(hand, terms), *status = hand_field(row, 0);
    char *out = buffer();

    snprintf(out, SIZE, "%s|%s", status, hand_field(row, strcmp(status, "0") == 0 ? 2 : 3));
    return out;
}

void hand_start_grant(void *hand, struct hand_terms terms)
{
    hand_start(hand, "%s", hand_grant_call(hand, terms));
}

void hand_start_waiting(void *hand, const char *wants)
{
    hand_start_grant(hand, (struct hand_terms){.wants = wants, .wait_ms = 60000});
    hand_until_waiting(hand);
}

const char *hand_grant(void *hand, const char *wants, long long ticket)
{
    return hand_grant_as(hand, (struct hand_terms){.wants = wants, .ticket = ticket});
}

long long hand_lease(void *hand, const char *wants)
{
    const char *row = hand_grant(hand, wants, 0);

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s is not granted: %s", wants, row);
    return atoll(hand_field(row, 2));
}

long long hand_renew(void *hand, long long token, long ttl_ms)
{
    return hand_number(hand,
                       t_is_postgresql() ? "SELECT rowlock.renew_lease(%lld, %ld)"
                                         : "CALL rowlock_renew_lease(%lld, %ld, NULL, NULL)",
                       token, ttl_ms);
}

const char *hand_rows(void *hand, long long token)
{
    return hand_row(
        hand,
        "SELECT (SELECT count(*) FROM %s WHERE token = %lld), (SELECT count(DISTINCT token) FROM "
        "%s WHERE token = %lld)",
        lease_table(), token, lease_heartbeat_table(), token);
}

void hand_release(void *hand, long long token)
{
    t_int(hand_number(hand,
                      t_is_postgresql()
                          ? "SELECT 1 - rowlock.end_lease(%lld, session => pg_backend_pid())::int"
                          : "CALL rowlock_release_lease(%lld, NULL, NULL)",
                      token),
          0);
}

long long hand_queue(void *hand, const char *wants, int locked)
{
    const char *row = hand_row(
        hand,
        t_is_postgresql()
            ? "SELECT status, '', '', number FROM rowlock.enqueue(%s, 'waiter %ld', %s, 60000, "
              "'here', 4711, 'work', 'a note')"
            : "CALL rowlock_enqueue(%s, 'waiter %ld', %s, 60000, 'here', 4711, 'work', 'a note')",
        grant_arguments(wants), t_engine()->session(hand), own_session(locked));

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s: no ticket: %s", wants, row);
    return atoll(hand_field(row, 3));
}

const char *hand_place(void *hand, const char *wants, long long ticket, int locked)
{
    if (t_is_postgresql())
        return hand_row(hand,
                        "SELECT status, number, before, free, locked "
                        "FROM rowlock.place(%lld, %s, 60000)",
                        ticket, own_session(locked));
    return hand_row(hand, "CALL rowlock_place('%s', %lld, %s, 60000)", hand_wants(wants), ticket,
                    own_session(locked));
}

long long hand_overtake(void *hand, const char *wants, long long own, long long called)
{
    if (t_is_postgresql())
        return hand_number(hand, "SELECT rowlock.overtake(%lld, %lld, 5000)", own, called);
    return hand_number(hand, "CALL rowlock_overtake('%s', %lld, %lld, 5000)", hand_wants(wants),
                       own, called);
}

void hand_start_await(void *hand, int kind, long long number, long ms, long long own)
{
    hand_start(hand,
               t_is_postgresql() ? "SELECT rowlock.await(%d, %lld, %ld, %lld)"
                                 : "CALL rowlock_await(%d, %lld, %ld, %lld, CONNECTION_ID())",
               kind, number, ms, own);
}

int hand_is_marked(void *hand, long long number)
{
    if (!t_is_postgresql())
        return my_marker(hand, number) > 0;
    return hand_number(hand,
                       "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
                       "(classid::bigint << 32 | objid::bigint) = rowlock.session_key(%lld)",
                       number) > 0;
}

long hand_waiters(void *hand)
{
    return (long)hand_number(hand, "SELECT count(*) FROM %s", waiter_table());
}

void hand_expire(void *hand, long long token)
{
    hand_row(hand, "UPDATE %s SET expires = %s WHERE token = %lld", lease_heartbeat_table_of(token),
             lease_instant(-1000), token);
}
