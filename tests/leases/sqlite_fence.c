/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fence, or a lock, as the first call on a wrapped handle.
 * Runs on: sqlite
 */
#include "lib/grants.h"

struct first {
    const char *name;
    int64_t token; /* 0: a lock */
};

static int call_it(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct first *first = data;
    struct rowlock_want want = t_x(first->name);

    return first->token ? rowlock_fence(connection, first->name, first->token, error)
                        : rowlock_lock(connection, &want, 1, 20000, error);
}

/* It must write before it reads: in SQLite a transaction that has read cannot wait for another
   writer. */
static void waits_for_another_writer(struct first first)
{
    void *handle;
    struct rowlock_connection *writer = t_open(), *borrowed = t_wrap(&handle, NULL);
    struct thread *thread;

    t_native_sql(handle, "BEGIN");
    t_ok(t_begin(writer, t_x("another"), 0));
    thread = t_thread(borrowed, call_it, &first);
    t_until_waiting(thread);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
    t_native_sql(handle, "COMMIT");
}

TEST(p4_a_first_fence_waits_for_another_writer)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("first"), 0);

    waits_for_another_writer((struct first){"first", rowlock_token(lease)});
    t_give(lease);
}

TEST(p2_a_first_lock_in_a_deferred_transaction_waits_for_another_writer)
{
    waits_for_another_writer((struct first){"first", 0});
}

TEST(a_first_fence_or_lock_without_a_schema)
{
    void *handle[2];
    struct rowlock_connection *borrowed[2] = {t_wrap(&handle[0], NULL), t_wrap(&handle[1], NULL)};

    t_ok(rowlock_uninstall_force(t_open(), &t_error));
    for (int i = 0; i < 2; i++) {
        t_native_sql(handle[i], "BEGIN");
        t_fails(i ? t_lock(borrowed[i], t_x("none"), 0)
                  : rowlock_fence(borrowed[i], "none", 1, &t_error),
                ESCHEMA);
        t_left(KEPT);
        t_native_sql(handle[i], "ROLLBACK");
    }
}
