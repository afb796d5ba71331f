/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6: a node is killed in every phase of rowlock_claim: a proxy between it and the server stops it
 * after each message. Either nothing was claimed, or a run with its lease. In that case, after the
 * lease has expired, the next node records the run as lost and repeats it once. Of a finish,
 * leases/job_lost_reply tests the same (p5_a_finish_repeated_after_a_lost_reply_does_no_harm).
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/jobs.h"
#include "lib/proxy.h"

#define MOST_MESSAGES 400
/* Through ODBC and JDBC there are more messages, and behind JDBC each node starts a JVM. */
#define STRIDE (t_is_jdbc() ? 59 : t_facts()->plain ? 11 : 1)

static struct proxy *proxy;

struct plan {
    struct rowlock_job job;
    const char *url;
};

/* Writes '!' when it has finished, 'x' if that failed. */
static int body(const void *data, int to)
{
    const struct plan *plan = data;
    struct rowlock_job job = t_daily_job(plan->job.name); /* its schedule is not on the stack */
    struct rowlock_connection *connection = NULL;
    struct rowlock_claim answer;
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;
    int code = rowlock_open(plan->url, t_usual(), &connection, &error);

    if (!code)
        code = rowlock_claim(connection, &job, &answer, &lease, &error);
    if (write(to, code ? "x" : "!", 1) != 1)
        return 1;
    pause();
    return 0;
}

/*
 * Waits until the proxy has stopped the child, or the child has finished; returns 1 if it was
 * stopped. Then kills it, and waits until only `sessions` sessions are left, so that the server has
 * finished what arrived.
 */
static int killed_after(int n, const struct plan *plan, int sessions)
{
    long long end = t_now() + 60000;
    struct child child;
    int struck;

    proxy_cut_all(proxy);
    proxy_settle(proxy);
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_SERVER, n);
    child = t_child(body, plan);
    while (!(struck = proxy_has_struck(proxy)) && !t_has_spoken(&child) && t_now() < end)
        t_pause(2);
    t_true(struck || t_has_spoken(&child));
    t_end_child(&child, SIGKILL);
    proxy_cut_all(proxy);
    proxy_settle(proxy);
    t_until_sessions(sessions);
    return struck;
}

/* The replies that the node has received make no difference to the server, once it is dead. */
TEST(p6_killed_after_every_message_a_claim_sent)
{
    struct plan plan = {.job = t_daily_job(t_name(0)), .url = t_proxied_url(&proxy)};
    struct rowlock_connection *next = t_open();
    void *hand = t_native();
    int n, struck = 1, claimed = 0;

    /* the name is prepared, in every technique */
    t_give(t_granted(next, t_x(t_job_lock(&plan.job)), 0));
    for (n = 0; struck && n < MOST_MESSAGES * STRIDE && claimed < 2; n += STRIDE) {
        struct rowlock_claim answer;
        struct rowlock_lease *lease;
        int64_t token;

        struck = killed_after(n, &plan, 2); /* our two sessions */
        token = t_job_seen(next, hand, &plan.job).token;
        if (t_job_runs(next, hand, &plan.job)) {
            t_int(t_claim(next, &plan.job, &lease).claimed, ROWLOCK_JOB_RUNNING);
            t_expire(hand, token);
            claimed++;
        }
        answer = t_claim(next, &plan.job, &lease);
        t_finish(lease, 0, NULL);
        t_int(answer.lost, token);
        t_int(answer.retry_number, token != 0);
        t_int(t_job_seen(next, hand, &plan.job).runs, token ? 2 : 1);
        t_text(t_all_rows(hand), NO_ROWS);
        t_ok(rowlock_forget_job(next, plan.job.name, &t_error));
    }
    t_true(n > 3);
    t_true(claimed > 0);
}
