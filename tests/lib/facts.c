/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of facts about each engine and technique, as observed on real servers.
 * docs/techniques.md describes the same facts for users.
 */
#include <string.h>

#include "lib/engine.h"

static const struct facts facts[] = {
    {
        .engine = "sqlite",
        .technique = "native",
        .code = ROWLOCK_NATIVE,
        .shared = SHARED_EXCLUDES,
        .installs_itself = 1,
    },
    {
        .engine = "sqlite",
        .technique = "insert",
        .code = ROWLOCK_INSERT,
        .shared = SHARED_REFUSED,
    },
    {
        .engine = "postgresql",
        .technique = "native",
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
};

const struct facts *t_find_facts(const char *engine, const char *technique)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].engine, engine) == 0 && strcmp(facts[i].technique, technique) == 0)
            return &facts[i];
    return NULL;
}
