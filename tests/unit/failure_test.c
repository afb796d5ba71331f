/* SPDX-License-Identifier: Apache-2.0 */
/* The table that maps an engine's error to a code: errors observed on servers, and unknown ones. */
#include <stdio.h>
#include <string.h>

#include "driver/failure.h"
#include "lib/test.h"
#include "lib/vendor.h"

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
    {"mariadb", "HY000", 1689, ROWLOCK_EABORTED},
    {"mariadb", "42000", 1305, ROWLOCK_ESCHEMA},
    {"mariadb", "28000", 1045, ROWLOCK_EDENIED},
    {"mariadb", "HY000", 2006, ROWLOCK_ECONN},
    {"mariadb", "HY000", 2013, ROWLOCK_ECONN},
    {"mariadb", "08S01", 1047, ROWLOCK_ESERVER},
    {"mariadb", "RL006", 30006, ROWLOCK_ENOTX},
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
/* by the vendors' documentation */
#define VENDOR(product, engine, sqlstate, native, text, code, left) \
    {engine, sqlstate, native, ROWLOCK_##code},
    VENDOR_FAILURES(VENDOR)
#undef VENDOR
        {"derby", "40XL1", 30000, ROWLOCK_ETIMEDOUT},
    {"derby", "40001", 30000, ROWLOCK_EROLLEDBACK},
    {"derby", "42X05", 30000, ROWLOCK_ESCHEMA},
    {"derby", "42Y07", 30000, ROWLOCK_ESCHEMA},
    {"derby", "42X04", 30000, ROWLOCK_ESCHEMA},
    {"derby", "42502", 20000, ROWLOCK_EDENIED},
    {"derby", "08004", 40000, ROWLOCK_EDENIED},
    {"derby", "25503", 20000, ROWLOCK_ESERVER},
    {"derby", "08006", 40000, ROWLOCK_ECONN},
    {"derby", "23505", 20000, ROWLOCK_EDB},
    {"h2", "HYT00", 50200, ROWLOCK_ETIMEDOUT},
    {"h2", "40001", 40001, ROWLOCK_EABORTED},
    {"h2", "HY000", 50000, ROWLOCK_EABORTED},
    {"h2", "57014", 57014, ROWLOCK_ECANCELED},
    {"h2", "42S02", 42102, ROWLOCK_ESCHEMA},
    {"h2", "42S03", 42103, ROWLOCK_ESCHEMA},
    {"h2", "42S04", 42104, ROWLOCK_ESCHEMA},
    {"h2", "42S22", 42122, ROWLOCK_ESCHEMA},
    {"h2", "90096", 90096, ROWLOCK_EDENIED},
    {"h2", "90149", 90149, ROWLOCK_EDENIED},
    {"h2", "90040", 90040, ROWLOCK_ESERVER},
    {"h2", "90066", 90066, ROWLOCK_EINVAL},
    {"h2", "28000", 28000, ROWLOCK_EDENIED},
    {"h2", "90097", 90097, ROWLOCK_ESERVER},
    {"h2", "90067", 90067, ROWLOCK_ECONN},
    {"h2", "90098", 90098, ROWLOCK_ECONN},
    {"h2", "90121", 90121, ROWLOCK_ECONN},
    {"h2", "08000", 8000, ROWLOCK_ECONN},
    {"h2", "23505", 23505, ROWLOCK_EDB},
    {"mariadb", "HY000", 3572, ROWLOCK_ETIMEDOUT},
    {"mariadb", "HY000", 9007, ROWLOCK_EABORTED},
    {"hsqldb", "40001", -4861, ROWLOCK_EROLLEDBACK},
    {"hsqldb", "42501", -5501, ROWLOCK_ESCHEMA},
    {"hsqldb", "25006", -3706, ROWLOCK_ESERVER},
    {"hsqldb", "42507", -5507, ROWLOCK_EDENIED},
    {"hsqldb", "28000", -4000, ROWLOCK_EDENIED},
    {"hsqldb", "08006", -1305, ROWLOCK_ECONN},
    {"hsqldb", "23505", -104, ROWLOCK_EDB},
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

TEST(a_server_without_a_free_session_or_memory_is_busy)
{
    static const struct {
        const char *engine, *sqlstate;
        int native;
        const char *text;
    } full[] = {
        {"postgresql", "53300", 0, "sorry, too many clients already"},
        {"postgresql", "08001", 101, "FATAL:  sorry, too many clients already"},
        {"postgresql", "08001", 101, "FATAL:  too many connections for role \"a\""},
        {"postgresql", "08001", 101, "FATAL:  remaining connection slots are reserved"},
        {"mariadb", "08004", 1040, "Too many connections"},
        {"mariadb", "42000", 1203, "already has more than 'max_user_connections'"},
        {"mariadb", "42000", 1226, "has exceeded the 'max_user_connections' resource"},
        /* by the vendors' documentation */
        {"oracle", "HY000", 18, "ORA-00018: maximum number of sessions exceeded"},
        {"oracle", "HY000", 20, "ORA-00020: maximum number of processes exceeded"},
        {"oracle", "HY000", 2391, "ORA-02391: exceeded simultaneous SESSIONS_PER_USER limit"},
        {"oracle", "HY000", 12516, "ORA-12516: TNS:listener could not find available handler"},
        {"oracle", "HY000", 12519, "ORA-12519: TNS:no appropriate service handler found"},
        {"oracle", "HY000", 12520, "ORA-12520: TNS:listener could not find available handler"},
        {"sqlserver", "08001", 17809, "the maximum number of user connections"},
        {"db2", "57030", -1040, "SQL1040N  The maximum number of applications is connected"},
        {"db2", "57030", -1226, "SQL1226N  The maximum number of coordinating agents"},
    };
    static const struct {
        const char *engine, *sqlstate;
        int native;
        const char *text;
    } no_room[] = {
        {"postgresql", "53200", 0, "out of shared memory"},
        {"mariadb", "HY000", 1206, "The total number of locks exceeds the lock table size"},
        {"mariadb", "HY000", 1041, "Out of memory."},
        /* by the vendors' documentation */
        {"oracle", "HY000", 52, "ORA-00052: maximum number of enqueue resources exceeded"},
        {"oracle", "HY000", 55, "ORA-00055: maximum number of DML locks exceeded"},
        {"oracle", "HY000", 4031, "ORA-04031: unable to allocate bytes of shared memory"},
        {"sqlserver", "HY000", 701, "There is insufficient system memory"},
        {"sqlserver", "HY000", 1204, "cannot obtain a LOCK resource at this time"},
        {"db2", "57011", -912, "SQL0912N  The maximum number of lock requests has been reached"},
    };

    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        t_int(rowlock__failure(&t_error, full[i].engine, full[i].sqlstate, full[i].native,
                               full[i].text),
              ROWLOCK_ECONN);
        t_int(rowlock_is_full(&t_error), 1);
    }
    for (size_t i = 0; i < sizeof no_room / sizeof *no_room; i++) {
        t_int(rowlock__failure(&t_error, no_room[i].engine, no_room[i].sqlstate, no_room[i].native,
                               no_room[i].text),
              ROWLOCK_ECONN);
        t_int(rowlock_is_full(&t_error), 2);
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

TEST(a_password_that_is_wrong_or_missing_has_advice)
{
    rowlock__failure(&t_error, "postgresql", "28P01", 0, "password authentication failed");
    t_contains(t_error.text, "; is the password right? a URL without one reads it from ~/.pgpass");
    rowlock__failure(&t_error, "mariadb", "28000", 1045, "Access denied for user 'a'@'h'");
    t_contains(t_error.text, "; is the password right? a URL without one reads it from an option "
                             "file: ?default-file=");
    rowlock__failure(&t_error, "postgresql", "28000", 0, "no pg_hba.conf entry for host \"h\"");
    t_text(t_error.text, "no pg_hba.conf entry for host \"h\"");
    rowlock__failure(&t_error, "sqlite", NULL, 13, "database or disk is full");
    t_text(t_error.text, "database or disk is full; make room on the disk of the file (df), or in "
                         "this user's quota; all commits are kept");
}

TEST(psqlodbcs_refused_login_is_refused_and_not_awaited)
{
    const char *const words[] = {
        "connection to server failed: FATAL:  password authentication failed for user \"a\"",
        "connection to server at \"h\", port 5432 failed: fe_sendauth: no password supplied",
        "FATAL:  no pg_hba.conf entry for host \"10.0.0.1\", user \"a\"",
        "FATAL:  role \"a\" does not exist",
        "FATAL:  role \"a\" is not permitted to log in",
        "server does not support SSL, but SSL was required",
        "SSL error: certificate verify failed"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        t_fails(rowlock__failure(&t_error, "postgresql", "08001", 101, words[i]), EDENIED);
    t_fails(rowlock__failure(&t_error, "postgresql", "08001", 101, "Connection refused"), ECONN);
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
    t_fails(rowlock__failure(&t_error, "mariadb", "HY000", 0, "naïve\xc2\x85 \xc2\x9b[31m"), EDB);
    t_contains(t_error.text, "naïve?? ??[31m");
    t_fails(rowlock__failure(&t_error, "mariadb", "HY000", 0, "\u202egnp\u2028 \u0628"), EDB);
    t_contains(t_error.text, "???gnp??? \u0628");
}

TEST(the_reason_code_of_db2_distinguishes_a_wait_that_ended_from_a_deadlock)
{
    static const char *const odbc =
        "SQL0911N  The current transaction has been rolled back because "
        "of a deadlock or timeout.  Reason code \"%s\".  "
        "SQLSTATE=40001";
    static const char *const jdbc = "DB2 SQL Error: SQLCODE=-911, SQLSTATE=40001, SQLERRMC=%s, "
                                    "DRIVER=4.26.14";
    char text[200];

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, i ? jdbc : odbc, "68");
        t_fails(rowlock__failure(&t_error, "db2", "40001", -911, text), ETIMEDOUT);
        t_contains(t_error.text, "the whole transaction was rolled back");
        snprintf(text, sizeof text, i ? jdbc : odbc, "2");
        t_fails(rowlock__failure(&t_error, "db2", "40001", -911, text), EROLLEDBACK);
    }
}

TEST(what_an_error_leaves_of_the_transaction)
{
    static const struct {
        const char *engine, *sqlstate;
        int native;
        enum rowlock_transaction left;
    } rows[] = {
        {"derby", "40XL1", 30000, ROWLOCK_TX_GONE},     {"derby", "40001", 30000, ROWLOCK_TX_GONE},
        {"derby", "23505", 20000, ROWLOCK_TX_KEPT},     {"h2", "HYT00", 50200, ROWLOCK_TX_KEPT},
        {"h2", "40001", 40001, ROWLOCK_TX_ABORTED},     {"h2", "HY000", 50000, ROWLOCK_TX_ABORTED},
        {"h2", "23505", 23505, ROWLOCK_TX_KEPT},        {"hsqldb", "40001", -4861, ROWLOCK_TX_GONE},
        {"hsqldb", "23505", -104, ROWLOCK_TX_KEPT},     {"mariadb", "40001", 1213, ROWLOCK_TX_GONE},
        {"mariadb", "HY000", 1205, ROWLOCK_TX_ABORTED},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        t_int(rowlock__failure_left(rows[i].engine, rows[i].sqlstate, rows[i].native,
                                    ROWLOCK_TX_DEAD),
              rows[i].left);
    t_int(rowlock__failure_left("oracle", "42000", 900, ROWLOCK_TX_ABORTED), ROWLOCK_TX_ABORTED);
    t_int(rowlock__failure_left("postgresql", NULL, 1213, ROWLOCK_TX_KEPT), ROWLOCK_TX_KEPT);
}

TEST(what_is_left_of_the_transaction_is_not_the_tables_affair)
{
    t_error.transaction = ROWLOCK_TX_GONE;
    t_fails(rowlock__failure(&t_error, "mariadb", "40001", 1213, "text"), EROLLEDBACK);
    t_left(GONE);
}
