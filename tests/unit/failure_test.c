/* SPDX-License-Identifier: Apache-2.0 */
/* The table that maps an engine's error to a code: errors observed on servers, and unknown ones. */
#include <string.h>

#include "driver/failure.h"
#include "lib/test.h"

static const struct {
    const char *engine, *sqlstate;
    int native, code;
} seen[] = {
    {"postgresql", "55P03", 0, ROWLOCK_ETIMEDOUT},
    {"postgresql", "57014", 0, ROWLOCK_ETIMEDOUT},
    {"postgresql", "40P01", 0, ROWLOCK_EABORTED},
    {"postgresql", "25P02", 0, ROWLOCK_EABORTED},
    {"postgresql", "25006", 0, ROWLOCK_ESERVER},
    {"postgresql", "42883", 0, ROWLOCK_ESCHEMA},
    {"postgresql", "42501", 0, ROWLOCK_EDENIED},
    {"postgresql", "28P01", 0, ROWLOCK_EDENIED},
    {"postgresql", "57P01", 0, ROWLOCK_ECONN},
    {"postgresql", "57P02", 0, ROWLOCK_ECONN},
    {"postgresql", "57P03", 0, ROWLOCK_ECONN}, /* starting up, shutting down */
    {"mariadb", "08S01", 1053, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1077, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1079, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1152, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1158, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1159, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1160, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1161, ROWLOCK_ECONN},
    {"postgresql", "08006", 0, ROWLOCK_ECONN},
    {"postgresql", "22012", 0, ROWLOCK_EDB},
    {"postgresql", "RL001", 0, ROWLOCK_ESNAPSHOT},
    {"mariadb", "HY000", 1205, ROWLOCK_ETIMEDOUT},
    {"mariadb", "70100", 1969, ROWLOCK_ETIMEDOUT},
    {"mariadb", "70100", 1317, ROWLOCK_ECANCELED},
    {"mariadb", "40001", 1213, ROWLOCK_EROLLEDBACK},
    {"mariadb", "42000", 1305, ROWLOCK_ESCHEMA},
    {"mariadb", "28000", 1045, ROWLOCK_EDENIED},
    {"mariadb", "HY000", 2006, ROWLOCK_ECONN},
    {"mariadb", "HY000", 2013, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1047, ROWLOCK_ESERVER},
    {"mariadb", "RL006", 1644, ROWLOCK_ENOTX},
    {"mariadb", "42000", 1064, ROWLOCK_EDB},
    {"mariadb", "HY000", 1130, ROWLOCK_EDENIED}, /* a retry cannot help */
    {"mariadb", "HY000", 1129, ROWLOCK_EDENIED},
    {"mariadb", "08004", 1251, ROWLOCK_EDENIED},
    {"mariadb", "HY000", 1862, ROWLOCK_EDENIED},
    {"mariadb", "HY000", 2059, ROWLOCK_EDENIED},
    {"mariadb", "HY000", 4151, ROWLOCK_EDENIED},
    {"mariadb", "42000", 1203, ROWLOCK_ECONN}, /* a retry can help: other sessions disconnect */
    {"mariadb", "42000", 1226, ROWLOCK_ECONN},
    {"sqlite", "", 5, ROWLOCK_ETIMEDOUT},
    {"sqlite", "", 261, ROWLOCK_ETIMEDOUT}, /* SQLITE_BUSY_RECOVERY */
    {"sqlite", "", 517, ROWLOCK_ESNAPSHOT}, /* SQLITE_BUSY_SNAPSHOT */
    {"sqlite", "", 1032, ROWLOCK_ESERVER},  /* SQLITE_READONLY_DBMOVED */
    {"sqlite", "", 14, ROWLOCK_ECONN},
    {"sqlite", "", 26, ROWLOCK_EINVAL},
    {"sqlite", "", 1, ROWLOCK_EDB},
};

TEST(what_was_seen_is_judged_as_it_was)
{
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        int code =
            rowlock__failure(&t_error, seen[i].engine, seen[i].sqlstate, seen[i].native, "text");

        t_text(rowlock_error_name(code), rowlock_error_name(seen[i].code));
        t_int(t_error.code, code);
        t_int(t_error.native, seen[i].native);
        t_text(t_error.sqlstate, seen[i].sqlstate);
        t_contains(t_error.text, "text");
    }
}

TEST(tls_that_cannot_be_agreed_on_is_refused_and_not_awaited)
{
    const char *const words[] = {
        "server does not support SSL, but SSL was required", "SSL error: certificate verify failed",
        "root certificate file \"/home/a/.postgresql/root.crt\" does not exist",
        "server certificate for \"db1\" does not match host name \"127.0.0.1\""};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        t_fails(rowlock__failure(&t_error, "postgresql", "", 0, words[i]), EDENIED);
        t_fails(rowlock__failure(&t_error, "postgresql", "22012", 0, words[i]), EDB);
    }
    t_fails(rowlock__failure(&t_error, "mariadb", "HY000", 2026,
                             "TLS/SSL error: self-signed certificate in certificate chain"),
            EDENIED);
    t_fails(rowlock__failure(&t_error, "mariadb", "HY000", 2026, "TLS/SSL error: Broken pipe"),
            ECONN);
}

TEST(yugabytedbs_message_that_a_wait_was_ended_is_a_time_out)
{
    static const char *const messages[] = {
        "Perform RPC (request call id 102) to 10.0.0.39:9100 timed out after 4.000s",
        "Timed out: Perform RPC (request call id 71) to 172.151.28.116:9100 timed out after "
        "120.000s"};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        t_fails(rowlock__failure(&t_error, "postgresql", "XX000", 0, messages[i]), ETIMEDOUT);
        t_contains(t_error.text, messages[i]);
        t_text(t_error.sqlstate, "XX000");
        t_fails(rowlock__failure(&t_error, "postgresql", "XX001", 0, messages[i]), EDB);
        t_fails(rowlock__failure(&t_error, "mariadb", "XX000", 0, messages[i]), EDB);
    }
    t_fails(rowlock__failure(&t_error, "postgresql", "XX000", 0, "cache lookup failed"), EDB);
}

TEST(another_engines_number_means_nothing)
{
    t_fails(rowlock__failure(&t_error, "postgresql", "", 1213, "text"), EDB);
    t_fails(rowlock__failure(&t_error, "mariadb", "55P03", 5, "text"), EDB);
    t_fails(rowlock__failure(&t_error, "sqlite", "40P01", 0, "text"), EDB);
}

TEST(a_strange_answer_does_no_harm)
{
    t_int(rowlock__failure(NULL, "mariadb", NULL, 1213, "text"), ROWLOCK_EROLLEDBACK);
    t_fails(rowlock__failure(&t_error, "mariadb", NULL, 0, "%s%n"), EDB);
    t_contains(t_error.text, "%s%n");
    t_fails(rowlock__failure(&t_error, "mariadb", "toolong", 0, "line\nforged"), EDB);
    t_int((long long)strlen(t_error.sqlstate), 5);
    t_lacks(t_error.text, "\n");
}

TEST(what_is_left_of_the_transaction_is_not_the_tables_affair)
{
    t_error.transaction = ROWLOCK_TX_GONE;
    t_fails(rowlock__failure(&t_error, "mariadb", "40001", 1213, "text"), EROLLEDBACK);
    t_left(GONE);
}
