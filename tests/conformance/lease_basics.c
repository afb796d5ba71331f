/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls in the life of a lease: acquire, list, renew, adopt, keep, fence, break, release; and
 * the arguments that each call refuses. tests/leases tests their promises under stress.
 * Quick: sqlite postgresql mariadb postgresql/odbc h2/jdbc
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"

#define MINUTE 60000

struct seen {
    int rows, stop_after;
    char text[2000];
    int64_t token[8];
    rowlock_duration left_ms[8];
    struct rowlock_connection *connection; /* used during the visit; or NULL */
};

static int see(const struct rowlock_holder *holder, void *data)
{
    static const char *const holdings[] = {"holds", "waits", "in a transaction"};
    static const char modes[] = "xsp";
    struct seen *seen = data;
    size_t at = strlen(seen->text);

    snprintf(seen->text + at, sizeof seen->text - at, "%s %s %c %d/%d '%s' '%s'\n",
             holdings[holder->holding], holder->name, modes[holder->mode], holder->count,
             holder->limit, holder->command, holder->note);
    if (seen->rows < 8) {
        seen->token[seen->rows] = holder->token;
        seen->left_ms[seen->rows] = holder->remaining_ms;
    }
    if (seen->connection && rowlock_ping(seen->connection, NULL))
        return 1;
    return ++seen->rows == seen->stop_after;
}

static const char *listed(struct rowlock_connection *connection, const char *name,
                          struct seen *seen)
{
    *seen = (struct seen){.connection = connection};
    t_ok(rowlock_list(connection, name, see, seen, &t_error));
    return seen->text;
}

TEST(a_lease_is_listed_as_it_was_acquired)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_terms terms = {.ttl_ms = MINUTE, .note = "monthly", .command = "backup"};
    struct rowlock_want wants[] = {t_x("basics b"), t_p("basics a", 5, 2)};
    struct rowlock_lease *lease = NULL;
    struct seen seen;

    t_ok(rowlock_acquire(one, wants, 2, &terms, &lease, &t_error));
    t_text(listed(two, "basics a", &seen), "holds basics a p 2/5 'backup' 'monthly'\n");
    t_true(seen.token[0] == rowlock_token(lease));
    t_true(seen.left_ms[0] > 0 && seen.left_ms[0] <= MINUTE);
    t_text(listed(two, "basics b", &seen), "holds basics b x 0/0 'backup' 'monthly'\n");
    t_text(listed(two, "basics", &seen), "");
    listed(two, NULL, &seen);
    t_int(seen.rows, 2);
    t_give(lease);
    t_text(listed(two, NULL, &seen), "");
}

TEST(a_refusal_says_how_many_permits_are_in_use)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *a = t_granted(one, t_p("pool", 3, 1), MINUTE), *b, *none = NULL;

    t_fails(t_acquire(two, t_x("pool"), 0, 0, &none), EBUSY);
    t_contains(t_error.text, "1 of 3 permits of 'pool' is in use, held by a lease, pid ");
    b = t_granted(one, t_p("pool", 3, 2), MINUTE);
    t_fails(t_acquire(two, t_p("pool", 3, 1), 0, 0, &none), EBUSY);
    t_contains(t_error.text, "3 of 3 permits of 'pool' are in use; one is held by a lease, pid ");
    t_fails(t_acquire(two, t_p("pool", 3, 1), 0, 1000, &none), ETIMEDOUT);
    t_contains(t_error.text, "3 of 3 permits of 'pool' are in use; one is held by a lease, pid ");
    t_contains(t_error.text, "; not acquired in time: wait longer, or ask its holder");
    t_give(a);
    t_give(b);
    a = t_granted(one, t_s("pool"), MINUTE);
    t_fails(t_acquire(two, t_p("pool", 3, 1), 0, 0, &none), EBUSY);
    t_contains(t_error.text, "'pool' is held by a lease, pid ");
    t_lacks(t_error.text, "permits");
    t_give(a);
}

TEST(a_list_ends_when_the_callback_ends_it)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *a = t_granted(one, t_s("ended"), MINUTE),
                         *b = t_granted(one, t_s("ended"), MINUTE);
    struct seen seen = {.stop_after = 1};

    t_ok(rowlock_list(one, "ended", see, &seen, &t_error));
    t_int(seen.rows, 1);
    t_give(a);
    t_give(b);
}

static int note_pid(const struct rowlock_holder *holder, void *data)
{
    *(int64_t *)data = holder->pid;
    return 0;
}

TEST(a_lease_without_a_process_has_no_pid)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_terms terms = {.note = "monthly", .command = "backup", .no_process = 1};
    struct rowlock_want want = t_x("unkept");
    struct rowlock_lease *lease = NULL, *other = NULL;
    int64_t pid = -1;

    t_ok(rowlock_acquire(one, &want, 1, &terms, &lease, &t_error));
    t_ok(rowlock_list(two, "unkept", note_pid, &pid, &t_error));
    t_int(pid, 0);
    t_fails(rowlock_acquire(two, &want, 1, &terms, &other, &t_error), EBUSY);
    t_contains(t_error.text, "'unkept' is held by a lease on ");
    t_contains(t_error.text, "(backup)");
    t_contains(t_error.text, "monthly");
    t_true(other == NULL);
    t_give(lease);
    lease = t_granted(one, want, MINUTE);
    t_ok(rowlock_list(two, "unkept", note_pid, &pid, &t_error));
    t_int(pid, getpid());
    t_give(lease);
}

TEST(an_adopted_lease_can_be_kept)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("adopted"), MINUTE / 4), *same = NULL;
    void *hand = t_native();

    t_ok(rowlock_adopt(two, "adopted", rowlock_token(lease), &same, &t_error));
    t_true(rowlock_remaining(same) <= MINUTE / 4);
    rowlock_lease_free(lease);
    t_close(one);
    t_ok(rowlock_auto_renew(same, NULL, NULL, &t_error));
    /* the first renewal comes at once: less time is left than a keeper needs */
    t_until(rowlock_remaining(same) > MINUTE / 4);
    t_give(same);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(a_kept_lease_that_is_released_wakes_its_waiter)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("kept"), 3 * MINUTE);
    struct acquisition next = {.wants = {t_x("kept")}, .n = 1, .ttl_ms = MINUTE, .wait_ms = -1};
    struct thread *thread;

    t_ok(rowlock_auto_renew(lease, NULL, NULL, &t_error));
    thread = t_queue_thread(two, &next, t_native(), 1);
    t_give(lease);
    t_ok(t_join(thread));
    t_give(next.lease);
}

/* On SQLite a transaction that writes keeps all others out: leases/sqlite_fence. */
TEST(p4_a_fence_keeps_an_expired_lease_until_commit)
{
    struct rowlock_connection *holder = t_open(), *writer, *next;
    struct rowlock_lease *lease, *other = NULL;
    int code;

    if (!t_facts()->server)
        return;
    writer = t_open(), next = t_open();
    lease = t_granted(holder, t_x("fenced"), MINUTE);
    t_ok(t_begin(writer, t_x("written"), -1));
    t_ok(rowlock_fence(writer, "fenced", rowlock_token(lease), &t_error));
    t_expire(t_native(), rowlock_token(lease));
    code = t_acquire(next, t_x("fenced"), MINUTE, 0, &other);
    t_true(code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_acquire(next, t_x("fenced"), MINUTE, -1, &other));
    t_true(rowlock_token(other) > rowlock_token(lease));
    t_give(other);
    rowlock_lease_free(lease);
}

TEST(a_lease_outlives_its_object)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("object"), MINUTE);
    int64_t token = rowlock_token(lease), broken = -1;

    rowlock_lease_free(lease);
    t_int(t_may_have(t_x("object")), 0);
    t_ok(rowlock_begin(two, &(struct rowlock_want){.name = "elsewhere"}, 1, 0, &t_error));
    t_ok(rowlock_fence(two, "object", token, &t_error));
    t_ok(rowlock_commit(two, &t_error));
    t_ok(rowlock_break(two, "object", token, 1, &broken, &t_error));
    t_int(broken, 1);
    t_int(t_may_have(t_x("object")), 1);
}

TEST(what_cannot_be_right_is_refused)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("right"), MINUTE), *none = NULL;
    struct seen seen = {0};

    t_fails(t_acquire(one, t_x("short"), 999, 0, &none), EINVAL);
    t_fails(t_acquire_all(one, NULL, 0, 0, 0, &none), EINVAL);
    t_fails(rowlock_renew(lease, 999, &t_error), EINVAL);
    t_fails(rowlock_renew(lease, -1, &t_error), EINVAL);
    t_fails(rowlock_adopt(one, "right", 0, &none, &t_error), EINVAL);
    t_fails(rowlock_adopt(one, "", 1, &none, &t_error), EINVAL);
    t_fails(rowlock_adopt(one, NULL, 1, &none, &t_error), EINVAL);
    t_fails(rowlock_break(one, "right", -1, 0, NULL, &t_error), EINVAL);
    t_fails(rowlock_break(one, "\xff", 0, 0, NULL, &t_error), EINVAL);
    t_fails(rowlock_list(one, "", see, &seen, &t_error), EINVAL);
    t_fails(rowlock_list(one, "right", NULL, NULL, &t_error), EINVAL);
    t_true(none == NULL);
    t_int(seen.rows, 0);
    t_give(lease);
}

TEST(in_a_transaction_only_the_fence_is_at_home)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("outside"), MINUTE), *none = NULL;
    int64_t token = rowlock_token(lease);
    struct seen seen = {0};

    t_fails(rowlock_fence(one, "outside", token, &t_error), ENOTX);
    t_left(NONE);
    t_ok(t_begin(one, t_x("inside"), 0));
    t_ok(rowlock_fence(one, "outside", token, &t_error));
    t_fails(rowlock_fence(one, "outside", 0, &t_error), EINVAL);
    t_left(KEPT);
    t_fails(rowlock_renew(lease, 0, &t_error), EINTX);
    t_fails(rowlock_release(lease, &t_error), EINTX);
    t_fails(rowlock_adopt(one, "outside", token, &none, &t_error), EINTX);
    t_fails(rowlock_break(one, "outside", 0, 1, NULL, &t_error), EINTX);
    t_fails(rowlock_list(one, "outside", see, &seen, &t_error), EINTX);
    t_fails(t_acquire(one, t_x("another"), 0, 0, &none), EINTX);
    t_left(KEPT);
    t_ok(rowlock_commit(one, &t_error));
    t_give(lease);
}

TEST(no_lease_is_no_trouble)
{
    t_fails(rowlock_auto_renew(NULL, NULL, NULL, &t_error), EINVAL);
    t_fails(rowlock_renew(NULL, 0, &t_error), EINVAL);
    t_fails(rowlock_release(NULL, &t_error), EINVAL);
    t_contains(t_error.text, "was it acquired");
    t_int(rowlock_token(NULL), 0);
    t_int(rowlock_remaining(NULL), 0);
    t_text(rowlock_owner(NULL), "");
    rowlock_lease_free(NULL);
    t_int(t_may_have(t_x("nothing")), 1);
}
