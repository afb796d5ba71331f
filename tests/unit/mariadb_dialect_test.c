/* SPDX-License-Identifier: Apache-2.0 */
/* Which dialect a server of MySQL's protocol gets by its version, and which server is refused. */
#include <string.h>

#include "dialect/plain.h"
#include "driver/mariadb_link.h"
#include "lib/test.h"

static const char *dialect_of(const char *version, bool is_mariadb)
{
    return rowlock__mariadb_dialect_of(version, is_mariadb)->name;
}

TEST(the_version_chooses_the_dialect)
{
    t_text(dialect_of("10.11.19-MariaDB-log", true), "mariadb");
    t_text(dialect_of("8.4.13", false), "mysql");
    t_text(dialect_of("8.0.11-TiDB-v8.5.4", false), "tidb");
    t_text(dialect_of("5.7.25-TiDB-None", false), "tidb");
    t_text(dialect_of("8.0.11-tidb-cloud", true), "tidb");
    t_text(dialect_of(NULL, false), "mysql");
}

TEST(tidb_is_not_refused_and_other_servers_without_procedures_are)
{
    t_ok(rowlock__refuse_product("8.0.11-TiDB-v8.5.4", &t_error));
    t_ok(rowlock__refuse_product("8.0.46", &t_error));
    t_fails(rowlock__refuse_product("8.0.30-Vitess", &t_error), ESERVER);
    t_text(t_error.text,
           "this server cannot keep a lock: it is Vitess, which was not tried with rowlock's "
           "statements for TiDB; use a database that docs/databases.md lists");
}

/* An optimistic transaction locks nothing before its COMMIT. */
TEST(p1_a_transaction_on_tidb_begins_as_a_pessimistic_one)
{
    const struct rowlock_dialect *tidb = rowlock__plain_named("tidb");

    t_text(tidb->statements[ROWLOCK_SQL_BEGIN].text, "BEGIN PESSIMISTIC");
    t_text(rowlock__plain_named("h2")->statements[ROWLOCK_SQL_BEGIN].text, "");
}

/* The driver reads a statement with an order as one of MariaDB's, with an answer of its own. */
TEST(only_statements_of_mariadb_have_an_order)
{
    const struct rowlock_plain *tidb = rowlock__plain_named("tidb")->plain;

    for (size_t i = 0; i < ROWLOCK_PLAIN_COUNT; i++)
        t_true(!tidb->statements[i].order);
    t_text(tidb->statements[ROWLOCK_PLAIN_NAME_LOCK].types, "t");
    t_text(rowlock__dialect_mariadb.statements[ROWLOCK_SQL_RENEW_FREE].order, "2314");
}

static bool locks_by(enum rowlock_plain_id id, const char *words)
{
    const char *text = rowlock__plain_named("tidb")->plain->statements[id].text;

    return text && strstr(text, words);
}

/* TiDB refuses FOR SHARE, or with noop functions ignores it. */
TEST(p1_no_lock_on_tidb_is_a_shared_one)
{
    const struct rowlock_plain *plain = rowlock__plain_named("tidb")->plain;

    t_true(locks_by(ROWLOCK_PLAIN_NAME_LOCK, "FOR UPDATE"));
    t_true(locks_by(ROWLOCK_PLAIN_NAME_TRY, "FOR UPDATE NOWAIT"));
    t_true(locks_by(ROWLOCK_PLAIN_LEASE_FENCE, "FOR UPDATE"));
    for (size_t i = 0; i < ROWLOCK_PLAIN_COUNT; i++)
        if (plain->statements[i].text)
            t_lacks(plain->statements[i].text, "SHARE");
    t_true(!plain->statements[ROWLOCK_PLAIN_NAME_SHARE].text);
}
