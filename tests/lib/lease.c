/* SPDX-License-Identifier: Apache-2.0 */
/* Lease rows written directly into the tables, without the library (lease.h). */
#include "lib/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

static int is_engine(const char *name)
{
    return strcmp(t_facts()->engine, name) == 0;
}

const char *t_table(const char *which)
{
    return t_say("%.8s%s", t_engine()->meta, which); /* rowlock. or rowlock_ */
}

const char *lease_table(void)
{
    return t_table(lease_has_views() ? "held" : "lease");
}

int lease_has_views(void)
{
    return !t_facts()->plain && is_engine("mariadb");
}

/* On PostgreSQL a lease is one row, with its expiry. */
int lease_has_one_row(void)
{
    return !t_facts()->plain && is_engine("postgresql");
}

const char *lease_heartbeat_table(void)
{
    return t_table(lease_has_views() ? "alive" : lease_has_one_row() ? "lease" : "heartbeat");
}

const char *lease_table_of(long long token)
{
    if (lease_has_views())
        return t_table(token > 1000000 && token % 2 == 0 ? "name" : "lease");
    return lease_table();
}

const char *lease_heartbeat_table_of(long long token)
{
    if (lease_has_views())
        return t_table(token > 1000000 && token % 2 == 0 ? "name" : "heartbeat");
    return lease_heartbeat_table();
}

/* At READ COMMITTED it waits for no row of a free name. */
static void change_rows(void *session, const char *change)
{
    if (!lease_has_views())
        return;
    t_native_sql(session, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    t_native_sql(session, "UPDATE rowlock_name SET %s WHERE held = 1", change);
}

void lease_change(void *session, const char *change)
{
    t_native_sql(session, "UPDATE %s SET %s", lease_heartbeat_table_of(1), change);
    change_rows(session, change);
}

void lease_delete_all(void *session)
{
    if (!lease_has_one_row())
        t_native_sql(session, "DELETE FROM %s", lease_heartbeat_table_of(1));
    t_native_sql(session, "DELETE FROM %s", lease_table_of(1));
    change_rows(session, "held = 0");
}

const char *t_key(const char *name)
{
    static char keys[4][600];
    static unsigned next;
    char *key = keys[next++ % 4];

    if (!t_facts()->plain)
        return name;
    for (size_t i = 0; name[i] && 2 * i + 3 < sizeof keys[0]; i++)
        snprintf(key + 2 * i, 3, "%02X", (unsigned char)name[i]);
    return key;
}

const char *lease_instant(long from_now_ms)
{
    if (!t_facts()->plain && is_engine("postgresql"))
        return t_say("clock_timestamp() + %ld * interval '1 ms'", from_now_ms);
    if (!t_facts()->plain && is_engine("mariadb"))
        return t_say("utc_timestamp(6) + INTERVAL %ld MICROSECOND", from_now_ms * 1000);
    return t_say("%s + (%ld)", t_engine()->now_ms, from_now_ms);
}

static void put_heartbeat(void *session, long token, long expires_ms)
{
    t_native_sql(session,
                 t_facts()->plain ? "INSERT INTO %s (token, expires, stop) VALUES (%ld, %s, 0)"
                                  : "INSERT INTO %s (token, expires) VALUES (%ld, %s)",
                 lease_heartbeat_table_of(token), token, lease_instant(expires_ms));
}

/* The `n`-th row of a lease. A plain dialect's kind is the first letter of the mode; but an
   exclusive lease's is 'x'. */
static void put_plain(void *session, long token, const char *name, const char *mode, int n,
                      int limit)
{
    t_native_sql(session,
                 "INSERT INTO %s (token, name, n, kind, permits, owner, host, pid, command, note, "
                 "acquired) VALUES (%ld, '%s', %d, '%c', %s%.0d, 'a test', 'elsewhere', 4711, "
                 "'work', 'maintenance', %s)",
                 lease_table_of(token), token, t_key(name), n, *mode == 'e' ? 'x' : *mode,
                 limit ? "" : "NULL", limit, lease_instant(0));
}

void lease_put(void *session, long token, const char *name, const char *mode, long expires_ms)
{
    int there = lease_beats(session, token) > 0;

    if (lease_has_one_row()) {
        t_native_sql(
            session,
            "INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, "
            "expires) VALUES (%ld, '%s', '%s', 'a test', 'elsewhere', 4711, 'work', "
            "'maintenance', %s)",
            token, name, mode, lease_instant(expires_ms));
        return;
    }
    t_native_sql(session, "BEGIN");
    if (t_facts()->plain)
        put_plain(session, token, name, mode, 1, 0);
    else
        t_native_sql(
            session,
            "INSERT INTO %s (token, name, mode, owner, host, pid, command, note, acquired) "
            "VALUES (%ld, '%s', '%s', 'a test', 'elsewhere', 4711, 'work', 'maintenance', "
            "%s)",
            lease_table_of(token), token, name, mode, lease_instant(0));
    if (!there)
        put_heartbeat(session, token, expires_ms);
    t_native_sql(session, "COMMIT");
}

void lease_put_permits(void *session, long token, const char *name, int limit, int count,
                       long expires_ms)
{
    const char *quote = is_engine("mariadb") ? "`" : "\"";

    if (lease_has_one_row()) {
        t_native_sql(
            session,
            "INSERT INTO rowlock.lease (token, name, mode, \"limit\", \"count\", owner, host, "
            "pid, command, note, expires) VALUES (%ld, '%s', 'permit', %d, %d, 'a test', "
            "'elsewhere', 4711, 'work', 'maintenance', %s)",
            token, name, limit, count, lease_instant(expires_ms));
        return;
    }
    t_native_sql(session, "BEGIN");
    for (int i = 1; i <= count; i++)
        if (t_facts()->plain)
            put_plain(session, token, name, "permit", i, limit);
        else
            t_native_sql(session,
                         "INSERT INTO %s (token, name, n, mode, %slimit%s, owner, host, pid, "
                         "command, note, acquired) VALUES (%ld, '%s', %d, 'permit', %d, 'a test', "
                         "'elsewhere', 4711, 'work', 'maintenance', %s)",
                         lease_table_of(token), quote, quote, token, name, i, limit,
                         lease_instant(0));
    put_heartbeat(session, token, expires_ms);
    t_native_sql(session, "COMMIT");
}

void lease_end(void *session, long token)
{
    t_native_sql(session, "BEGIN");
    t_native_sql(session, "DELETE FROM %s WHERE token = %ld", lease_heartbeat_table_of(token),
                 token);
    t_native_sql(session, "DELETE FROM %s WHERE token = %ld", lease_table_of(token), token);
    t_native_sql(session, "COMMIT");
}

long lease_rows(void *session, long token)
{
    return atol(
        t_native_sql(session, "SELECT count(*) FROM %s WHERE token = %ld", lease_table(), token));
}

long lease_beats(void *session, long token)
{
    return atol(t_native_sql(session, "SELECT count(*) FROM %s WHERE token = %ld",
                             lease_heartbeat_table(), token));
}

void lease_await_expiry(void *session, long token)
{
    while (atol(t_native_sql(session, "SELECT count(*) FROM %s WHERE token = %ld AND expires > %s",
                             lease_heartbeat_table(), token, lease_instant(0))) > 0)
        t_pause(2);
}
