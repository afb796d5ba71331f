/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history on every engine and technique: the leases that ended, each in its way, and the
 * waiters that gave up.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/test.h"

struct told {
    char text[2000];
    int64_t token, ended_ms;
};

static int tell(const struct rowlock_past *past, void *data)
{
    static const char *const endings[] = {"released", "expired", "revoked", "gave up", "run"};
    static const char modes[] = "xsp";
    struct told *told = data;
    size_t at = strlen(told->text);

    t_true(past->ended_ms >= past->acquired_ms && past->waited_ms >= 0 && past->held_ms >= 0);
    told->token = past->token;
    snprintf(told->text + at, sizeof told->text - at, "%s %c%d '%s' '%s'\n", endings[past->ending],
             modes[past->mode], past->count, past->command, past->note);
    return 0;
}

static const char *history(struct rowlock_connection *connection, const char *name, int problems,
                           struct told *told)
{
    struct rowlock_past_filter filter = {.name = name, .problems = problems};

    *told = (struct told){.token = 0};
    t_ok(rowlock_history(connection, &filter, tell, told, &t_error));
    return told->text;
}

static struct rowlock_connection *at_level(enum rowlock_history_level level)
{
    struct rowlock_connection *connection = t_open();
    struct rowlock_history_rules rules;

    t_ok(rowlock_history_rules(connection, &rules, &t_error));
    rules.level = level;
    t_ok(rowlock_set_history(connection, &rules, &t_error));
    t_ok(rowlock_history_rules(connection, &rules, &t_error));
    t_int(rules.level, level);
    return connection;
}

static struct rowlock_lease *held(struct rowlock_connection *connection, struct rowlock_want want)
{
    struct rowlock_terms terms = {.ttl_ms = HOUR, .note = "monthly", .command = "backup"};
    struct rowlock_lease *lease = NULL;

    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    return lease;
}

TEST(at_level_all_every_lease_is_kept_as_it_was)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_ALL);
    struct rowlock_lease *lease = held(one, t_p(t_name(1), 5, 2));
    int64_t token = rowlock_token(lease);
    struct told told;

    t_text(history(one, t_name(1), 0, &told), "");
    t_give(lease);
    t_text(history(one, t_name(1), 0, &told), "released p2 'backup' 'monthly'\n");
    t_int(told.token, token);
    t_text(history(one, t_name(1), 1, &told), "");
}

TEST(at_level_all_the_lease_of_a_refresh_is_kept_too)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_ALL);
    struct rowlock_subject subject = {.name = t_name(1), .max_age_ms = HOUR};
    struct rowlock_terms terms = {.ttl_ms = HOUR, .note = "monthly", .command = "make"};
    struct rowlock_result result = {.outcome = ROWLOCK_RUN_DONE};
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease = NULL;
    char lock[300];
    struct told told;

    t_ok(rowlock_refresh_acquire(one, &subject, &terms, &refresh, &lease, &t_error));
    t_ok(rowlock_refresh_release(lease, &result, &t_error));
    rowlock_lease_free(lease);
    snprintf(lock, sizeof lock, "subject:%s", t_name(1));
    t_text(history(one, lock, 0, &told), "released x1 'make' 'monthly'\n");
}

TEST(at_level_slow_a_short_lease_is_kept_only_if_it_was_revoked)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_SLOW), *two = t_open();
    struct rowlock_lease *lease = held(one, t_x(t_name(1)));
    struct told told;

    t_give(lease);
    t_text(history(one, t_name(1), 0, &told), "");
    lease = held(one, t_s(t_name(1)));
    t_ok(rowlock_break(two, t_name(1), 0, 1, NULL, &t_error));
    t_text(history(two, t_name(1), 1, &told), "revoked s1 'backup' 'monthly'\n");
    rowlock_release(lease, NULL);
    t_text(history(two, t_name(1), 0, &told), "revoked s1 'backup' 'monthly'\n");
    rowlock_lease_free(lease);
}

static int take_breaker(const struct rowlock_past *past, void *data)
{
    struct told *told = data;

    snprintf(told->text, sizeof told->text, "%s %s", past->name, past->broken_by);
    told->ended_ms = past->ended_ms;
    return 0;
}

/* Its holder ends it later than it was broken; meanwhile others end. Of leases that end in the same
   millisecond the one with the greatest token is the latest. */
TEST(a_broken_lease_has_who_broke_it_within_any_limit_and_time)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_PROBLEMS);
    struct rowlock_past_filter filter = {.limit = 1};
    struct rowlock_lease *others[] = {held(one, t_x(t_name(2))), held(one, t_x(t_name(3)))};
    struct rowlock_lease *lease = held(one, t_x(t_name(1)));
    struct told told;
    char whole[300];

    t_ok(rowlock_break(one, t_name(1), 0, 0, NULL, &t_error));
    for (int i = 0; i < 2; i++) {
        t_ok(rowlock_break(one, t_name(2 + i), 0, 1, NULL, &t_error));
        rowlock_release(others[i], NULL);
        rowlock_lease_free(others[i]);
    }
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
    t_ok(rowlock_history(one, &filter, take_breaker, &told, &t_error));
    snprintf(whole, sizeof whole, "%s ", t_name(1));
    t_contains(told.text, whole);
    snprintf(whole, sizeof whole, ":%ld", (long)getpid());
    t_contains(told.text, whole);
    filter.since_ms = told.ended_ms; /* later than it was broken */
    t_ok(rowlock_history(one, &filter, take_breaker, &told, &t_error));
    t_contains(told.text, whole);
}

TEST(an_expired_lease_is_kept_once)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_PROBLEMS);
    void *hand = t_native();
    struct told told;

    lease_put(hand, 77, t_name(1), "exclusive", -1000);
    t_give(held(one, t_x(t_name(1))));
    t_text(history(one, t_name(1), 0, &told), "expired x1 'work' 'maintenance'\n");
    t_int(told.token, 77);
}

/* Where an error of the history could end the caller's transaction, there is no entry. */
TEST(p11_an_expired_lease_that_a_transaction_removes_is_kept_once)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_PROBLEMS);
    void *hand = t_native();
    struct told told;

    lease_put_permits(hand, 78, t_name(1), 5, 3, -1000);
    t_ok(t_begin(one, t_x(t_name(2)), 0));
    t_ok(t_lock(one, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(one, &t_error));
    if (!t_facts()->plain)
        t_text(history(one, t_name(1), 0, &told), "expired p3 'work' 'maintenance'\n");
    lease_put(hand, 79, t_name(1), "exclusive", -1000);
    t_ok(t_begin(one, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(one, &t_error));
    if (!t_facts()->plain)
        t_text(history(one, t_name(1), 1, &told), "expired x1 'work' 'maintenance'\n"
                                                  "expired p3 'work' 'maintenance'\n");
}

TEST(a_waiter_that_gives_up_is_kept_without_a_token)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_ALL), *two = t_open();
    struct rowlock_lease *lease = held(one, t_x(t_name(1))), *none = NULL;
    rowlock_duration limit_ms = 250;
    struct told told;

    do { /* an attempt may end before the waiter is queued, and then leaves nothing */
        t_fails(t_acquire(two, t_x(t_name(1)), HOUR, limit_ms, &none), ETIMEDOUT);
        history(one, t_name(1), 1, &told);
    } while (!*told.text && (limit_ms *= 2) < HOUR);
    t_true(strncmp(told.text, "gave up x1 ", 11) == 0);
    t_int(told.token, 0);
    t_give(lease);
}

TEST(an_expired_lease_that_its_holder_releases_has_expired)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_PROBLEMS), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x(t_name(1)), 1000);
    struct told told;

    lease_await_expiry(t_native(), (long)rowlock_token(lease));
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
    t_true(strncmp(history(two, t_name(1), 0, &told), "expired x1 ", 11) == 0);
}

TEST(a_lease_of_a_jobs_name_that_is_no_run_is_kept)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_ALL);
    struct told told;
    char name[100];

    snprintf(name, sizeof name, "job:%s", t_name(1));
    t_give(held(one, t_x(name)));
    t_text(history(one, name, 0, &told), "released x1 'backup' 'monthly'\n");
}

TEST(a_name_selects_the_entries_of_its_job_on_request)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_ALL);
    struct rowlock_past_filter filter = {.name = t_name(1), .jobs = 1};
    struct told told = {.token = 0};
    char name[100];

    snprintf(name, sizeof name, "job:%s", t_name(1));
    t_give(held(one, t_x(t_name(1))));
    t_give(held(one, t_s(name)));
    t_ok(rowlock_history(one, &filter, tell, &told, &t_error));
    t_text(told.text, "released s1 'backup' 'monthly'\nreleased x1 'backup' 'monthly'\n");
    filter.limit = 1;
    told.text[0] = '\0';
    t_ok(rowlock_history(one, &filter, tell, &told, &t_error));
    t_text(told.text, "released s1 'backup' 'monthly'\n");
    t_text(history(one, t_name(1), 0, &told), "released x1 'backup' 'monthly'\n");
}

TEST(at_level_off_nothing_is_kept)
{
    struct rowlock_connection *one = at_level(ROWLOCK_HISTORY_OFF), *two = t_open();
    struct rowlock_lease *lease = held(one, t_x(t_name(1)));
    struct told told;

    t_ok(rowlock_break(two, t_name(1), 0, 1, NULL, &t_error));
    t_text(history(two, t_name(1), 0, &told), "");
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
}
