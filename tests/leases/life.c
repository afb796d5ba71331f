/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P5, P6: the life of a lease: renewed, released, adopted, expired, broken.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"
#include "lease/request.h"

static int is_between(long long value, long long least, long long most)
{
    if (value < least || value > most)
        print_message("# %lld is not from %lld to %lld\n", value, least, most);
    return value >= least && value <= most;
}

/* ---- declined -------------------------------------------------------------------------------- */

static int decline(void *data, struct rowlock_connection *connection, int64_t token,
                   struct rowlock_error *error)
{
    (void)connection;
    (void)error;
    *(int64_t *)data = token;
    return ROWLOCK_DECLINED;
}

static int count_entry(const struct rowlock_holder *holder, void *data)
{
    (void)holder;
    ++*(int *)data;
    return 0;
}

TEST(a_grant_that_its_hook_declines_leaves_nothing_and_is_no_error)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_want want = t_x("declined");
    struct rowlock_terms terms = {.ttl_ms = HOUR, .wait_ms = -1};
    struct rowlock_lease *lease = NULL;
    int64_t token = 0;
    int entries = 0;

    t_ok(rowlock__acquire_with(one, &want, 1, &terms, decline, &token, &lease, &t_error));
    t_true(token > 0);
    t_true(lease == NULL);
    t_ok(rowlock_list(one, "declined", count_entry, &entries, &t_error));
    t_int(entries, 0);
    t_give(t_granted(one, t_x("declined"), HOUR));
}

/* ---- released -------------------------------------------------------------------------------- */

TEST(a_release_ignores_the_interrupt_of_the_program)
{
    struct rowlock_options options = {.interrupt_fd = t_interrupt_fd()};
    struct rowlock_connection *one = t_open_with(&options);
    struct rowlock_lease *lease = t_granted(one, t_x("uninterrupted"), HOUR);

    t_interrupt();
    t_ok(rowlock_release(lease, &t_error));
    t_int(t_may_have(t_x("uninterrupted")), 1);
    rowlock_lease_free(lease);
}

/* ---- time left ------------------------------------------------------------------------------- */

TEST(p5_what_is_left_counts_from_before_the_grant_was_sent)
{
    struct rowlock_connection *one = t_open();
    long long before = t_now(), after;
    struct rowlock_lease *lease = t_granted(one, t_x("left"), HOUR);
    long long left = rowlock_remaining(lease);

    after = t_now();
    t_true(is_between(left, HOUR - (after - before) - 1, HOUR));
    t_true(rowlock_token(lease) > 0);
    t_int((long long)strlen(rowlock_owner(lease)), 32);
    t_give(lease);
}

static int note_left(const struct rowlock_holder *holder, void *data)
{
    *(long long *)data = holder->remaining_ms;
    return 0;
}

/* The grant waits for the name lock, so it was sent long before it was granted. */
TEST(p5_what_is_left_after_a_wait_is_no_more_than_the_database_gives)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct acquisition next = {.wants = {t_x("waited")}, .ttl_ms = HOUR, .wait_ms = -1};
    struct thread *thread;
    long long began, left, given = 0;

    t_ok(t_begin(one, t_x("waited"), 0));
    thread = t_acquire_thread(two, &next);
    t_until_waiting(thread);
    began = t_now();
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_list(one, "waited", note_left, &given, &t_error));
    left = rowlock_remaining(next.lease);
    t_true(left <= given + 1);
    t_true(is_between(left, HOUR - 20000 - (t_now() - began), HOUR));
    t_give(next.lease);
}

TEST(p5_an_expired_lease_has_nothing_left)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("over"), 1000);
    long long began = t_now(), last = 1001;

    while (rowlock_remaining(lease) > 0) {
        t_true(rowlock_remaining(lease) <= last);
        last = rowlock_remaining(lease);
        t_true(t_now() < began + 20000);
        t_pause(5);
    }
    t_int(rowlock_remaining(lease), 0);
    t_until_free(t_x("over"), T_TIMEOUT_MS);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_give_lost(lease);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

/* ---- renewal --------------------------------------------------------------------------------- */

TEST(p5_a_renewal_prolongs_and_never_shortens)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("renewed"), 60000);
    void *hand = t_native();

    t_ok(rowlock_renew(lease, 2 * HOUR, &t_error));
    t_true(is_between(rowlock_remaining(lease), 2 * HOUR - 20000, 2 * HOUR));
    t_ok(rowlock_renew(lease, 5000, &t_error));
    t_int(atol(t_native_sql(hand, "SELECT count(*) FROM %s WHERE expires > %s",
                            lease_heartbeat_table(), lease_instant(HOUR))),
          1);
    t_give(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p5_a_renewal_by_default_is_by_the_ttl_of_the_grant)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("default ttl"), HOUR);

    t_ok(rowlock_renew(lease, 0, &t_error));
    t_true(is_between(rowlock_remaining(lease), HOUR - 20000, HOUR));
    t_give(lease);
}

/* No other client came meanwhile. A lease is valid while its row exists. */
TEST(p5_an_expired_lease_that_was_not_swept_can_be_renewed_or_is_lost)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("slept"), 60000);
    void *hand = t_native();

    t_expire(hand, rowlock_token(lease));
    if (rowlock_renew(lease, 0, &t_error) == 0) {
        t_int(t_may_have(t_x("slept")), 0);
        t_give(lease);
    } else {
        t_int(t_error.code, ROWLOCK_ELOST);
        t_int(rowlock_remaining(lease), 0);
        rowlock_lease_free(lease);
        t_int(t_may_have(t_x("slept")), 1);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p5_gone_is_lost_for_good)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("gone"), 60000), *other;
    void *hand = t_native();

    t_expire(hand, rowlock_token(lease));
    other = t_granted(two, t_x("gone"), 0);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_contains(t_error.text, "gone");
    t_int(rowlock_remaining(lease), 0);
    t_give(other);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST); /* and does not create it again */
    t_int(t_may_have(t_x("gone")), 1);
    t_give_lost(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p5_a_renewal_survives_a_lost_connection)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease;

    if (!t_facts()->server)
        return;
    lease = t_granted(one, t_x("reconnected"), HOUR);
    t_engine()->kill(t_admin(), t_engine()->session(t_handle(one)));
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_engine()->kill(t_admin(), t_engine()->session(t_handle(one)));
    t_give(lease);
    t_int(t_may_have(t_x("reconnected")), 1);
}

/* The library cannot reopen it. */
TEST(p5_a_renewal_on_a_wrapped_connection_that_is_lost)
{
    void *handle;
    struct rowlock_connection *one = t_wrap(&handle, NULL);
    struct rowlock_lease *lease;

    if (!t_facts()->server)
        return;
    lease = t_granted(one, t_x("wrapped"), HOUR);
    t_engine()->kill(t_admin(), t_engine()->session(handle));
    t_fails(rowlock_renew(lease, 0, &t_error), ECONN);
    t_true(rowlock_remaining(lease) > 0);
    rowlock_lease_free(lease);
    t_ok(rowlock_break(t_open(), "wrapped", 0, 1, NULL, &t_error));
}

/* ---- renewal of several leases --------------------------------------------------------------- */

static void grant_three(struct rowlock_connection *one, struct rowlock_lease **leases)
{
    leases[0] = t_granted(one, t_x("all 1"), 60000);
    leases[1] = t_granted(one, t_x("all 2"), 60000);
    leases[2] = t_granted(one, t_s("all 3"), 60000);
}

static void is_renewed(const struct rowlock_lease *lease)
{
    t_true(is_between(rowlock_remaining(lease), HOUR - 20000, HOUR));
}

TEST(p5_of_several_leases_each_is_renewed_or_reported)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *leases[3], *other;
    int codes[3];
    void *hand = t_native();

    grant_three(one, leases);
    t_ok(rowlock_renew_all(leases, 3, HOUR, NULL, &t_error));
    for (int i = 0; i < 3; i++)
        is_renewed(leases[i]);
    t_int(atol(t_native_sql(hand, "SELECT count(*) FROM %s WHERE expires > %s",
                            lease_heartbeat_table(), lease_instant(HOUR / 2))),
          3);
    t_expire(hand, rowlock_token(leases[0]));
    other = t_granted(two, t_x("all 1"), 0);
    t_ok(rowlock_break(two, "all 2", 0, 0, NULL, &t_error));
    t_fails(rowlock_renew_all(leases, 3, 2 * HOUR, codes, &t_error), ELOST);
    t_contains(t_error.text, "all 1");
    t_int(codes[0], ROWLOCK_ELOST);
    t_int(codes[1], ROWLOCK_ELOST);
    t_int(codes[2], ROWLOCK_OK);
    t_int(rowlock_remaining(leases[0]), 0);
    t_int(rowlock_remaining(leases[1]), 0);
    t_true(rowlock_remaining(leases[2]) > HOUR);
    t_give(other);
    for (int i = 0; i < 3; i++) {
        rowlock_release(leases[i], NULL);
        rowlock_lease_free(leases[i]);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

static void is_renewed_beside(void)
{
    struct rowlock_connection *one = t_open_with(&(struct rowlock_options){.statement_ms = 3000});
    struct rowlock_lease *leases[3];
    int codes[3];
    void *hand = t_native();
    const char *heartbeats;

    grant_three(one, leases);
    heartbeats = lease_heartbeat_table_of(rowlock_token(leases[1]));
    t_own_begin(hand, t_engine()->begin);
    t_native_sql(hand, "UPDATE %s SET stop = stop WHERE token = %lld", heartbeats,
                 (long long)rowlock_token(leases[1]));
    t_fails(rowlock_renew_all(leases, 3, HOUR, codes, &t_error), ETIMEDOUT);
    t_int(codes[1], ROWLOCK_ETIMEDOUT);
    t_int(codes[0] + codes[2], ROWLOCK_OK);
    is_renewed(leases[0]);
    is_renewed(leases[2]);
    t_native_sql(hand, "COMMIT");
    t_ok(rowlock_renew_all(leases, 3, HOUR, codes, &t_error));
    is_renewed(leases[1]);
    for (int i = 0; i < 3; i++)
        t_give(leases[i]);
}

TEST(p5_a_lease_that_a_transaction_has_locked_does_not_delay_the_others)
{
    if (t_facts()->server) /* SQLite has one writer */
        is_renewed_beside();
}

TEST(p5_a_renewal_of_several_leases_survives_a_lost_connection)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *leases[3], *other;

    grant_three(one, leases);
    other = t_granted(two, t_x("other"), 0);
    if (t_facts()->server)
        t_engine()->kill(t_admin(), t_engine()->session(t_handle(one)));
    t_ok(rowlock_renew_all(leases, 3, 0, NULL, &t_error));
    t_ok(rowlock_renew_all(NULL, 0, 0, NULL, &t_error));
    t_fails(rowlock_renew_all((struct rowlock_lease *[]){leases[0], other}, 2, 0, NULL, &t_error),
            EINVAL);
    t_fails(rowlock_renew_all(leases, 3, 999, NULL, &t_error), EINVAL);
    t_give(other);
    for (int i = 0; i < 3; i++)
        t_give(leases[i]);
}

/* ---- release --------------------------------------------------------------------------------- */

TEST(p6_a_release_is_idempotent_and_leaves_nothing)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("released"), 0), *other;
    void *hand = t_native();

    t_ok(rowlock_release(lease, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
    t_int(rowlock_remaining(lease), 0);
    t_ok(rowlock_release(lease, &t_error));
    /* the repeated release does not end another client's lease */
    other = t_granted(one, t_x("released"), 0);
    t_ok(rowlock_release(lease, &t_error));
    t_int(t_may_have(t_x("released")), 0);
    t_give(other);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    rowlock_lease_free(lease);
}

TEST(p6_a_release_of_a_lost_lease_says_so)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("lost"), 0), *other;

    t_expire(t_native(), rowlock_token(lease));
    other = t_granted(two, t_x("lost"), 0);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    t_contains(t_error.text, "lost");
    rowlock_lease_free(lease);
    t_int(t_may_have(t_x("lost")), 0);
    t_give(other);
}

/* ---- a token that another lease has ---------------------------------------------------------- */

/* Gives the token to another lease, which differs from ours in this column. */
static void replace(void *hand, const struct rowlock_lease *lease, const char *column)
{
    t_native_sql(hand, "UPDATE %s SET %s = 'another' WHERE token = %lld",
                 lease_table_of(rowlock_token(lease)), column, (long long)rowlock_token(lease));
}

static void is_untouched(void *hand, long token)
{
    t_int(lease_rows(hand, token), 1);
    t_int(lease_beats(hand, token), 1);
    t_int(atol(t_native_sql(hand, "SELECT count(*) FROM %s WHERE expires > %s",
                            lease_heartbeat_table(), lease_instant(HOUR))),
          0);
}

static void is_lost_to_another(struct rowlock_lease *lease, void *hand)
{
    long token = (long)rowlock_token(lease);

    t_fails(rowlock_renew(lease, 2 * HOUR, &t_error), ELOST);
    t_int(rowlock_remaining(lease), 0);
    is_untouched(hand, token);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    is_untouched(hand, token);
    rowlock_lease_free(lease);
    lease_end(hand, token);
}

static void renewed_and_released_by_token_alone(const char *column)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x(column), HOUR), *same = NULL;
    void *hand = t_native();
    long token = (long)rowlock_token(lease);

    replace(hand, lease, column);
    is_lost_to_another(lease, hand);
    lease = t_granted(one, t_x(column), HOUR); /* the same, released without an earlier renewal */
    token = (long)rowlock_token(lease);
    replace(hand, lease, column);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    is_untouched(hand, token);
    rowlock_lease_free(lease);
    lease_end(hand, token);
    lease = t_granted(one, t_x(column), HOUR);
    t_ok(rowlock_adopt(two, column, rowlock_token(lease), &same, &t_error));
    replace(hand, lease, column);
    is_lost_to_another(same, hand);
    t_give_lost(lease);
}

TEST(p5_a_token_that_is_another_owners_is_neither_renewed_nor_released)
{
    renewed_and_released_by_token_alone("owner");
}

TEST(p5_a_token_that_is_another_names_is_neither_renewed_nor_released)
{
    renewed_and_released_by_token_alone("name");
}

TEST(p5_a_broken_lease_of_another_owner_is_lost)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("mine"), HOUR);
    void *hand = t_native();

    t_ok(rowlock_break(one, "mine", 0, 0, NULL, &t_error));
    replace(hand, lease, "owner");
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_contains(t_error.text, "has ended");
    is_lost_to_another(lease, hand);
}

/* The row may have been written by hand or by another program, so the owner may be any text. */
TEST(p5_an_owner_of_any_length_is_adopted)
{
    static const char *const owners[] = {"",
                                         "an owner id that is longer than those of the library"};
    struct rowlock_connection *one = t_open();
    void *hand = t_native();

    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        struct rowlock_lease *lease = t_granted(one, t_x("by hand"), HOUR), *same = NULL;

        t_native_sql(hand, "UPDATE %s SET owner = '%s'", lease_table_of(rowlock_token(lease)),
                     owners[i]);
        t_ok(rowlock_adopt(one, "by hand", rowlock_token(lease), &same, &t_error));
        t_ok(rowlock_renew(same, 0, &t_error));
        t_give(same);
        rowlock_lease_free(lease);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- adoption -------------------------------------------------------------------------------- */

TEST(p5_a_lease_can_be_adopted_by_its_token)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("adopted"), HOUR), *same = NULL;

    t_ok(rowlock_adopt(two, "adopted", rowlock_token(lease), &same, &t_error));
    t_true(rowlock_token(same) == rowlock_token(lease));
    t_text(rowlock_owner(same), rowlock_owner(lease));
    t_true(is_between(rowlock_remaining(same), HOUR - 20000, HOUR));
    t_ok(rowlock_renew(same, 2 * HOUR, &t_error));
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_give(same);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    rowlock_lease_free(lease);
}

TEST(p5_what_is_no_lease_cannot_be_adopted)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("real"), 0), *none = NULL;
    int64_t token = rowlock_token(lease);

    t_fails(rowlock_adopt(one, "real", token + 1, &none, &t_error), ELOST);
    t_fails(rowlock_adopt(one, "unreal", token, &none, &t_error), ELOST);
    t_expire(t_native(), token);
    t_fails(rowlock_adopt(one, "real", token, &none, &t_error), ELOST);
    rowlock_lease_free(lease);
    lease = t_granted(one, t_x("real"), 0);
    t_ok(rowlock_break(one, "real", rowlock_token(lease), 0, NULL, &t_error));
    t_fails(rowlock_adopt(one, "real", rowlock_token(lease), &none, &t_error), ELOST);
    t_true(none == NULL);
    t_give(lease);
}

/* ---- breaking -------------------------------------------------------------------------------- */

TEST(p5_a_broken_lease_is_not_renewed_but_kept_until_it_ends)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("broken"), HOUR);
    int64_t broken = -1;

    t_ok(rowlock_break(two, "broken", 0, 0, &broken, &t_error));
    t_int(broken, 1);
    t_int(t_may_have(t_x("broken")), 0);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_int(t_may_have(t_x("broken")), 0);
    /* the lease is lost, but a release of the holder's still succeeds */
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
    t_int(t_may_have(t_x("broken")), 1);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

TEST(p5_a_lease_broken_now_is_gone)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("broken now"), HOUR);
    int64_t broken = -1;

    t_ok(rowlock_break(two, "broken now", rowlock_token(lease), 1, &broken, &t_error));
    t_int(broken, 1);
    t_int(t_may_have(t_x("broken now")), 1);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_give_lost(lease);
    t_ok(rowlock_break(two, "broken now", 0, 1, &broken, &t_error));
    t_int(broken, 0);
}

TEST(p5_one_of_several_leases_is_broken)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *a = t_granted(one, t_s("some"), HOUR),
                         *b = t_granted(two, t_s("some"), HOUR);
    int64_t broken = -1;

    t_ok(rowlock_break(one, "some", rowlock_token(a), 1, &broken, &t_error));
    t_int(broken, 1);
    t_fails(rowlock_renew(a, 0, &t_error), ELOST);
    t_ok(rowlock_renew(b, 0, &t_error));
    t_ok(rowlock_break(one, "some", 0, 0, &broken, &t_error));
    t_int(broken, 1);
    t_fails(rowlock_renew(b, 0, &t_error), ELOST);
    rowlock_lease_free(a);
    t_give(b);
}

/* A lease that loses one of its names is lost. */
static void one_of_three(int how)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[] = {t_x("three a"), t_x("three b"), t_p("three c", 4, 2)};
    struct rowlock_lease *lease = NULL;
    void *hand = t_native();

    t_ok(t_acquire_all(one, wants, 3, HOUR, 0, &lease));
    t_ok(rowlock_renew(lease, 0, &t_error));
    if (how == 0) {
        t_ok(rowlock_break(two, "three b", 0, 1, NULL, &t_error));
    } else {
        t_expire(hand, rowlock_token(lease));
        t_give(t_granted(two, t_x("three b"), 0));
    }
    t_text(t_all_rows(hand), NO_ROWS);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_ok(rowlock_begin(two, &wants[0], 1, 0, &t_error));
    t_fails(rowlock_fence(two, "three a", rowlock_token(lease), &t_error), ELOST);
    t_ok(rowlock_rollback(two, &t_error));
    t_give_lost(lease);
}

TEST(p5_a_token_of_several_names_of_which_one_is_broken_ends_for_all)
{
    one_of_three(0);
}

TEST(p5_a_token_of_several_names_of_which_one_is_taken_over_ends_for_all)
{
    one_of_three(1);
}

/* ---- releasing a list ------------------------------------------------------------------------ */

struct listed {
    int n;
    struct rowlock_holder holder[4];
    char texts[4][400];
};

static int list_one(const struct rowlock_holder *holder, void *data)
{
    struct listed *listed = data;
    int i = listed->n++;

    if (i >= 4)
        return 1;
    listed->holder[i] = *holder;
    snprintf(listed->texts[i], sizeof listed->texts[i], "%s|%s|%s", holder->name, holder->note,
             holder->command);
    return 0;
}

TEST(a_list_has_holders_then_waiters_in_their_order_and_marks_who_must_stop)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open();
    struct rowlock_lease *lease = t_granted(one, t_p("listed", 3, 2), HOUR),
                         *other = t_granted(one, t_p("listed", 3, 1), HOUR);
    struct acquisition second = {.wants = {t_x("listed")}, .wait_ms = -1},
                       third = {.wants = {t_s("listed")}, .wait_ms = -1};
    struct rowlock_holder *holder;
    struct thread *threads[2];
    struct listed listed = {0};
    void *hand = t_native();

    threads[0] = t_queue_thread(two, &second, hand, 1);
    threads[1] = t_queue_thread(three, &third, hand, 2);
    t_ok(rowlock_break(one, "listed", rowlock_token(lease), 0, NULL, &t_error));
    t_ok(rowlock_list(t_open(), "listed", list_one, &listed, &t_error));
    t_int(listed.n, 4);
    for (int i = 0; i < 4; i++) {
        t_int(listed.holder[i].holding, i < 2 ? ROWLOCK_HOLDS : ROWLOCK_WAITS);
        t_int(listed.holder[i].stop, listed.holder[i].token == rowlock_token(lease));
    }
    holder = &listed.holder[listed.holder[0].token == rowlock_token(other)];
    t_true(holder->token == rowlock_token(lease));
    t_text(listed.texts[0], "listed|a note|a test");
    t_int(holder->mode, ROWLOCK_PERMIT);
    t_int(holder->limit, 3);
    t_int(holder->count, 2);
    t_true(is_between(holder->remaining_ms, HOUR - 20000, HOUR));
    t_int(listed.holder[2].mode, ROWLOCK_EXCLUSIVE);
    t_int(listed.holder[3].mode, ROWLOCK_SHARED);
    t_true(listed.holder[2].ticket > 0 && listed.holder[2].ticket < listed.holder[3].ticket);
    t_give(lease);
    t_give(other);
    t_join_and_give(threads[0], &second);
    t_join_and_give(threads[1], &third);
    listed = (struct listed){0};
    t_ok(rowlock_list(one, NULL, list_one, &listed, &t_error));
    t_int(listed.n, 0);
}

TEST(a_list_leaves_out_what_has_expired)
{
    struct rowlock_connection *one = t_open();
    struct listed listed = {0};
    void *hand = t_native();

    lease_put(hand, 41, "listed old", "exclusive", -1000);
    lease_put(hand, 42, "listed new", "exclusive", 600000);
    t_ok(rowlock_list(one, NULL, list_one, &listed, &t_error));
    t_int(listed.n, 1);
    t_text(listed.texts[0], "listed new|maintenance|work");
    t_forget_leases(hand);
}

/* ---- an end beside a late grant -------------------------------------------------------------- */

static int release(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    (void)connection;
    return rowlock_release(data, error);
}

static int break_it(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    return rowlock_break(connection, "late", rowlock_token(data), 1, NULL, error);
}

/* A call whose reply was lost was repeated. Now the first one adopts the lease of the second: it
   renews it, and is not committed yet when the lease is ended. */
static void ends_beside_a_late_grant(int (*work)(struct rowlock_connection *, void *,
                                                 struct rowlock_error *))
{
    struct rowlock_connection *connection = t_open();
    struct rowlock_lease *lease = t_granted(connection, t_x("late"), HOUR);
    void *hand = t_native(), *late = t_native();
    const char *beats = lease_heartbeat_table_of(rowlock_token(lease));
    struct thread *thread;

    t_own_begin(late, t_engine()->begin);
    t_native_sql(late, "UPDATE %s SET expires = %s WHERE token = %lld", beats, lease_instant(HOUR),
                 (long long)rowlock_token(lease));
    thread = t_thread(connection, work, lease);
    t_until_waiting(thread);
    t_native_sql(late, "COMMIT");
    t_ok(t_join(thread));
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
}

TEST(p6_nothing_remains_of_a_lease_that_ends_beside_a_late_grant_of_its_owner)
{
    if (!t_facts()->server)
        return;
    ends_beside_a_late_grant(release);
    ends_beside_a_late_grant(break_it);
}
