/* SPDX-License-Identifier: Apache-2.0 */
/* Lease rows written directly into the tables, without the library (lease.h). */
#include "lib/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/test.h"

static int is_engine(const char *name)
{
    return strcmp(t_facts()->engine, name) == 0;
}

const char *lease_table(void)
{
    return is_engine("postgresql") ? "rowlock.lease" : "rowlock_lease";
}

const char *lease_heartbeat_table(void)
{
    return is_engine("postgresql") ? "rowlock.heartbeat" : "rowlock_heartbeat";
}

const char *lease_instant(long from_now_ms)
{
    static char text[120];

    if (is_engine("postgresql"))
        snprintf(text, sizeof text, "clock_timestamp() + %ld * interval '1 ms'", from_now_ms);
    else if (is_engine("mariadb"))
        snprintf(text, sizeof text, "utc_timestamp(6) + INTERVAL %ld MICROSECOND",
                 from_now_ms * 1000);
    else
        snprintf(text, sizeof text,
                 "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + %ld",
                 from_now_ms);
    return text;
}

void lease_put(void *session, long token, const char *name, const char *mode, long expires_ms)
{
    int there = lease_beats(session, token) > 0;

    t_native_sql(session, "BEGIN");
    t_native_sql(session,
                 "INSERT INTO %s (token, name, mode, owner, host, pid, command, note, acquired) "
                 "VALUES (%ld, '%s', '%s', 'a test', 'elsewhere', 4711, 'work', 'maintenance', %s)",
                 lease_table(), token, name, mode, lease_instant(0));
    if (!there)
        t_native_sql(session, "INSERT INTO %s (token, expires) VALUES (%ld, %s)",
                     lease_heartbeat_table(), token, lease_instant(expires_ms));
    t_native_sql(session, "COMMIT");
}

void lease_put_permits(void *session, long token, const char *name, int limit, int count,
                       long expires_ms)
{
    const char *quote = is_engine("mariadb") ? "`" : "\"";

    t_native_sql(session, "BEGIN");
    for (int i = 1; i <= count; i++)
        t_native_sql(session,
                     "INSERT INTO %s (token, name, n, mode, %slimit%s, owner, host, pid, command, "
                     "note, acquired) VALUES (%ld, '%s', %d, 'permit', %d, 'a test', 'elsewhere', "
                     "4711, 'work', 'maintenance', %s)",
                     lease_table(), quote, quote, token, name, i, limit, lease_instant(0));
    t_native_sql(session, "INSERT INTO %s (token, expires) VALUES (%ld, %s)",
                 lease_heartbeat_table(), token, lease_instant(expires_ms));
    t_native_sql(session, "COMMIT");
}

void lease_end(void *session, long token)
{
    t_native_sql(session, "BEGIN");
    t_native_sql(session, "DELETE FROM %s WHERE token = %ld", lease_heartbeat_table(), token);
    t_native_sql(session, "DELETE FROM %s WHERE token = %ld", lease_table(), token);
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
    struct timespec moment = {0, 2000000};

    while (atol(t_native_sql(session, "SELECT count(*) FROM %s WHERE token = %ld AND expires > %s",
                             lease_heartbeat_table(), token, lease_instant(0))) > 0)
        nanosleep(&moment, NULL);
}
