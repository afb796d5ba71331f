/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence as the first call on a wrapped handle.
 * Runs on: sqlite
 */
#include "lib/grants.h"

struct fenced {
    const char *name;
    int64_t token;
};

static int fence(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct fenced *fenced = data;

    return rowlock_fence(connection, fenced->name, fenced->token, error);
}

/* The fence must write before it reads: in SQLite a transaction that has read cannot wait for
   another writer. */
TEST(p4_a_first_fence_waits_for_another_writer)
{
    struct rowlock_connection *holder = t_open(), *writer = t_open(), *borrowed;
    struct rowlock_lease *lease = t_granted(holder, t_x("first"), 0);
    struct fenced fenced = {"first", rowlock_token(lease)};
    struct thread *thread;
    void *handle;

    borrowed = t_wrap(&handle, NULL);
    t_native_sql(handle, "BEGIN");
    t_ok(t_begin(writer, t_x("another"), 0));
    thread = t_thread(borrowed, fence, &fenced);
    t_until_waiting(thread);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
    t_native_sql(handle, "COMMIT");
    t_give(lease);
}

TEST(a_first_fence_without_a_schema)
{
    void *handle;
    struct rowlock_connection *borrowed = t_wrap(&handle, NULL), *other = t_open();

    t_ok(rowlock_uninstall_force(other, &t_error));
    t_native_sql(handle, "BEGIN");
    t_fails(rowlock_fence(borrowed, "none", 1, &t_error), ESCHEMA);
    t_left(KEPT);
    t_native_sql(handle, "ROLLBACK");
}
