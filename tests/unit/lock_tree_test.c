/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of holders and waiters across names, as its lines: a branch, then NAME, #PLACE, +MORE, a
 * name that is shown above (^) or a cycle (@).
 * Runs on: alone
 */
#include "show/tree/lock_tree.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "util/random.h"

static struct lock_tree tree;

static void begin(void)
{
    tree_free(&tree);
    tree = (struct lock_tree){.order = ROWLOCK_BY_NAME};
}

static void add(enum rowlock_holding holding, const char *name, int64_t pid, int64_t at,
                const char *owner)
{
    struct rowlock_holder holder = {.holding = holding,
                                    .name = name,
                                    .owner = owner,
                                    .host = "web1",
                                    .command = "",
                                    .note = "",
                                    .pid = pid,
                                    .since_ms = 1000 * at};

    if (holding == ROWLOCK_WAITS)
        holder.ticket = at;
    else
        holder.token = at;
    t_int(tree_add(&holder, &tree), 0);
}

static void held(const char *name, int64_t pid, int64_t token)
{
    add(ROWLOCK_HOLDS, name, pid, token, "");
}

static void waits(const char *name, int64_t pid, int64_t ticket)
{
    add(ROWLOCK_WAITS, name, pid, ticket, "");
}

static size_t put(char *out, size_t size, const struct tree_line *line)
{
    switch (line->kind) {
    case TREE_WAITER:
        return (size_t)snprintf(out, size, "%s#%d\n", line->branch, (int)line->place);
    case TREE_MORE:
        return (size_t)snprintf(out, size, "%s+%d\n", line->branch, (int)line->place);
    default:
        return (size_t)snprintf(out, size, "%s%s%s\n", line->branch, line->name,
                                line->kind == TREE_UNKNOWN ? "?"
                                : line->kind == TREE_ABOVE ? "^"
                                : line->kind == TREE_CYCLE ? "@"
                                                           : "");
    }
}

static void shows(const char *expected)
{
    char text[4096] = "";
    size_t at = 0;

    t_int(tree_grow(&tree), 0);
    for (size_t i = 0; i < tree.n_lines; i++)
        at += put(text + at, sizeof text - at, &tree.lines[i]);
    t_text(text, expected);
}

TEST(nothing_has_no_lines)
{
    begin();
    shows("");
    t_int(tree_now(&tree), 0);
}

TEST(holders_come_before_waiters_and_waiters_in_queue_order)
{
    begin();
    waits("b", 7, 30);
    waits("b", 8, 20);
    held("b", 9, 2);
    held("a", 1, 1);
    shows("a\n"
          "b\n"
          "├─ #1\n"
          "└─ #2\n");
    t_int(tree.lines[2].holder->pid, 8);
    t_int(tree.lines[1].queue, 2);
}

TEST(several_holders_share_the_queue)
{
    begin();
    held("a", 1, 1);
    held("a", 2, 2);
    waits("a", 3, 3);
    shows("a\na\n└─ #1\n");
}

TEST(a_queue_whose_holder_is_not_reported)
{
    begin();
    waits("a", 3, 3);
    shows("a?\n└─ #1\n");
}

TEST(a_waiter_has_the_queue_of_its_own_name_below_it)
{
    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    waits("a", 3, 3);
    held("b", 2, 4); /* by the first waiter for a */
    waits("b", 4, 5);
    held("c", 4, 6); /* by the waiter for b */
    waits("c", 5, 7);
    shows("a\n"
          "├─ #1\n"
          "│  └─ b\n"
          "│     └─ #1\n"
          "│        └─ c\n"
          "│           └─ #1\n"
          "└─ #2\n");
}

TEST(a_pattern_keeps_the_names_above_a_match_and_below_it)
{
    begin();
    tree.glob = "app*";
    tree.most_waiters = 1;
    held("db", 1, 1); /* the cause: it does not match */
    waits("db", 9, 2);
    waits("db", 2, 3);
    held("app1", 2, 4);  /* by the second waiter for db */
    held("other", 2, 5); /* by the same, beside the chain */
    waits("other", 8, 6);
    waits("app1", 3, 7);
    waits("app1", 7, 8);
    held("below", 3, 9);
    waits("below", 4, 10);
    held("lone", 5, 11);
    waits("lone", 6, 12);
    shows("db\n"
          "├─ #2\n"
          "│  └─ app1\n"
          "│     ├─ #1\n"
          "│     │  └─ below\n"
          "│     │     └─ #1\n"
          "│     └─ +1\n"
          "└─ +1\n");
}

TEST(a_pattern_shows_a_cycle_from_a_name_that_does_not_match)
{
    begin();
    tree.glob = "b";
    held("a", 1, 1);
    held("b", 2, 2);
    held("c", 3, 3);
    waits("a", 2, 4);
    waits("b", 1, 5);
    waits("c", 4, 6);
    shows("a\n└─ #1\n   └─ b\n      └─ #1\n         └─ a@\n");
}

TEST(two_names_of_one_waiter)
{
    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    held("b", 2, 3);
    waits("b", 3, 4);
    held("c", 2, 5);
    waits("c", 3, 6);
    held("d", 2, 7); /* without a waiter: a root */
    shows("a\n"
          "└─ #1\n"
          "   ├─ b\n"
          "   │  └─ #1\n"
          "   └─ c\n"
          "      └─ #1\n"
          "d\n");
}

TEST(a_name_below_two_waiters_is_shown_once)
{
    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    waits("a", 3, 3);
    held("b", 2, 4); /* shared */
    held("b", 3, 5);
    waits("b", 6, 6);
    shows("a\n"
          "├─ #1\n"
          "│  ├─ b\n"
          "│  └─ b\n"
          "│     └─ #1\n"
          "└─ #2\n"
          "   └─ b^\n");
}

TEST(a_cycle_is_shown_and_ends)
{
    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    held("b", 2, 3);
    waits("b", 1, 4);
    shows("a\n"
          "└─ #1\n"
          "   └─ b\n"
          "      └─ #1\n"
          "         └─ a@\n");
}

TEST(a_cycle_below_a_root)
{
    begin();
    held("x", 9, 9); /* a waiter of the cycle also waits for it */
    waits("x", 2, 8);
    held("a", 1, 1);
    waits("a", 2, 2);
    held("b", 2, 3);
    waits("b", 1, 4);
    shows("x\n"
          "└─ #1\n"
          "   └─ b\n"
          "      └─ #1\n"
          "         └─ a\n"
          "            └─ #1\n"
          "               └─ b@\n");
}

TEST(threads_of_a_process_that_compete_for_a_name_are_not_a_cycle)
{
    begin();
    held("a", 1, 1);
    waits("a", 1, 2);
    shows("a\n└─ #1\n");
}

TEST(a_pid_of_another_host_or_no_pid_is_not_the_same_caller)
{
    struct rowlock_holder far = {.holding = ROWLOCK_HOLDS,
                                 .name = "b",
                                 .owner = "",
                                 .host = "web2",
                                 .command = "",
                                 .note = "",
                                 .pid = 2,
                                 .token = 3};

    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    waits("a", 0, 4);
    t_int(tree_add(&far, &tree), 0);
    held("b", 0, 6);
    waits("b", 5, 5);
    shows("a\n├─ #1\n└─ #2\nb\nb\n└─ #1\n");
}

TEST(a_transaction_is_no_lease_of_the_waiter)
{
    begin();
    held("a", 1, 1);
    waits("a", 2, 2);
    add(ROWLOCK_HOLDS_TX, "b", 2, 0, ""); /* the number of a server's session */
    waits("b", 5, 5);
    shows("a\n└─ #1\nb\n└─ #1\n");
}

/* rowlock run a -- rowlock run b -- rowlock run c: other processes, perhaps in another container */
TEST(nested_commands_are_one_caller_by_their_owner_ids)
{
    char outer[ROWLOCK_OWNER_SIZE], inner[ROWLOCK_OWNER_SIZE], innermost[ROWLOCK_OWNER_SIZE];
    char other[ROWLOCK_OWNER_SIZE], sibling[ROWLOCK_OWNER_SIZE];

    begin();
    t_int(rowlock__owner_make(NULL, outer), 0);
    t_int(rowlock__owner_make(outer, inner), 0);
    t_int(rowlock__owner_make(outer, sibling), 0);
    t_int(rowlock__owner_make(inner, innermost), 0);
    t_int(rowlock__owner_make("no owner id", other), 0);
    add(ROWLOCK_HOLDS, "a", 1, 1, outer);
    add(ROWLOCK_HOLDS, "b", 2, 2, inner);
    add(ROWLOCK_HOLDS, "s", 3, 3, sibling); /* not held by the innermost */
    waits("a", 10, 10);
    waits("b", 11, 11);
    waits("s", 12, 12);
    add(ROWLOCK_HOLDS, "c", 4, 4, other);
    add(ROWLOCK_WAITS, "c", 5, 13, innermost);
    shows("c\n"
          "└─ #1\n"
          "   ├─ a\n"
          "   │  └─ #1\n"
          "   └─ b\n"
          "      └─ #1\n"
          "s\n"
          "└─ #1\n");
}

TEST(children_of_one_lease_that_compete_are_not_a_cycle)
{
    char outer[ROWLOCK_OWNER_SIZE], one[ROWLOCK_OWNER_SIZE], two[ROWLOCK_OWNER_SIZE];

    begin();
    t_int(rowlock__owner_make(NULL, outer), 0);
    t_int(rowlock__owner_make(outer, one), 0);
    t_int(rowlock__owner_make(outer, two), 0);
    add(ROWLOCK_HOLDS, "a", 1, 1, one);
    add(ROWLOCK_WAITS, "a", 2, 2, two);
    shows("a\n└─ #1\n");
}

TEST(the_longest_queue_first_and_a_queue_is_cut)
{
    begin();
    tree.order = ROWLOCK_BY_QUEUE;
    tree.most_waiters = 2;
    held("a", 1, 1);
    waits("a", 2, 10);
    held("b", 3, 2);
    for (int i = 0; i < 5; i++)
        waits("b", 20 + i, 20 + i);
    held("c", 4, 3);
    shows("b\n"
          "├─ #1\n"
          "├─ #2\n"
          "└─ +3\n"
          "a\n"
          "└─ #1\n"
          "c\n");
}

TEST(waiters_that_the_list_left_out_are_counted)
{
    struct rowlock_holder holder = {.holding = ROWLOCK_HOLDS,
                                    .name = "a",
                                    .owner = "",
                                    .host = "",
                                    .command = "",
                                    .note = "",
                                    .token = 1,
                                    .expires_ms = 5000,
                                    .remaining_ms = 2000,
                                    .queue = 40};

    begin();
    tree.order = ROWLOCK_BY_QUEUE;
    t_int(tree_add(&holder, &tree), 0);
    waits("a", 2, 10);
    held("b", 3, 2);
    shows("a\n├─ #1\n└─ +39\nb\n");
    t_int(tree_now(&tree), 3000);
}

TEST(the_longest_wait_first)
{
    begin();
    tree.order = ROWLOCK_BY_WAIT;
    waits("a", 1, 30);
    waits("b", 2, 10);
    waits("b", 3, 20);
    held("c", 4, 1);
    shows("b?\n├─ #1\n└─ #2\na?\n└─ #1\nc\n");
}

TEST(one_root)
{
    begin();
    tree.root = "b";
    held("a", 1, 1);
    waits("a", 2, 2);
    held("b", 2, 3);
    waits("b", 3, 4);
    shows("b\n└─ #1\n");
    begin();
}
