/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of a plain dialect over the rows of a name (src/emulate/judge.h). */
#include <string.h>

#include "emulate/judge.h"
#include "lib/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
/* An array as rows. */
#define ROWS_OF(count, array) \
    (&(struct rowlock_rows){.size = sizeof *(array), .row = (array), .n = (count)})
#define ROWS(array) ROWS_OF(COUNT(array), array)

static const struct rowlock_rows none = {.size = sizeof(struct rowlock_held)};

static const struct rowlock_asked exclusive = {'x', 0, 1, 0}, shared = {'s', 0, 1, 0};
static const struct rowlock_asked permit = {'p', 3, 1, 0}, two_permits = {'p', 3, 2, 0};

static struct rowlock_held held(char kind, int64_t token, bool alive)
{
    return (struct rowlock_held){.token = token,
                                 .limit = kind == 'p' ? 3 : 0,
                                 .expires_ms = token,
                                 .kind = kind,
                                 .alive = alive};
}

static enum rowlock_status beside(const struct rowlock_asked *asked, struct rowlock_held other)
{
    return rowlock__judge_leases(ROWS_OF(1, &other), asked).status;
}

TEST(p1_the_modes_of_leases_exclude_each_other)
{
    t_int(rowlock__judge_leases(&none, &exclusive).status, ROWLOCK_STATUS_OK);
    t_int(beside(&exclusive, held('x', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&exclusive, held('s', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&exclusive, held('p', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&shared, held('x', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&shared, held('s', 1, true)), ROWLOCK_STATUS_OK);
    t_int(beside(&shared, held('p', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&permit, held('x', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&permit, held('s', 1, true)), ROWLOCK_STATUS_LEASED);
    t_int(beside(&permit, held('p', 1, true)), ROWLOCK_STATUS_OK);
}

TEST(p1_permits_are_granted_up_to_their_limit)
{
    struct rowlock_held two[] = {held('p', 1, true), held('p', 2, true)};
    struct rowlock_held three[] = {held('p', 5, true), held('p', 4, true), held('p', 4, true)};
    struct rowlock_asked other = {'p', 5, 1, 0};

    t_int(rowlock__judge_leases(ROWS(two), &permit).status, ROWLOCK_STATUS_OK);
    t_int(rowlock__judge_leases(ROWS(two), &two_permits).status, ROWLOCK_STATUS_LEASED);
    t_int(rowlock__judge_leases(ROWS(three), &permit).status, ROWLOCK_STATUS_LEASED);
    t_int(rowlock__judge_leases(ROWS(three), &permit).number, 4); /* it ends first */
    t_int(rowlock__judge_leases(ROWS(two), &other).status, ROWLOCK_STATUS_LIMIT);
    t_int(rowlock__judge_leases(ROWS(two), &other).limit, 3);
}

TEST(p1_an_expired_lease_is_in_the_way_until_it_is_deleted)
{
    struct rowlock_held both[] = {held('x', 1, false), held('x', 2, true)};

    t_int(beside(&exclusive, held('x', 1, false)), ROWLOCK_STATUS_EXPIRED);
    t_int(beside(&shared, held('s', 1, false)), ROWLOCK_STATUS_OK);
    t_int(rowlock__judge_leases(ROWS(both), &exclusive).status, ROWLOCK_STATUS_LEASED);
    t_int(rowlock__judge_leases(ROWS(both), &exclusive).number, 2);
}

TEST(p7_waiters_are_served_in_the_order_of_their_tickets)
{
    struct rowlock_queued queue[] = {{.ticket = 10, .kind = 'x', .alive = true},
                                     {.ticket = 20, .kind = 'x', .alive = false},
                                     {.ticket = 30, .kind = 'x', .alive = true},
                                     {.ticket = 40, .kind = 'x', .alive = true}};
    struct rowlock_asked first = {'x', 0, 1, 10}, last = {'x', 0, 1, 40}, gone = {'x', 0, 1, 15};
    struct rowlock_judged judged = rowlock__judge_queue(ROWS(queue), &last);

    t_int(judged.status, ROWLOCK_STATUS_QUEUED);
    t_int(judged.number, 30);
    t_int(judged.before, 2); /* a dead ticket does not count */
    t_int(rowlock__judge_queue(ROWS(queue), &first).status, ROWLOCK_STATUS_OK);
    t_int(rowlock__judge_queue(ROWS(queue), &gone).status, ROWLOCK_STATUS_UNQUEUED);
    t_int(rowlock__judge_queue(ROWS(queue), &exclusive).status, ROWLOCK_STATUS_QUEUED);
    t_int(rowlock__judge_queue(ROWS_OF(1, &queue[1]), &exclusive).status, ROWLOCK_STATUS_OK);
}

TEST(permits_that_are_held_or_waited_for_with_another_limit_are_found)
{
    struct rowlock_held lease = held('p', 1, true);
    struct rowlock_queued waiter = {.ticket = 5, .kind = 'p', .limit = 4, .alive = true};
    struct rowlock_asked before = {'p', 3, 1, 2};
    bool is_held = false;

    t_int(rowlock__other_limit(ROWS_OF(1, &lease), &none, &permit, &is_held), 0);
    t_int(rowlock__other_limit(ROWS_OF(1, &lease), ROWS_OF(1, &waiter), &permit, &is_held), 4);
    t_true(!is_held);
    /* it is behind us */
    t_int(rowlock__other_limit(&none, ROWS_OF(1, &waiter), &before, &is_held), 0);
    lease.limit = 9;
    t_int(rowlock__other_limit(ROWS_OF(1, &lease), &none, &permit, &is_held), 9);
    t_true(is_held);
    t_int(rowlock__other_limit(ROWS_OF(1, &lease), ROWS_OF(1, &waiter), &exclusive, &is_held), 0);
}

static struct rowlock_run_end run_end(enum rowlock_run_outcome outcome,
                                      enum rowlock_run_outcome was, bool has_lease, bool stopped,
                                      bool is_current)
{
    struct rowlock_run_end end = {.outcome = outcome,
                                  .was = was,
                                  .has_lease = has_lease,
                                  .stopped = stopped,
                                  .is_current = is_current,
                                  .now_ms = 1000,
                                  .taken_until_ms = 500};

    rowlock__judge_run_end(&end);
    return end;
}

TEST(p5_only_a_run_that_kept_its_lease_is_done)
{
    struct rowlock_run_end done = run_end(ROWLOCK_RUN_DONE, ROWLOCK_RUN_RUNNING, true, false, true);
    struct rowlock_run_end late =
        run_end(ROWLOCK_RUN_DONE, ROWLOCK_RUN_RUNNING, false, false, true);
    struct rowlock_run_end broken =
        run_end(ROWLOCK_RUN_DONE, ROWLOCK_RUN_RUNNING, true, true, true);

    t_int(done.becomes, ROWLOCK_RUN_DONE);
    t_int(done.status, ROWLOCK_STATUS_OK);
    t_true(done.ends_job && !done.stays && done.failed_ms == 0 && !done.keeps_lease);
    t_int(late.becomes, ROWLOCK_RUN_LATE);
    t_int(late.status, ROWLOCK_STATUS_LOST);
    t_true(!late.ends_job);
    t_int(broken.becomes, ROWLOCK_RUN_BROKEN);
    t_int(broken.status, ROWLOCK_STATUS_STOPPED);
    t_int(run_end(ROWLOCK_RUN_FAILED, ROWLOCK_RUN_RUNNING, true, false, true).failed_ms, 1000);
    t_true(run_end(ROWLOCK_RUN_DONE, ROWLOCK_RUN_DONE, false, false, false).becomes ==
           ROWLOCK_RUN_RUNNING); /* reported again */
    t_int(run_end(ROWLOCK_RUN_DONE, ROWLOCK_RUN_DONE, false, false, false).status,
          ROWLOCK_STATUS_OK);
}

TEST(p5_a_run_that_was_lost_or_not_started_stays_until_it_is_claimed_again)
{
    struct rowlock_run_end lost = run_end(ROWLOCK_RUN_LOST, ROWLOCK_RUN_RUNNING, true, false, true);
    struct rowlock_run_end not_started =
        run_end(ROWLOCK_RUN_NOTSTARTED, ROWLOCK_RUN_RUNNING, true, false, true);

    t_true(lost.ends_job && lost.stays && !lost.touches && !lost.keeps_lease);
    t_int(lost.becomes, ROWLOCK_RUN_LOST);
    t_int(lost.status, ROWLOCK_STATUS_OK);
    t_true(not_started.stays && not_started.touches && not_started.failed_ms == 1000);
    t_int(not_started.becomes, ROWLOCK_RUN_NOTSTARTED);
}

TEST(data_is_stale_by_age_by_expiry_and_by_a_clock_that_was_set_back)
{
    t_true(!rowlock__judge_stale(true, 100, -1, 150, 200, -1));
    t_true(!rowlock__judge_stale(true, 100, -1, 150, 200, 51));
    t_true(rowlock__judge_stale(true, 100, -1, 150, 200, 50));
    t_true(rowlock__judge_stale(true, 100, 100, 150, 200, -1)); /* expired after it began */
    t_true(!rowlock__judge_stale(true, 101, 100, 150, 200, -1));
    t_true(rowlock__judge_stale(true, 100, -1, 500, 200, 250)); /* updated in the future */
    t_true(rowlock__judge_stale(false, 100, -1, 150, 200, -1));
    t_true(rowlock__judge_stale(true, 100, -1, -1, 200, -1));
}

TEST(a_pattern_of_like_matches_whole_names)
{
    static const struct {
        const char *name, *pattern;
        bool is;
    } cases[] = {{"", "", true},
                 {"", "%", true},
                 {"", "_", false},
                 {"a", "", false},
                 {"abc", "abc", true},
                 {"abc", "ab", false},
                 {"abc", "a%", true},
                 {"abc", "%c%", true},
                 {"abc", "%b", false},
                 {"abab", "%ab", true},
                 {"aXbXc", "a%X_", true},
                 {"a%c", "a!%c", true},
                 {"abc", "a!%c", false},
                 {"a_", "a!_", true},
                 {"a!", "a!!", true},
                 {"\xc3\xa9", "_", true},
                 {"\xc3\xa9", "__", false},
                 {"x\xc3\xa9"
                  "b",
                  "%_b", true},
                 {"x\xc3\xa9"
                  "b",
                  "%___b", false}};

    for (size_t i = 0; i < COUNT(cases); i++)
        t_int(rowlock__is_like(cases[i].name, cases[i].pattern), cases[i].is);
}

TEST(a_pattern_with_many_wildcards_takes_no_exponential_time)
{
    char name[256];
    const char *pattern = "%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b";

    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    t_true(!rowlock__is_like(name, pattern)); /* would not end otherwise */
    name[sizeof name - 2] = 'b';
    t_true(rowlock__is_like(name, pattern));
}
