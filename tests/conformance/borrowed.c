/* SPDX-License-Identifier: Apache-2.0 */
/* An application's own connection, wrapped by rowlock and returned unchanged. */
#include <string.h>

#include "lib/test.h"
#include "rowlock/mariadb.h"
#include "rowlock/odbc.h"
#include "rowlock/postgresql.h"
#include "rowlock/sqlite.h"

TEST(the_handle_is_the_callers_own)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    void *native = t_engine()->native ? t_engine()->native(handle) : handle;
    int found = rowlock_odbc_handle(own) == native;

    found += (void *)rowlock_postgresql_handle(own) == native;
    found += (void *)rowlock_mariadb_handle(own) == native;
    found += (void *)rowlock_sqlite_handle(own) == native;
    t_int(found, 1);
    t_true(t_handle(own) == handle);
}

TEST(no_handle_is_refused)
{
    struct rowlock_connection *none = NULL;

    t_fails(t_engine()->wrap(NULL, NULL, &none, &t_error), EINVAL);
    t_true(none == NULL);
}

TEST(closing_leaves_the_handle_open_and_its_transaction_as_it_is)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_want want = t_x(t_name(1));

    t_native_sql(handle, "CREATE TABLE lent (n INTEGER)");
    t_ok(t_begin(own, want, 0));
    t_native_sql(handle, "INSERT INTO lent VALUES (1)");
    t_close(own);
    t_int(t_engine()->in_transaction(handle), 1);
    t_int(t_is_free(want), 0);
    t_native_sql(handle, "COMMIT");
    t_int(t_is_free(want), 1);
    t_text(t_native_sql(handle, "SELECT count(*) FROM lent"), "1");
}

TEST(begin_on_a_borrowed_handle_and_commit_by_the_application)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    for (int i = 0; i < 3; i++) {
        t_ok(t_begin(own, t_x(t_name(1)), 0));
        t_int(t_engine()->in_transaction(handle), 1);
        t_int(t_is_free(t_x(t_name(1))), 0);
        t_native_sql(handle, i % 2 ? "COMMIT" : "ROLLBACK");
        t_int(t_is_free(t_x(t_name(1))), 1);
        t_fails(t_lock(own, t_x(t_name(1)), 0), ENOTX);
    }
}

TEST(an_open_transaction_of_the_application_is_seen)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_own_begin(handle, t_engine()->begin);
    t_fails(t_begin(own, t_x(t_name(1)), 0), EINTX);
    t_left(KEPT);
    t_left_is_true(own);
    t_native_sql(handle, "ROLLBACK");
    t_ok(t_begin(own, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(own, &t_error));
}

TEST(wrapped_twice_it_is_one_session)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *again = NULL;

    t_ok(t_begin(own, t_x(t_name(1)), 0));
    again = t_wrap_handle(handle, NULL);
    t_ok(t_lock(again, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(again, &t_error));
    t_int(t_is_free(t_x(t_name(1))), 1);
}

/* The session's settings are unchanged after every call, successful or not. */
TEST(p11_the_callers_settings_are_as_they_were)
{
    char before[4000];
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *other = t_open();
    struct rowlock_want want = t_x(t_name(1));

    strcpy(before, t_native_sql(handle, "%s", t_engine()->settings));
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
    t_ok(t_begin(other, want, 0));
    t_fails(t_begin(own, want, 0), EBUSY);
    t_fails(t_begin(own, want, 20), ETIMEDOUT);
    t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
    if (t_facts()->keeps_limit)
        t_not_here(WHY_LIMIT_STAYS);
    if (t_facts()->names_independent) {
        t_ok(t_begin(own, t_x(t_name(2)), 0));
        t_fails(t_lock(own, want, 0), EBUSY);
        t_fails(t_lock(own, want, 20), ETIMEDOUT);
        t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
        t_ok(rowlock_commit(own, &t_error));
    }
    t_ok(rowlock_commit(other, &t_error));
    t_ok(t_begin(own, want, -1));
    t_ok(t_lock(own, want, T_TIMEOUT_MS));
    t_ok(rowlock_commit(own, &t_error));
    t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
}

TEST(a_url_of_another_engine_for_the_second_connection_is_refused)
{
    struct rowlock_options options = {.url = "oracle://x"};
    struct rowlock_connection *none = NULL;
    int code = t_engine()->wrap(t_native(), &options, &none, &t_error);

    t_true(code == ROWLOCK_EINVAL || code == ROWLOCK_EDRIVER);
    t_true(none == NULL);
}
