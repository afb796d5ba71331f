/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the procedures of rowlock's schema on MariaDB step by step (mariadb_hand.h). */
#include "lib/mariadb_hand.h"

#include <mysql.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/test.h"

#define SIZE 700

static char *buffer(void)
{
    static _Thread_local char all[16][SIZE];
    static _Thread_local unsigned turn;

    return all[turn++ % 16];
}

void *my_open(void)
{
    void *hand = t_native();

    for (const char *name = "abcd"; *name; name++)
        my_row(hand, "CALL rowlock_prepare('%c')", *name);
    return hand;
}

void *my_fresh(void)
{
    void *hand = my_open();

    my_row(hand, "DELETE FROM rowlock_heartbeat");
    my_row(hand, "DELETE FROM rowlock_lease");
    my_row(hand, "DELETE FROM rowlock_waiter");
    return hand;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void vsend(void *hand, const char *format, va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);

    t_true(length >= 0);
    if (mysql_send_query(hand, text, (unsigned long)length))
        t_fail(__FILE__, __LINE__, "%s: %s", text, mysql_error(hand));
    free(text);
}

static void join(MYSQL_RES *result, char *out)
{
    MYSQL_ROW row = mysql_fetch_row(result);
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < mysql_num_fields(result) && at < SIZE; i++)
        at += (size_t)snprintf(out + at, SIZE - at, "%s%s", i ? "|" : "", row[i] ? row[i] : "");
}

/* Reads all results; `failed` is set to the number of an error. */
static const char *answer(void *hand, unsigned *failed)
{
    char *out = buffer();
    int more = mysql_read_query_result(hand), found = 0;

    snprintf(out, SIZE, "(none)");
    while (more == 0) {
        MYSQL_RES *result = mysql_store_result(hand);

        if (result && !found && mysql_num_rows(result) > 0) {
            join(result, out);
            found = 1;
        }
        mysql_free_result(result);
        more = mysql_next_result(hand);
    }
    *failed = more > 0 ? mysql_errno(hand) : 0;
    return out;
}

static const char *vrow(void *hand, const char *format, va_list arguments)
{
    unsigned failed;
    const char *row;

    vsend(hand, format, arguments);
    row = answer(hand, &failed);
    if (failed)
        t_fail(__FILE__, __LINE__, "%s: %s", format, mysql_error(hand));
    return row;
}

const char *my_row(void *hand, const char *format, ...)
{
    va_list arguments;
    const char *row;

    va_start(arguments, format);
    row = vrow(hand, format, arguments);
    va_end(arguments);
    return row;
}

long long my_number(void *hand, const char *format, ...)
{
    va_list arguments;
    long long number;

    va_start(arguments, format);
    number = atoll(vrow(hand, format, arguments));
    va_end(arguments);
    return number;
}

void my_start(void *hand, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsend(hand, format, arguments);
    va_end(arguments);
}

static int is_done(void *hand)
{
    struct pollfd fd = {(int)mysql_get_socket(hand), POLLIN, 0};

    return poll(&fd, 1, 0) > 0;
}

static int waits_for_a_lock_of_a_session(void *hand)
{
    return my_number(t_admin(),
                     "SELECT count(*) FROM " T_PROCESSLIST
                     " WHERE id = %lu AND state = 'User lock'",
                     mysql_thread_id(hand)) > 0;
}

void my_until_waiting(void *hand)
{
    long long end = t_now() + T_TIMEOUT_MS;

    while (!t_engine()->is_waiting(t_admin(), (long)mysql_thread_id(hand)) &&
           !waits_for_a_lock_of_a_session(hand))
        if (is_done(hand) || t_now() > end)
            t_fail(__FILE__, __LINE__, "it does not wait");
}

const char *my_finish(void *hand)
{
    unsigned failed;
    const char *row = answer(hand, &failed);
    char *error;

    if (!failed)
        return row;
    error = buffer();
    snprintf(error, SIZE, "error %u", failed);
    return error;
}

/* ---- leases ---------------------------------------------------------------------------------- */

const char *my_wants(const char *wants)
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

const char *my_field(const char *row, int n)
{
    char *out = buffer();

    for (; n > 0 && row; n--)
        row = strchr(row, '|') ? strchr(row, '|') + 1 : NULL;
    snprintf(out, SIZE, "%.*s", row ? (int)strcspn(row, "|") : 0, row ? row : "");
    return out;
}

const char *my_grant_call(void *hand, struct my_terms terms)
{
    static _Thread_local unsigned calls;
    char *text = buffer(), own[60];

    snprintf(own, sizeof own, "owner %lu %u", mysql_thread_id(hand), ++calls);
    snprintf(
        text, SIZE,
        "CALL rowlock_grant('%s', '%s', %ld, %ld, %lld, CONNECTION_ID(), 'here', 4711, 'work', "
        "'a note')",
        my_wants(terms.wants), terms.owner ? terms.owner : own, terms.ttl_ms ? terms.ttl_ms : 60000,
        terms.wait_ms, terms.ticket);
    return text;
}

const char *my_grant(void *hand, struct my_terms terms)
{
    return my_row(hand, "%s", my_grant_call(hand, terms));
}

long long my_lease(void *hand, const char *wants)
{
    const char *row = my_grant(hand, (struct my_terms){.wants = wants});

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s is not granted: %s", wants, row);
    return atoll(my_field(row, 2));
}

long long my_queue(void *hand, const char *wants, int locked)
{
    const char *row = my_row(
        hand, "CALL rowlock_enqueue('%s', 'waiter %lu', %s, 60000, 'here', 4711, 'work', 'a note')",
        my_wants(wants), mysql_thread_id(hand), locked ? "CONNECTION_ID()" : "0");

    if (strncmp(row, "0|", 2) != 0)
        t_fail(__FILE__, __LINE__, "%s: no ticket: %s", wants, row);
    return atoll(my_field(row, 3));
}

const char *my_place(void *hand, const char *wants, long long ticket, int locked)
{
    return my_row(hand, "CALL rowlock_place('%s', %lld, %s, 60000)", my_wants(wants), ticket,
                  locked ? "CONNECTION_ID()" : "0");
}

const char *my_database_hash(void)
{
    return t_is_mysql() ? "LEFT(SHA2(DATABASE(), 256), 32)" : "MD5(DATABASE())";
}

long long my_draw(void *hand)
{
    if (!t_is_mysql())
        return my_number(hand, "SELECT NEXTVAL(rowlock_token)");
    my_row(hand, "CALL rowlock_draw(@drawn)");
    return my_number(hand, "SELECT @drawn");
}

void my_set_next(void *hand, long long token)
{
    if (t_is_mysql())
        my_row(hand, "ALTER TABLE rowlock_token AUTO_INCREMENT = %lld", token);
    else
        my_row(hand, "DO SETVAL(rowlock_token, %lld)", token - 1);
}

void my_replace(void *hand, const char *name, const char *rest)
{
    my_row(hand, "DROP PROCEDURE %s", name);
    my_row(hand, "CREATE PROCEDURE %s%s", name, rest);
}

long long my_marker(void *hand, long long number)
{
    return my_number(hand, "SELECT IS_USED_LOCK(CONCAT('rowlock:', %s, ':', %lld))",
                     my_database_hash(), number);
}

void my_expire(void *hand, long long token)
{
    my_row(hand,
           "UPDATE rowlock_heartbeat SET expires = utc_timestamp(6) - INTERVAL 1 SECOND "
           "WHERE token = %lld",
           token);
}

const char *my_rows(void *hand, long long token)
{
    return my_row(hand,
                  "SELECT (SELECT count(*) FROM rowlock_heartbeat WHERE token = %lld), "
                  "(SELECT count(*) FROM rowlock_lease WHERE token = %lld)",
                  token, token);
}
