/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL's functions called from other sessions than the library's: with another encoding, a
 * name from a column with a collation, an invalid token.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <libpq-fe.h>
#include <string.h>

#include "lib/lease.h"
#include "lib/test.h"

TEST(p9_p11_trap_an_encoding_that_lacks_the_name)
{
    static const char *const encodings[] = {"LATIN1", "SJIS"};
    static const char name[] = "\xe5\x8f\x96\xe5\xbc\x95 \xd0\x96"; /* Japanese and Russian */
    struct rowlock_want want = t_x(name), mine = t_x("mine");
    struct rowlock_connection *holder = t_open(), *own;
    void *handle;

    t_ok(rowlock_prepare(holder, &want, 1, &t_error));
    t_ok(rowlock_prepare(holder, &mine, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    for (int i = 0; i < 2; i++) {
        own = t_wrap(&handle, NULL);
        t_int(PQsetClientEncoding(handle, encodings[i]), 0);
        t_native_sql(handle, "SET bytea_output = '%s'", i ? "escape" : "hex");
        t_fails(t_begin(own, want, 0), EBUSY);
        t_contains(t_error.text, name);
        t_fails(t_begin(own, want, 30), ETIMEDOUT);
        t_contains(t_error.text, name);
        t_ok(t_begin(own, mine, 0));
        t_fails(t_lock(own, want, 0), EBUSY);
        t_left(KEPT);
        t_contains(t_error.text, name);
        t_fails(t_lock(own, want, 30), ETIMEDOUT);
        t_left(KEPT);
        t_int(t_is_free(mine), 0);
        t_ok(rowlock_commit(own, &t_error));
        t_close(own);
    }
}

TEST(p9_trap_a_name_from_a_column_with_a_collation)
{
    void *handle = t_native();
    struct rowlock_connection *other = t_open();

    t_ok(rowlock_prepare(other, (struct rowlock_want[]){t_x("collated")}, 1, &t_error));
    t_native_sql(handle, "CREATE TABLE collated (name text COLLATE \"POSIX\")");
    t_native_sql(handle, "INSERT INTO collated VALUES ('collated')");
    /* so that the server compares the names */
    lease_put(handle, 9101, "of another name", "exclusive", 60000);
    t_native_sql(handle, "SELECT rowlock.prepare(name) FROM collated");
    t_native_sql(handle, "BEGIN");
    t_native_sql(handle, "SELECT rowlock.exclusive(name) FROM collated");
    t_text(t_native_sql(handle, "SELECT rowlock.try_exclusive(name) FROM collated"), "t");
    t_fails(t_begin(other, t_x("collated"), 0), EBUSY);
    t_native_sql(handle, "COMMIT");
    t_ok(t_begin(other, t_x("collated"), 0));
    t_text(t_native_sql(handle, "SELECT rowlock.try_exclusive(name) FROM collated"), "f");
    t_native_sql(handle, "SELECT rowlock.holders(name) FROM collated");
    lease_end(handle, 9101);
}

TEST(p1_trap_token_0_is_no_token)
{
    void *handle = t_native();
    struct rowlock_connection *other = t_open();

    t_ok(rowlock_prepare(other, (struct rowlock_want[]){t_x("leased")}, 1, &t_error));
    lease_put(handle, 9102, "leased", "exclusive", 60000);
    t_native_sql(handle, "SET lock_timeout = '50ms'");
    t_int(t_try_sql(handle, "SELECT rowlock.exclusive('leased', 0)"), 1);
    t_contains(t_sql_error, "is held by");
    t_int(t_try_sql(handle, "SELECT rowlock.exclusive('leased')"), 1);
    t_native_sql(handle, "SELECT rowlock.exclusive('leased', 9102)");
    lease_end(handle, 9102);
}
