/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of facts about each engine and technique, as observed on real servers.
 * docs/techniques.md describes the same facts for users.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/engine.h"
#include "lib/test.h"
#include "system/descriptors.h"

static const struct facts facts[] = {
    {
        .engine = "sqlite",
        .technique = "native",
        .wraps = 1,
        .code = ROWLOCK_NATIVE,
        .shared = SHARED_EXCLUDES,
        .installs_itself = 1,
    },
    {
        .engine = "sqlite",
        .technique = "insert",
        .wraps = 1,
        .code = ROWLOCK_INSERT,
        .shared = SHARED_REFUSED,
    },
    {
        .engine = "postgresql",
        .technique = "native",
        .wraps = 1,
        .code = ROWLOCK_NATIVE,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .writer_queues = 1,
        .levels = 1,
        .an_error_aborts = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
    },
    {
        .engine = "postgresql",
        .technique = "row",
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .must_be_known = 1,
        .levels = 1,
        .an_error_aborts = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
    },
    {
        .engine = "postgresql",
        .technique = "insert",
        .wraps = 1,
        .code = ROWLOCK_INSERT,
        .shared = SHARED_REFUSED,
        .names_independent = 1,
        .server = 1,
        .levels = 1,
        .an_error_aborts = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
    },
    /* a simulation (yugabytedb.pl), used by tests/command/yugabytedb_conformance.bats; technique
       row */
    {
        .engine = "postgresql",
        .technique = "yugabytedb",
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .levels = 1,
        .an_error_aborts = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
    },
    {
        .engine = "mariadb",
        .technique = "row",
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .writer_queues = 1,
        .busy_keeps_row = 1,
        .must_be_known = 1,
        .levels = 1,
        .ddl_commits = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "mariadb",
        .technique = "insert",
        .wraps = 1,
        .code = ROWLOCK_INSERT,
        .shared = SHARED_REFUSED,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .levels = 1,
        .begins_meet = 1,
        .neighbours_meet = 1,
        .ddl_commits = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "postgresql",
        .technique = "odbc",
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .busy_keeps_row = 1,
        .must_be_known = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_KEPT,
        .victim_keeps = 1,
        .own_savepoints = 1,
    },
    {
        .engine = "mariadb",
        .technique = "odbc",
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .writer_queues = 1,
        .busy_keeps_row = 1,
        .must_be_known = 1,
        .ddl_commits = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "postgresql",
        .technique = "jdbc",
        .limit_aborts = 1,
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .first_come = 1,
        .busy_keeps_row = 1,
        .an_error_aborts = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
    },
    {
        .engine = "derby",
        .readers_wait = 1,
        .installs_alone = 1,
        .technique = "jdbc",
        .creates_database = 1,
        .cancel_ends_session = 1,
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .limit_ends_session = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "h2",
        .technique = "jdbc",
        .creates_database = 1,
        .cancel_ends_session = 1,
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_EXCLUDES,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_ABORTED,
        .victim_keeps = 1,
    },
    {
        .engine = "hsqldb",
        .technique = "jdbc",
        .creates_database = 1,
        .cancel_ends_session = 1,
        .plain = 1,
        .keeps_limit = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_EXCLUDES,
        .names_independent = 1,
        .server = 1,
        .limit_ends_session = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    /* By the vendors' documentation, for tests/vendor/run. */
    {
        .engine = "oracle",
        .technique = "odbc",
        .plain = 1,
        .commits_unseen = 1,
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_EXCLUDES,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .must_be_known = 1,
        .ddl_commits = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_KEPT,
        .victim_keeps = 1,
        .limit_ends_session = 1,
    },
    {
        .engine = "sqlserver",
        .technique = "odbc",
        .plain = 1,
        .commits_unseen = 1,
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .must_be_known = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "db2",
        .technique = "odbc",
        .plain = 1,
        .commits_unseen = 1,
        .wraps = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .must_be_known = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
        .limit_ends_session = 1,
    },
    {
        .engine = "oracle",
        .technique = "jdbc",
        .plain = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_EXCLUDES,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .ddl_commits = 1,
        .deadlock_code = ROWLOCK_EABORTED,
        .deadlock_left = ROWLOCK_TX_KEPT,
        .victim_keeps = 1,
        .limit_ends_session = 1,
    },
    {
        .engine = "sqlserver",
        .technique = "jdbc",
        .plain = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .busy_keeps_row = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
    },
    {
        .engine = "db2",
        .technique = "jdbc",
        .plain = 1,
        .commits_unseen = 1,
        .code = ROWLOCK_ROW,
        .shared = SHARED_TOGETHER,
        .names_independent = 1,
        .server = 1,
        .deadlock_code = ROWLOCK_EROLLEDBACK,
        .deadlock_left = ROWLOCK_TX_GONE,
        .limit_ends_session = 1,
    },
};

const struct facts *t_find_facts(const char *engine, const char *technique)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].engine, engine) == 0 && strcmp(facts[i].technique, technique) == 0)
            return &facts[i];
    return NULL;
}

static int end_is_visible_behind_bytes(void)
{
    int pair[2], is;

    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    t_int(write(pair[1], "farewell", 8), 8);
    t_int(shutdown(pair[1], SHUT_WR), 0);
    is = rowlock__has_hung_up(pair[0]);
    close(pair[0]);
    close(pair[1]);
    return is;
}

/* A server says farewell, and unlocks, before it closes the connection. */
static void until_closed(struct rowlock_connection *connection)
{
    struct pollfd end = {.fd = rowlock_socket(connection), .events = POLLRDHUP};

    if (end.fd >= 0 && end_is_visible_behind_bytes())
        t_int(poll(&end, 1, 60000), 1);
}

void t_commit_is_lost_before(struct rowlock_connection *connection)
{
    int code;

    until_closed(connection);
    code = rowlock_commit(connection, &t_error);
    if (code != ROWLOCK_EUNKNOWN || end_is_visible_behind_bytes())
        t_int(code, ROWLOCK_ECONN);
}
