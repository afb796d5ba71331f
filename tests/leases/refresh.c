/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refresh under a lease: the grant marks the subject as being refreshed, the release records the
 * result.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/subject.h"

struct making {
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease;
    rowlock_duration wait_ms;
    int is_brief; /* its max_age is SUBJECT_BRIEF_MS */
};

static const char *lock_name(void)
{
    return t_say("subject:%s", t_name(0));
}

static int acquire(struct rowlock_connection *connection, struct making *making,
                   struct rowlock_error *error)
{
    struct rowlock_subject subject = subject_here();
    struct rowlock_terms terms = {
        .ttl_ms = 30000, .wait_ms = making->wait_ms, .note = "a note", .command = "a command"};

    if (making->is_brief)
        subject.max_age_ms = SUBJECT_BRIEF_MS;
    return rowlock_refresh_acquire(connection, &subject, &terms, &making->refresh, &making->lease,
                                   error);
}

static struct making begun(struct rowlock_connection *connection)
{
    struct making making = {.wait_ms = 0};

    t_ok(acquire(connection, &making, &t_error));
    t_int(making.refresh.stale, 1);
    t_true(making.lease != NULL);
    return making;
}

static int give(struct rowlock_lease *lease, int exit_status, const char *output)
{
    struct rowlock_result result = {.exit = exit_status, .output = output};

    return rowlock_refresh_release(lease, &result, &t_error);
}

static void done(struct making *making)
{
    t_ok(give(making->lease, 0, NULL));
    rowlock_lease_free(making->lease);
}

static int acquire_in_thread(struct rowlock_connection *connection, void *data,
                             struct rowlock_error *error)
{
    struct making *making = data;

    making->wait_ms = T_TIMEOUT_MS;
    return acquire(connection, making, error);
}

/* The exit status is 0, which alone would mean COMPLETE. */
TEST(what_was_lost_or_not_started_is_an_error_and_the_next_one_makes_it)
{
    struct rowlock_connection *one = t_open();
    static const struct {
        enum rowlock_run_outcome outcome;
        const char *error;
    } ends[] = {{ROWLOCK_RUN_LOST, "the lock was lost"},
                {ROWLOCK_RUN_NOTSTARTED, "it was not started"},
                {ROWLOCK_RUN_TIMEDOUT, "it exceeded its time limit and was stopped"}};
    struct making making;

    for (int i = 0; i < 3; i++) {
        struct rowlock_result result = {.outcome = ends[i].outcome};

        making = begun(one);
        t_ok(rowlock_refresh_release(making.lease, &result, &t_error));
        rowlock_lease_free(making.lease);
        t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
        t_text(subject_seen().error, ends[i].error);
    }
    making = begun(one);
    t_fails(rowlock_refresh_release(
                making.lease, &(struct rowlock_result){.outcome = ROWLOCK_RUN_LATE}, &t_error),
            EINVAL);
    done(&making);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
}

TEST(it_is_processing_for_all_to_see_then_complete)
{
    struct making making = begun(t_open());
    struct rowlock_subject_view seen = subject_seen();

    t_int(seen.status, ROWLOCK_SUBJECT_PROCESSING);
    t_text(seen.by, "a command");
    t_int(seen.pid, getpid());
    t_true(seen.began_ms > 0);
    t_int(seen.ended_ms, 0);
    t_int(seen.age_ms, -1);
    done(&making);
    seen = subject_seen();
    t_int(seen.status, ROWLOCK_SUBJECT_COMPLETE);
    t_true(seen.age_ms >= 0);
    t_int(seen.exit, 0);
    t_text(seen.error, "");
    t_text(t_all_rows(t_native()), NO_ROWS);
}

TEST(fresh_data_needs_no_lease_and_no_wait)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct making making = begun(one), other = {.lease = (void *)1};
    struct rowlock_lease *user;

    done(&making);
    user = t_granted(two, t_s(lock_name()), 30000);
    t_ok(acquire(one, &other, &t_error));
    t_int(other.refresh.stale, 0);
    t_true(other.lease == NULL);
    t_give(user);
}

TEST(a_waiter_finds_fresh_data_and_leaves_no_rows)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct making making = begun(one), other = {.lease = (void *)1};
    void *hand = t_native();
    struct thread *thread = t_thread(two, acquire_in_thread, &other);

    t_until_queued(hand, lock_name(), 1);
    done(&making);
    t_ok(t_join(thread));
    t_int(other.refresh.stale, 0);
    t_true(other.lease == NULL);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(a_waiter_that_waits_longer_than_max_age_finds_fresh_data)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    long long began = t_now();
    struct making making = begun(one), other = {.is_brief = 1};
    struct thread *thread = t_thread(two, acquire_in_thread, &other);

    t_until_queued(t_native(), lock_name(), 1);
    subject_outlast(began);
    began = t_now();
    done(&making);
    t_ok(t_join(thread));
    subject_is_as_old_as_its_end(&other.refresh, began);
    rowlock_lease_free(other.lease);
}

TEST(a_refresh_waits_for_users_and_users_for_a_refresh)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *user = t_granted(two, t_s(lock_name()), 30000);
    struct making making = {.wait_ms = 0};
    void *hand = t_native();
    struct thread *thread;

    t_fails(acquire(one, &making, &t_error), EBUSY);
    thread = t_thread(one, acquire_in_thread, &making);
    t_until_queued(hand, lock_name(), 1);
    t_give(user);
    t_ok(t_join(thread));
    t_int(making.refresh.stale, 1);
    t_fails(t_acquire(two, t_s(lock_name()), 30000, 0, &user), EBUSY);
    done(&making);
    t_give(t_granted(two, t_s(lock_name()), 30000));
}

TEST(leases_and_transactions_exclude_each_other)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;
    struct making making = begun(one), other = {.wait_ms = 0};

    t_fails(rowlock_refresh_begin(two, &subject, 0, &refresh, &t_error), EBUSY);
    t_fails(rowlock_use_begin(two, t_name(0), ROWLOCK_EXCLUSIVE, NULL, 0, &t_error), EBUSY);
    t_ok(give(making.lease, 3, NULL));
    rowlock_lease_free(making.lease);
    t_ok(rowlock_refresh_begin(two, &subject, 0, &refresh, &t_error));
    t_int(refresh.stale, 1);
    t_fails(acquire(one, &other, &t_error), EBUSY);
    t_ok(rowlock_refresh_done(two, &refresh, &t_error));
    t_ok(acquire(one, &other, &t_error));
    t_int(other.refresh.stale, 0);
}

TEST(a_failure_is_kept_with_its_status_and_the_next_caller_tries_again)
{
    static const struct {
        int exit;
        const char *output, *error;
    } cases[] = {
        {3, NULL, "exit 3"}, {137, NULL, "killed by signal 9"}, {1, "no route", "no route"}};
    struct rowlock_connection *one = t_open();
    struct making making = begun(one);
    int64_t updated;

    done(&making);
    updated = subject_seen().updated_ms;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 0)
            subject_grow_old(one, 2 * HOUR);
        making = begun(one);
        t_ok(give(making.lease, cases[i].exit, cases[i].output));
        rowlock_lease_free(making.lease);
        t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
        t_text(subject_seen().error, cases[i].error);
        t_int(subject_seen().exit, cases[i].exit);
        t_int(subject_seen().updated_ms, updated - 2 * HOUR); /* the old data still exists */
    }
}

TEST(what_was_made_by_a_clock_that_was_hours_ahead_is_stale)
{
    struct rowlock_connection *one = t_open();
    struct making making = begun(one), other = {.wait_ms = 0};

    done(&making);
    subject_grow_old(one, -HOUR);
    t_ok(acquire(one, &other, &t_error));
    t_int(other.refresh.stale, 0);
    t_int(other.refresh.age_ms, 0);
    subject_grow_old(one, -2L * HOUR);
    making = begun(one);
    done(&making);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
}

TEST(p6_of_a_holder_that_died_it_is_an_error_and_the_next_caller_makes_it)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct making making = begun(one), other;
    void *hand = t_native();
    int64_t token = rowlock_token(making.lease);

    t_expire(hand, token);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
    t_text(subject_seen().error, "its holder died");
    other = begun(two);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_PROCESSING);
    t_fails(give(making.lease, 0, NULL), ELOST); /* the frozen holder wakes, and changes nothing */
    rowlock_lease_free(making.lease);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_PROCESSING);
    done(&other);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
}

TEST(what_was_made_under_a_lease_that_was_lost_does_not_count)
{
    struct rowlock_connection *one = t_open();
    struct making making = begun(one);
    int64_t broken = 0;

    t_ok(rowlock_break(t_open(), lock_name(), 0, 1, &broken, &t_error));
    t_int(broken, 1);
    t_fails(give(making.lease, 0, NULL), ELOST);
    rowlock_lease_free(making.lease);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_ERROR);
    t_contains(subject_seen().error, "lost");
    t_int(subject_seen().age_ms, -1);
}

TEST(expired_while_it_is_made_it_is_stale_when_it_is_done)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct making making = begun(one);

    t_ok(rowlock_expire(two, t_name(0), NULL, &t_error));
    done(&making);
    making = begun(two);
    done(&making);
    t_ok(acquire(one, &making, &t_error));
    t_int(making.refresh.stale, 0);
}

TEST(to_release_it_twice_does_no_harm_and_no_other_lease_is_a_subject_s)
{
    struct rowlock_connection *one = t_open();
    struct making making = begun(one);
    struct rowlock_lease *other;

    t_ok(give(making.lease, 0, NULL));
    t_ok(give(making.lease, 5, "again"));
    rowlock_lease_free(making.lease);
    t_int(subject_seen().status, ROWLOCK_SUBJECT_COMPLETE);
    other = t_granted(one, t_x(t_name(1)), 30000);
    t_fails(give(other, 0, NULL), EINVAL);
    t_give(other);
    t_fails(give(NULL, 0, NULL), EINVAL);
}

TEST(a_table_cannot_be_held_by_a_lease)
{
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease = NULL;

    subject.table = "data_cache";
    t_fails(rowlock_refresh_acquire(t_open(), &subject, NULL, &refresh, &lease, &t_error), EMODE);
    t_true(lease == NULL);
}

TEST(output_that_is_no_utf8_is_kept_as_far_as_it_is_and_cut)
{
    struct rowlock_connection *one = t_open();
    struct making making = begun(one);
    char output[5000];

    memset(output, 'x', sizeof output);
    memcpy(output, "a\xff\xc3\xa9", 4);
    output[sizeof output - 1] = '\0';
    t_ok(give(making.lease, 1, output));
    rowlock_lease_free(making.lease);
    t_int((int)strlen(subject_seen().error), 2048);
    t_int(strncmp(subject_seen().error, "a?\xc3\xa9x", 5), 0);
}
