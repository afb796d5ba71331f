/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of libpq alone: the states of a handle in which rowlock cannot borrow it.
 * Runs on: postgresql/native
 */
#include <libpq-fe.h>
#include <string.h>

#include "lib/test.h"
#include "rowlock/postgresql.h"

static void refuses(PGconn *handle)
{
    struct rowlock_connection *none = NULL;

    t_fails(rowlock_postgresql_wrap(handle, NULL, &none, &t_error), EINVAL);
    t_true(none == NULL);
}

TEST(a_handle_in_pipeline_mode_is_refused)
{
    PGconn *handle = t_native();

    t_int(PQenterPipelineMode(handle), 1);
    refuses(handle);
    t_int(PQexitPipelineMode(handle), 1);
}

TEST(a_nonblocking_handle_is_refused)
{
    PGconn *handle = t_native();

    t_int(PQsetnonblocking(handle, 1), 0);
    refuses(handle);
}

TEST(a_handle_with_a_result_pending_is_refused_and_loses_nothing)
{
    PGconn *handle = t_native();
    PGresult *result;

    t_int(PQsendQuery(handle, "SELECT 42"), 1);
    refuses(handle);
    result = PQgetResult(handle);
    t_text(PQgetvalue(result, 0, 0), "42");
    PQclear(result);
    t_true(PQgetResult(handle) == NULL);
}

TEST(a_handle_in_copy_is_refused)
{
    PGconn *handle = t_native();

    PQclear(PQexec(handle, "COPY (SELECT 1) TO STDOUT"));
    refuses(handle);
}

TEST(a_handle_that_becomes_unusable_is_refused_at_the_next_call)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_int(PQenterPipelineMode(handle), 1);
    t_fails(t_begin(own, t_x("x"), 0), EINVAL);
    t_int(PQexitPipelineMode(handle), 1);
    t_ok(t_begin(own, t_x("x"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_int(PQpipelineStatus(handle), PQ_PIPELINE_OFF);
    t_int(PQisnonblocking(handle), 0);
}

static int notices;

static void count_notice(void *data, const PGresult *result)
{
    (void)data;
    (void)result;
    notices++;
}

TEST(the_callers_notice_receiver_is_his_and_hears_nothing_of_us)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *other = t_open();

    PQsetNoticeReceiver(handle, count_notice, NULL);
    t_ok(t_begin(other, t_x("x"), 0));
    t_fails(t_begin(own, t_x("x"), 20), ETIMEDOUT);
    t_ok(rowlock_commit(other, &t_error));
    t_ok(t_begin(own, t_x("x"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_int(notices, 0);
    t_native_sql(handle, "DROP TABLE IF EXISTS there_is_none");
    t_int(notices, 1);
}
