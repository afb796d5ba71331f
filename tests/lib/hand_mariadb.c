/* SPDX-License-Identifier: Apache-2.0 */
/* The helpers of MariaDB alone (hand_mariadb.h). */
#include "lib/hand_mariadb.h"

#include <string.h>
#include <unistd.h>

#include "lib/test.h"

const char *my_database_hash(void)
{
    return t_is_mysql() ? "LEFT(SHA2(DATABASE(), 256), 32)" : "MD5(DATABASE())";
}

long long my_draw(void *hand)
{
    if (!t_is_mysql())
        return hand_number(hand, "SELECT NEXTVAL(rowlock_token)");
    hand_row(hand, "CALL rowlock_draw(0, @drawn)");
    return hand_number(hand, "SELECT @drawn");
}

void my_set_next(void *hand, long long token)
{
    if (t_is_mysql())
        hand_row(hand, "ALTER TABLE rowlock_token AUTO_INCREMENT = %lld", token / 2);
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

const char *my_kill_at_any_moment(void *hand, void *killer, int i, const char *statement,
                                  const char *end)
{
    const char *answer;

    hand_start(hand, "%s", statement);
    usleep((useconds_t)(i * 37 % 400));
    hand_row(killer, "KILL QUERY %ld", t_engine()->session(hand));
    answer = hand_finish(hand);
    do
        hand_start(hand, "%s", end);
    while (strncmp(hand_finish(hand), "error", 5) == 0);
    return answer;
}
