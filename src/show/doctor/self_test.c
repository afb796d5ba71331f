/* SPDX-License-Identifier: Apache-2.0 */
/* The check self-test: two sessions hand a lease over, and a transaction refuses the old token. Its
   name is its own, and nothing remains. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "show/doctor/doctor.h"
#include "util/clock.h"

#define WAIT_MS 20000
#define LOOK_MS 20
#define SLOW_MS 5000 /* of a hand-over: every waiter looks more often */

struct test {
    struct doctor *doctor;
    struct rowlock_connection *second;
    struct rowlock_want want;
    char name[200];
    struct rowlock_lease *first, *next; /* NULL: not acquired, or released */
    struct rowlock_error error, waiter_error;
    int waiter_code;
    volatile int waiter_ended;
    int64_t released_ms, acquired_ms;
};

static int fail(struct test *test, const char *what, const char *why)
{
    finding(test->doctor, "self-test", ROWLOCK_UNSAFE, "", "%s%s%s", what, *why ? ": " : "", why);
    return -1;
}

static const struct rowlock_terms terms = {.wait_ms = WAIT_MS,
                                           .note = "self-test of rowlock doctor"};

/* ---- the second session ---------------------------------------------------------------------- */

static void *wait_for_it(void *data)
{
    struct test *test = data;

    test->waiter_code =
        rowlock_acquire(test->second, &test->want, 1, &terms, &test->next, &test->waiter_error);
    test->acquired_ms = rowlock__now_ms();
    test->waiter_ended = 1;
    return NULL;
}

static int visit_waiter(const struct rowlock_holder *holder, void *data)
{
    if (holder->holding == ROWLOCK_WAITS)
        *(int *)data = 1;
    return 0;
}

/* The waiter is in the queue, or has failed. */
static int await_waiter(struct test *test)
{
    int64_t until = rowlock__now_ms() + WAIT_MS / 2;
    int waits = 0;

    while (!waits && !test->waiter_ended && rowlock__now_ms() < until) {
        if (rowlock_list(test->doctor->connection, test->name, visit_waiter, &waits, &test->error))
            return fail(test, "the waiter cannot be listed", test->error.text);
        if (!waits)
            poll(NULL, 0, LOOK_MS);
    }
    if (test->waiter_ended && test->waiter_code)
        return fail(test, "a second session cannot wait", test->waiter_error.text);
    if (test->waiter_ended)
        return fail(test, "a second session acquired a lease that is held", "");
    return waits ? 0 : fail(test, "the second session is not in the queue", "");
}

static int hand_over(struct test *test)
{
    pthread_t thread;
    int status;

    if (pthread_create(&thread, NULL, wait_for_it, test))
        return fail(test, "no thread for the waiter", "");
    status = await_waiter(test);
    test->released_ms = rowlock__now_ms();
    if (rowlock_release(test->first, &test->error) && !status)
        status = fail(test, "the lease cannot be released", test->error.text);
    pthread_join(thread, NULL);
    if (!status && test->waiter_code)
        status = fail(test, "the second session did not get the lease", test->waiter_error.text);
    return status;
}

/* ---- the fence ------------------------------------------------------------------------------- */

static int check_fence(struct test *test)
{
    struct rowlock_connection *connection = test->doctor->connection;
    int64_t former = rowlock_token(test->first), token = rowlock_token(test->next);
    struct rowlock_want own = {.name = test->name, .token = token};
    int code, accepted;

    if (token <= former)
        return fail(test, "the later token is not greater than the former one", "");
    if (rowlock_begin(connection, &own, 1, WAIT_MS, &test->error))
        return fail(test, "no transaction under the lease", test->error.text);
    code = rowlock_fence(connection, test->name, token, &test->error);
    accepted = code ? ROWLOCK_OK : rowlock_fence(connection, test->name, former, &test->error);
    rowlock_rollback(connection, NULL);
    if (code)
        return fail(test, "the fence refuses the present token", test->error.text);
    if (accepted != ROWLOCK_ELOST)
        return fail(test, "the fence does not refuse an old token",
                    accepted ? test->error.text : "");
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void run(struct test *test)
{
    const struct rowlock_options options = {0};
    struct rowlock_connection *connection = test->doctor->connection;
    int took_ms;

    if (rowlock_open(test->doctor->url.text, &options, &test->second, &test->error))
        fail(test, "no second session", test->error.text);
    else if (prove_exclusion(connection, test->second, &test->error))
        fail(test, "no transaction lock holds", test->error.text);
    else if (rowlock_acquire(connection, &test->want, 1, &terms, &test->first, &test->error))
        fail(test, "no lease can be acquired", test->error.text);
    else if (hand_over(test) || check_fence(test))
        return; /* it has failed, and said why */
    else if (rowlock_release(test->next, &test->error))
        fail(test, "the lease cannot be released", test->error.text);
    else if ((took_ms = (int)(test->acquired_ms - test->released_ms)) > SLOW_MS)
        finding(test->doctor, "self-test", ROWLOCK_WARNS, "look at the load of the server",
                "the hand-over to a second session took %d ms", took_ms);
    else
        finding(test->doctor, "self-test", ROWLOCK_SOUND, "",
                "handed over to a second session in %d ms; an old token was refused", took_ms);
}

void examine_locks(struct doctor *doctor)
{
    struct test test = {.doctor = doctor};
    char host[100] = "";
    sigset_t all, before;

    gethostname(host, sizeof host - 1);
    snprintf(test.name, sizeof test.name, "rowlock doctor %s %d %lld", host, (int)getpid(),
             (long long)rowlock__now_ms());
    test.want.name = test.name;
    sigfillset(&all); /* a signal must not leave a lease behind; every wait here has a limit */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    run(&test);
    if (test.first)
        rowlock_release(test.first, NULL);
    if (test.next)
        rowlock_release(test.next, NULL);
    rowlock_lease_free(test.first);
    rowlock_lease_free(test.next);
    rowlock_close(test.second);
    rowlock_vacuum_name(test.doctor->connection, test.name, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
