/* SPDX-License-Identifier: Apache-2.0 */
/* The helpers of MariaDB alone (hand_mariadb.h). */
#include "lib/hand_mariadb.h"

#include <stdio.h>

#include "lib/test.h"

#define SIZE 700

const char *my_grant_call(void *hand, struct my_terms terms)
{
    static _Thread_local char texts[4][SIZE];
    static _Thread_local unsigned calls;
    char *text = texts[++calls % 4], own[60];

    snprintf(own, sizeof own, "owner %ld by %u", t_engine()->session(hand), calls);
    snprintf(
        text, SIZE,
        "CALL rowlock_grant('%s', '%s', %ld, %ld, %lld, CONNECTION_ID(), 'here', 4711, 'work', "
        "'a note')",
        hand_wants(terms.wants), terms.owner ? terms.owner : own,
        terms.ttl_ms ? terms.ttl_ms : 60000, terms.wait_ms, terms.ticket);
    return text;
}

const char *my_grant(void *hand, struct my_terms terms)
{
    return hand_row(hand, "%s", my_grant_call(hand, terms));
}

const char *my_database_hash(void)
{
    return t_is_mysql() ? "LEFT(SHA2(DATABASE(), 256), 32)" : "MD5(DATABASE())";
}

long long my_draw(void *hand)
{
    if (!t_is_mysql())
        return hand_number(hand, "SELECT NEXTVAL(rowlock_token)");
    hand_row(hand, "CALL rowlock_draw(@drawn)");
    return hand_number(hand, "SELECT @drawn");
}

void my_set_next(void *hand, long long token)
{
    if (t_is_mysql())
        hand_row(hand, "ALTER TABLE rowlock_token AUTO_INCREMENT = %lld", token);
    else
        hand_row(hand, "DO SETVAL(rowlock_token, %lld)", token - 1);
}

void my_replace(void *hand, const char *name, const char *rest)
{
    hand_row(hand, "DROP PROCEDURE %s", name);
    hand_row(hand, "CREATE PROCEDURE %s%s", name, rest);
}

long long my_marker(void *hand, long long number)
{
    return hand_number(hand, "SELECT IS_USED_LOCK(CONCAT('rowlock:', %s, ':', %lld))",
                       my_database_hash(), number);
}

const char *my_rows(void *hand, long long token)
{
    return hand_row(hand,
                    "SELECT (SELECT count(*) FROM rowlock_heartbeat WHERE token = %lld), "
                    "(SELECT count(*) FROM rowlock_lease WHERE token = %lld)",
                    token, token);
}
