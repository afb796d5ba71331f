/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two or three sessions take their steps in every possible order. A small model of a lock (modes,
 * queue, prepared names) computes which session waits and which proceeds. After each step the
 * result is compared with what the server reports. Each holder of the name reads what earlier
 * holders committed, and an exclusive holder adds to it.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 * Rest: postgresql mariadb derby/jdbc
 */
#include <stdio.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/model.h"
#include "lib/session.h"

#define MOST_STEPS 16

/* ---- the steps of one session ---------------------------------------------------------------- */

static const enum step_kind begin_lock[] = {STEP_BEGIN_LOCK, STEP_COMMIT, STEP_END};
static const enum step_kind begin_lock_undo[] = {STEP_BEGIN_LOCK, STEP_ROLLBACK, STEP_END};
static const enum step_kind begin_try[] = {STEP_BEGIN_TRY, STEP_COMMIT, STEP_END};
static const enum step_kind lock_later[] = {STEP_BEGIN, STEP_LOCK, STEP_COMMIT, STEP_END};
static const enum step_kind lock_twice[] = {STEP_BEGIN, STEP_LOCK, STEP_LOCK, STEP_ROLLBACK,
                                            STEP_END};
static const enum step_kind try_later[] = {STEP_BEGIN, STEP_TRY, STEP_COMMIT, STEP_END};
static const enum step_kind prepared[] = {STEP_PREPARE, STEP_BEGIN, STEP_LOCK, STEP_COMMIT,
                                          STEP_END};
static const enum step_kind undone[] = {STEP_BEGIN,       STEP_SAVEPOINT, STEP_LOCK,
                                        STEP_ROLLBACK_TO, STEP_COMMIT,    STEP_END};

static const char *const door_names[] = {"own", "borrowed", "sql"};

/* ---- one order, on real sessions ------------------------------------------------------------- */

static struct session *sessions[MOST_ACTORS];
static char complaint[1500], name[100];
static unsigned orders;

static int complain(const struct model *before, const int *path, int at, int who, const char *what)
{
    int written = snprintf(complaint, sizeof complaint, "%c %s\n ", 'A' + who, what);

    for (int i = 0; i < before->n; i++)
        written += snprintf(complaint + written, sizeof complaint - (size_t)written, " %c: %s %s;",
                            'A' + i, door_names[before->actor[i].door],
                            before->actor[i].mode == ROWLOCK_SHARED ? "shared" : "exclusive");
    written += snprintf(complaint + written, sizeof complaint - (size_t)written, "  steps:");
    for (int i = 0, next[MOST_ACTORS] = {0}; i <= at; i++)
        written += snprintf(complaint + written, sizeof complaint - (size_t)written, " %c%d",
                            'A' + path[i], ++next[path[i]]);
    snprintf(complaint + written, sizeof complaint - (size_t)written, " (%s)\n  error: %d %s", name,
             session_code(sessions[who]), session_error(sessions[who])->text);
    return -1;
}

/* P2: the holder of the name sees everything that earlier holders committed under it. */
static const char *look(struct model *model, int me)
{
    char answer[200], wanted[40];
    void *handle = session_handle(sessions[me]);

    if (t_engine()->sql(handle, "SELECT n FROM ledger", answer, sizeof answer))
        return "cannot read the ledger";
    snprintf(wanted, sizeof wanted, "%ld", model->committed + model->actor[me].added);
    if (strcmp(answer, wanted) != 0)
        return "does not see what the holder before committed";
    if (model->actor[me].mode != ROWLOCK_EXCLUSIVE)
        return NULL;
    model->actor[me].added++;
    if (t_engine()->sql(handle, "UPDATE ledger SET n = n + 1", answer, sizeof answer))
        return "cannot write the ledger";
    return NULL;
}

static const char *check_outcome(int who, enum outcome wanted, enum session_state state)
{
    static const int codes[] = {ROWLOCK_OK, 0, ROWLOCK_EBUSY, ROWLOCK_EUNPREPARED};

    if (state == SESSION_STUCK)
        return "neither ends nor waits for a lock";
    if (wanted == WAITS)
        return state == SESSION_WAITS ? NULL : "should wait, but its step has ended";
    if (state == SESSION_WAITS)
        return "should not wait, but the server says it does";
    if (session_code(sessions[who]) != codes[wanted])
        return wanted == PASSES    ? "should pass"
               : wanted == IS_BUSY ? "should be busy"
                                   : "should be unprepared";
    return NULL;
}

/* After another session's step: a session that the model admits has the lock, the others still
   wait. */
static const char *check_others(struct model *before, struct model *after, int *who)
{
    for (int i = 0; i < after->n; i++) {
        const char *wrong = NULL;

        *who = i;
        if (!before->actor[i].waits)
            continue;
        if (after->actor[i].waits)
            wrong = check_outcome(i, WAITS, session_settle(sessions[i]));
        else
            wrong = check_outcome(i, PASSES, session_finish(sessions[i]));
        if (!wrong && after->actor[i].holds)
            wrong = look(after, i);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static int run_order(const struct model *start, const int *path, int n)
{
    struct model now = *start;

    t_native_sql(t_admin(), "UPDATE ledger SET n = 0");
    for (int i = 0; i < n; i++) {
        struct model before = now;
        int who = path[i], held = now.actor[who].holds;
        enum step_kind kind = now.actor[who].steps[now.actor[who].at];
        enum outcome wanted = model_step(&now, who);
        const char *wrong;

        session_start(sessions[who], kind, now.actor[who].mode, name);
        wrong = check_outcome(who, wanted,
                              wanted == WAITS ? session_settle(sessions[who])
                                              : session_finish(sessions[who]));
        if (!wrong && now.actor[who].holds && !held)
            wrong = look(&now, who);
        if (!wrong)
            wrong = check_others(&before, &now, &who);
        if (wrong)
            return complain(start, path, i, who, wrong);
    }
    orders++;
    return 0;
}

/* ---- all orders ------------------------------------------------------------------------------ */

static void new_name(int known)
{
    static unsigned number;
    struct session *helper = sessions[0];

    snprintf(name, sizeof name, "order %u", ++number);
    if (!known)
        return;
    session_start(helper, STEP_PREPARE, ROWLOCK_EXCLUSIVE, name);
    session_finish(helper);
}

static int explore(const struct model *start, const struct model *now, int *path, int n)
{
    int more = 0;

    for (int i = 0; i < now->n; i++) {
        struct model next = *now;

        if (now->actor[i].waits || now->actor[i].steps[now->actor[i].at] == STEP_END)
            continue;
        more = 1;
        model_step(&next, i);
        path[n] = i;
        if (explore(start, &next, path, n + 1))
            return -1;
    }
    if (more)
        return 0;
    new_name(start->known);
    return run_order(start, path, n);
}

static int is_row(void)
{
    return t_facts()->code == ROWLOCK_ROW;
}

static int explore_modes(struct model *start)
{
    int path[MOST_STEPS], sharing = t_facts()->shared == SHARED_TOGETHER;

    /* of three sessions the quick scope has all of them exclusive, and one between two sharers */
    for (int modes = 0;
         modes<(sharing ? 1 << start->n : 1); modes += start->n> 2 ? t_effort(5, 1) : 1)
        for (int known = is_row() ? 0 : 1; known <= 1; known++) {
            for (int i = 0; i < start->n; i++)
                start->actor[i].mode = modes >> i & 1 ? ROWLOCK_SHARED : ROWLOCK_EXCLUSIVE;
            start->known = known;
            if (explore(start, start, path, 0))
                return -1;
        }
    return 0;
}

static void run_all(int n, const enum door *doors, const enum step_kind *const *scripts)
{
    struct model start = {.n = n};
    int failed;

    for (int i = 0; i < n; i++) {
        sessions[i] = session_open(doors[i]);
        start.actor[i].door = session_door(doors[i]);
        start.actor[i].steps = scripts[i];
    }
    t_try_sql(t_admin(), "CREATE TABLE ledger (n bigint)");
    t_native_sql(t_admin(), "DELETE FROM ledger");
    t_native_sql(t_admin(), "INSERT INTO ledger VALUES (0)");
    if (strcmp(t_engine()->name, "postgresql") == 0)
        t_native_sql(t_admin(), "GRANT ALL ON ledger TO PUBLIC");
    failed = explore_modes(&start);
    for (int i = 0; i < n; i++)
        session_close(sessions[i]);
    if (failed)
        t_fail(__FILE__, __LINE__, "%s", complaint);
}

static void run_pair(enum door a, enum door b, const enum step_kind *first,
                     const enum step_kind *second)
{
    run_all(2, (enum door[]){a, b}, (const enum step_kind *[]){first, second});
}

/* Through every two doors that the engine has. The quick scope runs two different scripts through
   three of the nine pairs of doors. */
static void run_doors(const enum step_kind *first, const enum step_kind *second)
{
    if (!t_facts()->wraps) {
        run_pair(DOOR_OWN, DOOR_OWN, first, second);
        return;
    }
    for (int a = DOOR_OWN; a <= DOOR_SQL; a++)
        for (int b = first == second ? a : DOOR_OWN; b <= DOOR_SQL; b++)
            if (t_effort(first == second || b == (a + 1) % 3, 1))
                run_pair((enum door)a, (enum door)b, first, second);
}

TEST(p1_p2_begin_and_lock_in_every_order)
{
    run_doors(begin_lock, begin_lock);
}

TEST(p1_p2_begin_and_lock_undone_in_every_order)
{
    run_doors(begin_lock_undo, begin_lock);
}

TEST(p1_p2_lock_in_own_transaction_in_every_order)
{
    run_doors(lock_later, lock_later);
}

TEST(p1_p2_begin_and_lock_against_lock_in_every_order)
{
    run_doors(begin_lock, lock_later);
}

TEST(p1_p2_prepared_and_locked_in_every_order)
{
    if (t_facts()->readers_wait && t_facts()->plain)
        t_not_here(WHY_PREPARE);
    run_doors(prepared, begin_lock);
}

TEST(p1_a_lock_taken_twice_is_one_in_every_order)
{
    run_doors(lock_twice, begin_lock);
}

/* A try that ends leaves the transaction, and its session. */
static void tries_are_free(void)
{
    if (t_facts()->limit_aborts)
        t_not_here(WHY_LIMIT_ABORTS);
    if (t_facts()->limit_ends_session)
        t_not_here(WHY_LIMIT_ENDS);
}

TEST(p11_a_try_leaves_the_transaction_in_every_order)
{
    tries_are_free();
    run_doors(try_later, begin_lock);
    run_doors(try_later, try_later);
}

TEST(p11_begin_and_try_in_every_order)
{
    if (t_facts()->limit_ends_session)
        t_not_here(WHY_LIMIT_ENDS);
    run_doors(begin_try, begin_lock);
    run_doors(begin_try, begin_try);
}

/*
 * PostgreSQL undoes its row locks too. But a waiter for one already waits for the whole
 * transaction, because the guard's savepoint inside the caller's has been released. InnoDB undoes
 * all locks if the transaction had used InnoDB only after the savepoint, and none otherwise (see
 * mariadb_traps_test.c).
 */
TEST(p1_rollback_to_an_earlier_savepoint_in_every_order)
{
    if (t_facts()->code == ROWLOCK_NATIVE || (is_row() && strcmp(t_engine()->name, "mariadb") == 0))
        run_doors(undone, begin_lock);
}

TEST(p1_after_rollback_to_a_savepoint_no_waiter_waits_beyond_the_end)
{
    struct session *one = session_open(DOOR_BORROWED), *two = session_open(DOOR_OWN);
    enum session_state waits, ends;
    const char *lock = "savepoint and waiter";

    session_start(one, STEP_PREPARE, ROWLOCK_EXCLUSIVE, lock);
    session_finish(one);
    for (int i = 0; i < 3; i++) {
        static const enum step_kind first[] = {STEP_BEGIN, STEP_SAVEPOINT, STEP_LOCK};

        session_start(one, first[i], ROWLOCK_EXCLUSIVE, lock);
        session_finish(one);
    }
    session_start(two, STEP_BEGIN_LOCK, ROWLOCK_EXCLUSIVE, lock);
    waits = session_settle(two);
    session_start(one, STEP_ROLLBACK_TO, ROWLOCK_EXCLUSIVE, lock);
    session_finish(one);
    session_start(one, STEP_COMMIT, ROWLOCK_EXCLUSIVE, lock);
    session_finish(one);
    ends = session_finish(two);
    session_close(one);
    session_close(two);
    t_int(waits, SESSION_WAITS);
    t_int(ends, SESSION_DONE);
}

/* The order of the engine's own queue. Technique insert has none: the engine wakes any waiter. */
TEST(p7_three_sessions_in_every_order)
{
    if (!t_facts()->first_come || !t_facts()->wraps)
        return;
    run_all(3, (enum door[]){DOOR_OWN, DOOR_BORROWED, DOOR_SQL},
            (const enum step_kind *[]){begin_lock, begin_lock, begin_lock});
}

TEST(p7_three_sessions_lock_and_try_in_every_order)
{
    if (!t_facts()->first_come || !t_facts()->wraps)
        return;
    run_all(3, (enum door[]){DOOR_SQL, DOOR_OWN, DOOR_BORROWED},
            (const enum step_kind *[]){begin_lock, begin_lock, begin_try});
}

TEST(p9_names_that_differ_in_a_byte_pass_each_other)
{
    static const char *const names[] = {"a",
                                        "A",
                                        "a ",
                                        " a",
                                        "\xc3\xa1",
                                        "\xc3\x84",
                                        "ss",
                                        "\xc3\x9f",
                                        "\xf0\x9f\x98\x80",
                                        "\xf0\x9f\x98\x81"};
    struct rowlock_connection *connection[2] = {t_open(), NULL};
    void *handle;

    connection[1] = t_wrap(&handle, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            t_ok(t_begin(connection[0], t_x(names[i]), 0));
            if (i == j)
                t_fails(t_begin(connection[1], t_x(names[j]), 0), EBUSY);
            else
                t_ok(t_begin(connection[1], t_x(names[j]), 0));
            t_ok(rowlock_rollback(connection[1], &t_error));
            t_ok(rowlock_rollback(connection[0], &t_error));
        }
}

TEST(all_those_orders_were_run)
{
    print_message("# %u orders\n", orders);
    t_true(orders > (t_facts()->wraps ? 100 : 10));
}
