/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of holders and waiters across names, as its lines: a branch, then NAME, #PLACE, +MORE, a
 * name that is shown above (^) or a cycle (@).
 * Runs on: alone
 */
#include "show/tree/lock_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "util/random.h"

static struct lock_tree tree;

static void begin(void)
{
    tree_free(&tree);
    tree = (struct lock_tree){.order = ROWLOCK_BY_NAME};
}

static struct rowlock_holder row_of(enum rowlock_holding holding, const char *name, int64_t pid,
                                    int64_t at, const char *owner)
{
    return (struct rowlock_holder){.holding = holding,
                                   .name = name,
                                   .owner = owner,
                                   .host = "web1",
                                   .command = "",
                                   .note = "",
                                   .pid = pid,
                                   .since_ms = 1000 * at,
                                   .ticket = holding == ROWLOCK_WAITS ? at : 0,
                                   .token = holding == ROWLOCK_WAITS ? 0 : at};
}

static void add(enum rowlock_holding holding, const char *name, int64_t pid, int64_t at,
                const char *owner)
{
    struct rowlock_holder row = row_of(holding, name, pid, at, owner);

    t_int(tree_add(&row, &tree), 0);
}

/* Adds a row for each word: NAME=PID holds a lease, NAME<PID waits. Its number, and its time, are
   those after @, or the next ones. */
static void also(const char *words)
{
    int64_t at = 0, pid;
    char name[20], sign;
    int n;

    while (sscanf(words, " %19[^=<]%c%" SCNd64 "%n", name, &sign, &pid, &n) == 3) {
        words += n;
        at++;
        if (*words == '@')
            at = strtoll(words + 1, (char **)&words, 10);
        add(sign == '=' ? ROWLOCK_HOLDS : ROWLOCK_WAITS, name, pid, at, "");
    }
    t_text(words, "");
}

static void given(const char *words)
{
    begin();
    also(words);
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
    given("b<7@30 b<8@20 b=9@2 a=1@1");
    shows("a\n"
          "b\n"
          "├─ #1\n"
          "└─ #2\n");
    t_int(tree.lines[2].holder->pid, 8);
    t_int(tree.lines[1].queue, 2);
}

TEST(several_holders_share_the_queue)
{
    given("a=1 a=2 a<3");
    shows("a\na\n└─ #1\n");
}

TEST(leases_come_before_transactions_which_keep_the_order_of_the_list)
{
    begin();
    for (int pid = 9; pid > 1; pid--)
        add(ROWLOCK_HOLDS_TX, "a", pid, 0, "");
    add(ROWLOCK_HOLDS, "a", 1, 7, "");
    shows("a\na\na\na\na\na\na\na\na\n");
    t_int(tree.lines[0].holder->pid, 1);
    for (size_t i = 1; i < tree.n_lines; i++)
        t_int(tree.lines[i].holder->pid, 10 - (int)i);
}

TEST(a_queue_whose_holder_is_not_reported)
{
    given("a<3@3");
    shows("a?\n└─ #1\n");
}

TEST(a_waiter_has_the_queue_of_its_own_name_below_it)
{
    given("a=1 a<2 a<3 b=2 b<4 c=4 c<5"); /* b is of the first waiter for a, c of that for b */
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
    /* db, the cause, does not match; app1 is of the second waiter for db, and so is other */
    given("db=1 db<9 db<2 app1=2 other=2 other<8 app1<3 app1<7 below=3 below<4 lone=5 lone<6");
    tree.glob = "app*";
    tree.most_waiters = 1;
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
    given("a=1 b=2 c=3 a<2 b<1 c<4");
    tree.glob = "b";
    shows("a\n└─ #1\n   └─ b\n      └─ #1\n         └─ a@\n");
}

TEST(two_names_of_one_waiter)
{
    given("a=1 a<2 b=2 b<3 c=2 c<3 d=2"); /* d has no waiter: a root */
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
    given("a=1 a<2 a<3 b=2 b=3 b<6"); /* b is shared */
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
    given("a=1 a<2 b=2 b<1");
    shows("a\n"
          "└─ #1\n"
          "   └─ b\n"
          "      └─ #1\n"
          "         └─ a@\n");
}

TEST(a_cycle_below_a_root)
{
    given("x=9@9 x<2@8 a=1@1 a<2 b=2 b<1"); /* a waiter of the cycle also waits for x */
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
    given("a=1 a<1");
    shows("a\n└─ #1\n");
}

TEST(a_pid_of_another_host_or_no_pid_is_not_the_same_caller)
{
    struct rowlock_holder far = row_of(ROWLOCK_HOLDS, "b", 2, 3, "");

    far.host = "web2";
    given("a=1 a<2 a<0@4");
    t_int(tree_add(&far, &tree), 0);
    also("b=0@6 b<5@5");
    shows("a\n├─ #1\n└─ #2\nb\nb\n└─ #1\n");
}

TEST(a_transaction_is_no_lease_of_the_waiter)
{
    given("a=1 a<2");
    add(ROWLOCK_HOLDS_TX, "b", 2, 0, ""); /* the number of a server's session */
    also("b<5@5");
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
    also("a<10@10 b<11 s<12");
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
    given("a=1 a<2@10 b=3@2 b<20@20 b<21 b<22 b<23 b<24 c=4@3");
    tree.order = ROWLOCK_BY_QUEUE;
    tree.most_waiters = 2;
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
    struct rowlock_holder holder = row_of(ROWLOCK_HOLDS, "a", 0, 1, "");

    holder.expires_ms = 5000;
    holder.remaining_ms = 2000;
    holder.queue = 40;
    begin();
    tree.order = ROWLOCK_BY_QUEUE;
    t_int(tree_add(&holder, &tree), 0);
    also("a<2@10 b=3@2");
    shows("a\n├─ #1\n└─ +39\nb\n");
    t_int(tree_now(&tree), 3000);
}

TEST(the_longest_wait_first)
{
    given("a<1@20 a<2@30 b<3@10 c=4@1"); /* the longer queue is that of a */
    tree.order = ROWLOCK_BY_WAIT;
    shows("b?\n└─ #1\na?\n├─ #1\n└─ #2\nc\n");
}

TEST(one_root)
{
    given("a=1 a<2 b=2 b<3");
    tree.root = "b";
    shows("b\n└─ #1\n");
    begin();
}
