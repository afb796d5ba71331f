/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refresh of stale data happens once. This covers every row of the article's table of
 * observations by two sessions, in the caller's own transaction, with a real cache table.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/subject.h"

static enum rowlock_mode used(void)
{
    return t_facts()->shared == SHARED_REFUSED ? ROWLOCK_EXCLUSIVE : ROWLOCK_SHARED;
}

static int begin(struct rowlock_connection *connection, rowlock_duration wait_ms,
                 struct rowlock_refresh *refresh)
{
    struct rowlock_subject subject = subject_here();

    return rowlock_refresh_begin(connection, &subject, wait_ms, refresh, &t_error);
}

static int use(struct rowlock_connection *connection, rowlock_duration wait_ms)
{
    return rowlock_use_begin(connection, t_name(0), used(), NULL, wait_ms, &t_error);
}

static int use_at_once(struct rowlock_connection *connection, const void *none)
{
    (void)none;
    return use(connection, 0);
}

static struct rowlock_refresh begun(struct rowlock_connection *connection)
{
    struct rowlock_refresh refresh = {.stale = 0};

    t_ok(begin(connection, 0, &refresh));
    t_int(refresh.stale, 1);
    return refresh;
}

/* The article's prc_Run_Cache_Init as a whole; returns 1 if it updated the cache. */
static int make(struct rowlock_connection *connection, int number)
{
    struct rowlock_refresh refresh;

    t_ok(begin(connection, T_TIMEOUT_MS, &refresh));
    if (refresh.stale) {
        cache_fill(connection, number);
        t_ok(rowlock_refresh_done(connection, &refresh, &t_error));
    }
    return refresh.stale;
}

static int refresh_in_thread(struct rowlock_connection *connection, void *data,
                             struct rowlock_error *error)
{
    struct rowlock_subject subject = subject_here();

    return rowlock_refresh_begin(connection, &subject, T_TIMEOUT_MS, data, error);
}

static int use_in_thread(struct rowlock_connection *connection, void *data,
                         struct rowlock_error *error)
{
    return rowlock_use_begin(connection, t_name(0), *(enum rowlock_mode *)data, NULL, T_TIMEOUT_MS,
                             error);
}

/* ---- the article's table --------------------------------------------------------------------- */

TEST(row_1_of_two_concurrent_refreshes_one_waits_and_finds_fresh_data)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh, other = {.stale = 7};
    struct thread *thread;

    cache_create(one);
    refresh = begun(one);
    thread = t_thread(two, refresh_in_thread, &other);
    t_until_waiting(thread);
    cache_fill(one, 1);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_ok(t_join(thread));
    t_int(other.stale, 0);
    t_true(other.age_ms >= 0 && other.age_ms < HOUR);
    t_fails(rowlock_commit(two, &t_error), ENOTX);
    t_text(cache_seen(), "new 1 of 1");
}

static int refresh_briefly(struct rowlock_connection *connection, void *data,
                           struct rowlock_error *error)
{
    struct rowlock_subject subject = subject_here();

    subject.max_age_ms = SUBJECT_BRIEF_MS;
    return rowlock_refresh_begin(connection, &subject, T_TIMEOUT_MS, data, error);
}

TEST(a_waiter_that_waits_longer_than_max_age_finds_fresh_data)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh, other = {.stale = 7};
    struct thread *thread;
    long long began = t_now();

    refresh = begun(one);
    thread = t_thread(two, refresh_briefly, &other);
    t_until_waiting(thread);
    subject_outlast(began);
    began = t_now();
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_ok(t_join(thread));
    subject_is_as_old_as_its_end(&other, began);
}

static int expire_and_refresh(struct rowlock_connection *connection, void *data,
                              struct rowlock_error *error)
{
    int code = rowlock_expire(connection, t_name(0), NULL, error);

    return code ? code : refresh_in_thread(connection, data, error);
}

TEST(row_2_a_refresh_waits_for_users)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh = {.stale = 7};
    struct thread *thread;

    cache_create(one);
    t_int(make(one, 1), 1);
    t_ok(use(one, 0));
    thread = t_thread(two, expire_and_refresh, &refresh);
    t_until_waiting(thread);
    t_int(t_is_done(thread), 0);
    t_text(t_sql(one, "SELECT created FROM data_cache"), "1");
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_join(thread));
    t_int(refresh.stale, 1);
    cache_fill(two, 2);
    t_ok(rowlock_refresh_done(two, &refresh, &t_error));
    t_text(cache_seen(), "new 2 of 1");
}

TEST(row_3_of_two_that_use_it_exclusively_one_waits)
{
    static enum rowlock_mode exclusive = ROWLOCK_EXCLUSIVE;
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct thread *thread;

    t_ok(rowlock_use_begin(one, t_name(0), ROWLOCK_EXCLUSIVE, NULL, 0, &t_error));
    thread = t_thread(two, use_in_thread, &exclusive);
    t_until_waiting(thread);
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(two, &t_error));
}

TEST(row_3_and_of_two_that_share_it_none_where_the_engine_can)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    int code;

    code = rowlock_use_begin(one, t_name(0), ROWLOCK_SHARED, NULL, 0, &t_error);
    if (t_facts()->shared == SHARED_REFUSED) {
        t_int(code, ROWLOCK_EMODE);
        return;
    }
    t_ok(code);
    code = rowlock_use_begin(two, t_name(0), ROWLOCK_SHARED, NULL, 0, &t_error);
    t_int(code, t_facts()->shared == SHARED_TOGETHER ? ROWLOCK_OK : ROWLOCK_EBUSY);
}

/* Whether locking the named table also excludes programs that do not use rowlock. */
static int can_lock_tables(struct rowlock_connection *connection)
{
    int code = rowlock_use_begin(connection, t_name(0), used(), "data_cache", 0, &t_error);

    if (code == ROWLOCK_EMODE) {
        struct rowlock_subject subject = subject_here();
        struct rowlock_refresh refresh;

        t_true(t_facts()->ddl_commits || t_facts()->plain);
        t_contains(t_error.text, "data_cache");
        t_contains(t_error.text, t_facts()->plain ? "ODBC and JDBC" : "LOCK TABLES commits");
        t_left(NONE);
        subject.table = "data_cache";
        t_fails(rowlock_refresh_begin(connection, &subject, 0, &refresh, &t_error), EMODE);
        return 0;
    }
    t_ok(code);
    return 1;
}

struct stranger {
    void *handle;
    const char *text;
};

/* A plain statement by a session that does not use rowlock. */
static int speak(__attribute__((unused)) struct rowlock_connection *connection, void *data,
                 struct rowlock_error *error)
{
    struct stranger *stranger = data;
    char out[100];

    if (t_engine()->sql(stranger->handle, stranger->text, out, sizeof out) == 0)
        return ROWLOCK_OK;
    snprintf(error->text, sizeof error->text, "%s", out);
    return ROWLOCK_EDB;
}

TEST(row_4_a_delete_by_a_program_that_knows_no_rowlock_waits)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct stranger stranger = {t_handle(two), "DELETE FROM data_cache"};
    struct thread *thread;

    cache_create(one);
    if (!can_lock_tables(one))
        return;
    if (!t_facts()->server) {
        /* the file is locked: busy_timeout applies, SQLite's own wait */
        t_int(t_try_sql(stranger.handle, "DELETE FROM data_cache"), 1);
        t_ok(rowlock_commit(one, &t_error));
        t_int(t_try_sql(stranger.handle, "DELETE FROM data_cache"), 0);
    } else {
        thread = t_thread(two, speak, &stranger);
        t_until_waiting(thread);
        t_text(cache_seen(), "old 0 of 1");
        t_ok(rowlock_commit(one, &t_error));
        t_ok(t_join(thread));
    }
    t_contains(cache_seen(), "of 0");
}

/* The application's own statements wait for a lock no longer than a moment. */
static void be_impatient(void *handle)
{
    t_native_sql(handle, "%s",
                 t_facts()->server ? "SET lock_timeout = '1ms'" : "PRAGMA busy_timeout = 1");
}

TEST(row_5_truncate_fails_at_once_under_a_lock_time_out)
{
    struct rowlock_connection *one = t_open();
    void *other = t_native();

    cache_create(one);
    if (!can_lock_tables(one))
        return;
    be_impatient(other);
    if (t_facts()->server) {
        t_int(t_try_sql(other, "TRUNCATE TABLE data_cache"), 1);
        t_contains(t_sql_error, "lock timeout");
        t_int(t_try_sql(other, "LOCK TABLE data_cache IN ACCESS EXCLUSIVE MODE NOWAIT"), 1);
    } else {
        t_int(t_try_sql(other, "DELETE FROM data_cache"), 1); /* SQLite has no TRUNCATE */
        t_contains(t_sql_error, "locked");
    }
    t_ok(rowlock_commit(one, &t_error));
    t_text(cache_seen(), "old 0 of 1");
}

TEST(row_6_select_works_at_once_while_it_is_used_and_while_it_is_made)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;

    cache_create(one);
    if (can_lock_tables(one)) {
        t_text(cache_seen(), "old 0 of 1");
        t_ok(rowlock_commit(one, &t_error));
        subject.table = "data_cache";
    }
    if (t_facts()->readers_wait)
        t_not_here(WHY_READERS);
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    cache_fill(one, 1);
    t_text(cache_seen(), "old 0 of 1");
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_text(cache_seen(), "new 1 of 1");
}

TEST(row_7_users_wait_for_a_refresh)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    enum rowlock_mode mode = used();
    struct rowlock_refresh refresh;
    struct thread *thread;

    cache_create(one);
    refresh = begun(one);
    thread = t_thread(two, use_in_thread, &mode);
    t_until_waiting(thread);
    cache_fill(one, 1);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_ok(t_join(thread));
    t_text(t_sql(two, "SELECT created FROM data_cache"), "1");
    t_ok(rowlock_commit(two, &t_error));
}

TEST(the_table_of_a_refresh_excludes_writers_without_rowlock)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;
    void *other = t_native();

    cache_create(one);
    if (!can_lock_tables(one))
        return;
    t_ok(rowlock_commit(one, &t_error));
    subject.table = "data_cache";
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    be_impatient(other);
    t_int(t_try_sql(other, "DELETE FROM data_cache"), 1);
    cache_fill(one, 1);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_int(t_try_sql(other, "DELETE FROM data_cache"), 0);
}

TEST(a_table_with_a_writer_is_waited_for_until_the_timeout)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;
    void *other = t_native();

    cache_create(one);
    subject.table = "data_cache";
    if (!t_facts()->server || !can_lock_tables(one))
        return;
    t_ok(rowlock_commit(one, &t_error));
    t_native_sql(other, "BEGIN");
    t_native_sql(other, "DELETE FROM data_cache");
    t_fails(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error), EBUSY);
    t_contains(t_error.text, "data_cache");
    t_left(NONE);
    t_left_is_true(one);
    t_fails(rowlock_refresh_begin(one, &subject, 1000, &refresh, &t_error), ETIMEDOUT);
    t_left_is_true(one);
    t_native_sql(other, "ROLLBACK");
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_text(t_sql(one, "SHOW lock_timeout"), "0");
    subject.table = "no_such_table";
    t_ok(rowlock_rollback(one, &t_error));
    t_fails(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error), EINVAL);
    t_contains(t_error.text, "no_such_table");
    subject.table = "data_cache; DROP TABLE data_cache";
    t_true(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error) != ROWLOCK_OK);
    t_left_is_true(one);
    t_text(cache_seen(), "old 0 of 1");
}

/* ---- failures -------------------------------------------------------------------------------- */

TEST(an_error_rolls_the_data_back_and_leaves_the_status_with_its_message)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh;
    struct rowlock_subject_view seen;

    cache_create(one);
    t_int(make(one, 1), 1);
    t_ok(rowlock_expire(one, t_name(0), NULL, &t_error));
    refresh = begun(one);
    cache_fill(one, 2);
    t_int(t_try_sql(t_handle(one), "INSERT INTO no_such_table VALUES (1)"), 1);
    t_ok(rowlock_refresh_failed(one, &refresh, "the source is away", &t_error));
    t_text(cache_seen(), "new 1 of 1");
    seen = subject_seen();
    t_int(seen.status, ROWLOCK_SUBJECT_ERROR);
    t_text(seen.error, "the source is away");
    t_int(seen.began_ms, 0);
    t_true(seen.ended_ms > 0);
    t_int(seen.pid, getpid());
    t_fails(rowlock_commit(one, &t_error), ENOTX);
    t_int(make(two, 3), 1); /* the next caller tries again */
    t_text(cache_seen(), "new 3 of 1");
    seen = subject_seen();
    t_int(seen.status, ROWLOCK_SUBJECT_COMPLETE);
    t_text(seen.error, "");
}

TEST(the_very_first_may_fail_and_what_was_never_made_has_no_age)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_refresh refresh = begun(one);
    struct rowlock_subject_view seen;

    t_int(refresh.age_ms, -1);
    t_ok(rowlock_refresh_failed(one, &refresh, NULL, &t_error));
    seen = subject_seen();
    t_int(seen.status, ROWLOCK_SUBJECT_ERROR);
    t_int(seen.updated_ms, 0);
    t_int(seen.age_ms, -1);
    t_int(seen.has_data, 0);
    t_int(seen.exit, -1);
}

TEST(a_failure_may_be_reported_over_another_session_if_the_first_is_lost)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh = begun(one);

    t_close(one);
    t_ok(rowlock_refresh_failed(two, &refresh, "the session was lost", &t_error));
    t_text(subject_seen().error, "the session was lost");
}

TEST(a_failure_does_not_overwrite_what_another_has_made_since)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh;

    cache_create(two);
    refresh = begun(one);
    t_ok(rowlock_rollback(one, &t_error));
    t_int(make(two, 5), 1);
    t_ok(rowlock_refresh_failed(one, &refresh, "too late", &t_error));
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
    t_text(cache_seen(), "new 5 of 1");
}

TEST(a_failure_does_not_overwrite_a_refresh_under_way)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh first, second;

    if (!t_facts()->server)
        return;
    first = begun(one);
    t_ok(rowlock_rollback(one, &t_error));
    second = begun(two);
    t_ok(rowlock_refresh_failed(one, &first, "late", &t_error));
    t_ok(rowlock_refresh_done(two, &second, &t_error));
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
}

/* ---- the article's warning ------------------------------------------------------------------- */

static void is_told_lost(struct rowlock_connection *connection,
                         const struct rowlock_refresh *refresh)
{
    t_fails(rowlock_refresh_done(connection, refresh, &t_error), ELOST);
    t_contains(t_error.text, t_name(0));
    t_left_is_true(connection);
    t_ok(rowlock_refresh_failed(connection, refresh, "a COMMIT in between", &t_error));
    t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
    t_text(subject_seen().error, "a COMMIT in between");
    t_int(make(connection, 9), 1);
}

/* Whether or not another transaction was begun. */
TEST(a_commit_in_between_is_detected)
{
    struct rowlock_connection *one = t_open();

    if (t_facts()->commits_unseen)
        t_not_here(WHY_COMMIT_UNSEEN);
    cache_create(one);
    for (int begins = 0; begins < 2; begins++) {
        struct rowlock_refresh refresh;

        t_ok(rowlock_expire(one, t_name(0), NULL, &t_error));
        refresh = begun(one);
        cache_fill(one, 1);
        t_sql(one, "COMMIT");
        t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
        t_contains(subject_seen().error, "committed before it finished");
        if (begins) {
            t_sql(one, "BEGIN");
            t_sql(one, "INSERT INTO data_cache VALUES ('more', 2)");
        }
        is_told_lost(one, &refresh);
        t_text(cache_seen(), "new 9 of 1");
    }
}

TEST(a_rollback_in_between_is_detected)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_refresh refresh;

    if (t_facts()->commits_unseen)
        t_not_here(WHY_ROLLBACK_UNSEEN);
    cache_create(one);
    refresh = begun(one);
    t_sql(one, "ROLLBACK");
    t_sql(one, "BEGIN");
    is_told_lost(one, &refresh);
}

TEST(ddl_that_commits_is_detected)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_refresh refresh;

    cache_create(one);
    refresh = begun(one);
    if (!t_facts()->ddl_commits) {
        t_sql(one, "CREATE TABLE made_in_between (n INTEGER)");
        t_ok(rowlock_refresh_done(one, &refresh, &t_error));
        t_sql(one, "DROP TABLE made_in_between");
        return;
    }
    if (t_facts()->commits_unseen)
        t_not_here(WHY_DDL_UNSEEN);
    t_sql(one, "TRUNCATE TABLE data_cache");
    is_told_lost(one, &refresh);
}

TEST(savepoints_of_the_caller_s_own_disturb_nothing)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_refresh refresh;

    if (t_facts()->own_savepoints)
        t_not_here(WHY_SAVEPOINT);
    cache_create(one);
    refresh = begun(one);
    t_sql(one, "SAVEPOINT mine");
    cache_fill(one, 1);
    t_sql(one, "ROLLBACK TO SAVEPOINT mine");
    cache_fill(one, 2);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_text(cache_seen(), "new 2 of 1");
}

TEST(a_borrowed_session_does_it_all_and_its_settings_stay)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_refresh refresh;
    char before[65536];

    cache_create(t_open());
    refresh = begun(own);
    t_ok(rowlock_refresh_failed(own, &refresh, "first", &t_error));
    snprintf(before, sizeof before, "%s", t_native_sql(handle, "%s", t_engine()->settings));
    refresh = begun(own);
    t_native_sql(handle, "DELETE FROM data_cache");
    t_ok(rowlock_refresh_done(own, &refresh, &t_error));
    t_ok(use(own, 0));
    t_ok(rowlock_commit(own, &t_error));
    t_text(t_native_sql(handle, "%s", t_engine()->settings), before);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
}

/* ---- age ------------------------------------------------------------------------------------- */

TEST(fresh_data_causes_no_wait)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh;

    cache_create(one);
    t_int(make(one, 1), 1);
    t_ok(rowlock_use_begin(one, t_name(0), ROWLOCK_EXCLUSIVE, NULL, 0, &t_error));
    t_ok(begin(two, 0, &refresh));
    t_int(refresh.stale, 0);
    t_text(refresh.subject, t_name(0));
}

TEST(older_than_its_max_age_is_stale_and_each_caller_says_his_own)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;

    cache_create(one);
    t_int(make(one, 1), 1);
    t_int(make(one, 2), 0);
    subject_grow_old(one, HOUR - 60000);
    t_int(make(one, 2), 0);
    subject.max_age_ms = HOUR / 2;
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_int(refresh.stale, 1);
    t_true(refresh.age_ms >= HOUR - 60000 && refresh.age_ms < HOUR);
    t_ok(rowlock_rollback(one, &t_error));
    subject_grow_old(one, 60000);
    t_int(make(one, 3), 1);
    subject.max_age_ms = 0;
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_int(refresh.stale, 1);
    t_ok(rowlock_rollback(one, &t_error));
    subject_grow_old(one, 1000L * HOUR);
    subject.max_age_ms = -1;
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_int(refresh.stale, 0);
}

TEST(what_was_expired_is_stale_whatever_its_age_and_has_none)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_refresh refresh;
    struct rowlock_subject subject = subject_here();
    int known = 7;

    t_ok(rowlock_expire(one, t_name(0), &known, &t_error));
    t_int(known, 0);
    cache_create(one);
    for (int i = 1; i <= 20; i++) { /* the clock need not move between these calls */
        t_int(make(one, i), 1);
        t_int(make(one, i), 0);
        t_ok(rowlock_expire(one, t_name(0), &known, &t_error));
        t_int(known, 1);
    }
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
    t_int(subject_seen().age_ms, -1);
    t_int(subject_seen().updated_ms, 0);
    t_int(subject_seen().has_data, 1);
    subject.max_age_ms = -1;
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_int(refresh.stale, 1);
    t_true(refresh.age_ms >= 0); /* the data exists, however old */
}

TEST(expired_while_it_is_made_it_is_stale_when_it_is_done)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh;

    if (!t_facts()->server) /* the file is locked */
        return;
    cache_create(one);
    refresh = begun(one);
    t_ok(rowlock_expire(two, t_name(0), NULL, &t_error)); /* and does not wait */
    cache_fill(one, 1);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
    t_int(make(one, 2), 1);
    t_int(make(one, 3), 0);
}

TEST(a_subject_shows_who_refreshed_it_when_and_its_state)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;
    struct rowlock_subject_view seen;
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    subject.description = "the data cache, from its source";
    subject.command = "init_cache";
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    seen = subject_seen();
    t_text(seen.name, t_name(0));
    t_text(seen.description, "the data cache, from its source");
    t_text(seen.by, "init_cache");
    t_text(seen.host, host);
    t_int(seen.pid, getpid());
    t_true(seen.began_ms > 1600000000000 && seen.ended_ms >= seen.began_ms);
    t_int(seen.updated_ms, seen.ended_ms);
    t_true(seen.age_ms >= 0 && seen.age_ms < HOUR);
    t_int(seen.exit, -1);
    subject = subject_here();
    t_ok(rowlock_expire(one, t_name(0), NULL, &t_error));
    t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_text(subject_seen().description, "the data cache, from its source");
}

TEST(p9_subjects_that_differ_by_case_space_and_quotes_are_different)
{
    const char *endings[] = {"a", "A", "a ", "a'", "a\""};
    struct rowlock_connection *one = t_open();

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *name = t_say("%.100s/%s", t_name(0), endings[i]);
        struct rowlock_subject subject = {.name = name, .max_age_ms = HOUR};
        struct rowlock_refresh refresh;

        t_ok(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error));
        t_int(refresh.stale, 1);
        t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(a_try_names_the_holder_and_leaves_nothing_open)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_refresh refresh = begun(one), other;

    t_fails(begin(two, 0, &other), EBUSY);
    t_contains(t_error.text, "subject:");
    t_left(NONE);
    t_fails(begin(two, 1000, &other), ETIMEDOUT);
    t_fails(use(two, 0), EBUSY);
    t_left_is_true(two);
    t_ok(rowlock_refresh_done(one, &refresh, &t_error));
    t_ok(t_freed(use_at_once, two, NULL));
}

TEST(what_is_no_subject_is_refused)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh = {.stale = 0};
    char longest[249];

    memset(longest, 's', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    subject.name = longest;
    t_fails(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error), EINVAL);
    t_contains(t_error.text, "247");
    subject.name = "";
    t_fails(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error), EINVAL);
    subject.name = "\xff";
    t_fails(rowlock_refresh_begin(one, &subject, 0, &refresh, &t_error), EINVAL);
    t_fails(rowlock_use_begin(one, NULL, used(), NULL, 0, &t_error), EINVAL);
    t_fails(rowlock_expire(one, NULL, NULL, &t_error), EINVAL);
    t_fails(rowlock_subjects(one, NULL, NULL, NULL, &t_error), EINVAL);
    t_fails(rowlock_refresh_failed(one, &refresh, NULL, &t_error), EINVAL);
    t_ok(t_begin(one, t_x(t_name(3)), 0));
    t_fails(begin(one, 0, &refresh), EINTX);
    t_fails(use(one, 0), EINTX);
    t_fails(rowlock_expire(one, t_name(0), NULL, &t_error), EINTX);
    t_fails(rowlock_refresh_done(one, &refresh, &t_error), EINVAL);
    t_left_is_true(one);
    t_ok(rowlock_commit(one, &t_error));
}

/* ---- many at once ---------------------------------------------------------------------------- */

#define NODES 8

static int make_in_thread(struct rowlock_connection *connection, void *data,
                          struct rowlock_error *error)
{
    struct rowlock_refresh refresh;
    int code = refresh_in_thread(connection, &refresh, error);

    if (!code && refresh.stale) {
        *(int *)data = 1;
        code = rowlock_refresh_done(connection, &refresh, error);
    }
    return code;
}

TEST(of_eight_nodes_that_come_at_once_exactly_one_makes_it)
{
    struct rowlock_connection *nodes[NODES];
    struct thread *threads[NODES];
    int made[NODES] = {0}, sum = 0;

    for (int i = 0; i < NODES; i++)
        nodes[i] = t_open();
    for (int i = 0; i < NODES; i++)
        threads[i] = t_thread(nodes[i], make_in_thread, &made[i]);
    for (int i = 0; i < NODES; i++) {
        t_ok(t_join(threads[i]));
        sum += made[i];
    }
    t_int(sum, 1);
}
