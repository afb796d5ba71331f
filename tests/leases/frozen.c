/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6: frozen waiters delay a live one by 15 s at most if they are among the first 16 in the queue,
 * in every mode. The same holds for the waiters of a node that is cut off from the network. Live
 * waiters between them keep their places (P7). The technique has no influence on this. Frozen
 * waiters only wait, so all cases of a test run at once.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: sqlite/native postgresql/native
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/proxy.h"

#define MOST 16
#define BEHIND_PROXY 10 /* the proxy carries at most 16 connections */

/* A node: one process with several waiters, each with a connection of its own. */
struct node {
    struct rowlock_want wants[2];
    size_t n;
    int waiters;
    const char *url;
};

static void *wait_on(void *data)
{
    const struct node *node = data;
    struct rowlock_terms terms = {.wait_ms = -1, .ttl_ms = HOUR};
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;

    if (!rowlock_open(node->url ? node->url : t_url(), t_usual(), &connection, NULL))
        rowlock_acquire(connection, node->wants, node->n, &terms, &lease, NULL);
    return NULL;
}

/* Waits for SIGUSR1 before its waiters queue: see ready_node. */
static int node_body(const void *data, int to)
{
    struct node node = *(const struct node *)data;
    pthread_t thread;
    sigset_t begin;
    int signal;

    sigemptyset(&begin);
    sigaddset(&begin, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &begin, NULL) || write(to, "!", 1) != 1 || sigwait(&begin, &signal))
        return 1;
    for (int i = 0; i < node.waiters; i++)
        if (pthread_create(&thread, NULL, wait_on, &node))
            return 1;
    for (;;)
        pause();
}

/* Counts the waiters of one process only, because on SQLite the tickets of frozen waiters are
   deleted. */
static void until_queued(void *hand, const char *name, pid_t pid, int n)
{
    t_until(atoi(t_native_sql(hand, "SELECT count(*) FROM %s WHERE name = '%s' AND pid = %d",
                              waiter_table(), t_key(name), (int)pid)) >= n);
}

/* Forked before this process has a thread in SQLite: the child would inherit a locked mutex. */
static struct child ready_node(const struct node *node)
{
    struct child child = t_child(node_body, node);

    t_int(t_hear(&child), '!');
    return child;
}

static void begin_node(const struct child *child, void *hand, const struct node *node)
{
    t_int(kill(child->pid, SIGUSR1), 0);
    until_queued(hand, node->wants[0].name, child->pid, node->waiters);
}

static struct rowlock_connection *prober;

/* A process that is stopped while it writes keeps the SQLite file locked. Behind JDBC it keeps its
   rows locked, because rowlock sets no time limit for idle transactions there. */
static int locks_nothing(void)
{
    struct rowlock_want want = t_x("whether the file is free");

    if (t_facts()->server)
        return t_lockers() == 0;
    return rowlock_begin(prober, &want, 1, 0, NULL) == ROWLOCK_OK &&
           rowlock_rollback(prober, NULL) == ROWLOCK_OK;
}

/* Others may lock something briefly. */
static int will_lock_nothing(void)
{
    for (long long end = t_now() + (t_facts()->server ? 100 : 1000); t_now() < end; t_pause(2))
        if (locks_nothing())
            return 1;
    return 0;
}

/* After a stop all waiters are due to poll at once, so each run is longer than the last. */
static void freeze(const struct child *child)
{
    int status;

    for (int run_ms = 2;; run_ms = run_ms < 1000 ? 2 * run_ms : run_ms) {
        t_int(kill(child->pid, SIGSTOP), 0);
        t_int(waitpid(child->pid, &status, WUNTRACED), child->pid);
        t_true(WIFSTOPPED(status));
        if (will_lock_nothing())
            return;
        t_int(kill(child->pid, SIGCONT), 0);
        t_pause(run_ms);
    }
}

/* ---- some frozen waiters, and a live one ----------------------------------------------------- */

struct scene {
    struct node node;
    struct rowlock_want first,
        ours;  /* held until all waiters are queued; wanted by the live waiter */
    int stays; /* the holder keeps it */
    struct rowlock_lease *held;
    struct child child;
    struct acquisition us;
    struct thread *thread;
};

static void set_up(struct scene *scene, void *hand)
{
    const char *name = scene->first.name;

    scene->held = t_granted(t_open(), scene->first, HOUR);
    begin_node(&scene->child, hand, &scene->node);
    freeze(&scene->child);
    scene->us = (struct acquisition){.wants = {scene->ours}, .wait_ms = -1, .ttl_ms = HOUR};
    scene->thread = t_acquire_thread(t_open(), &scene->us);
    until_queued(hand, name, getpid(), 1);
}

static void play(struct scene *scenes, size_t n)
{
    void *hand = t_native();
    long long began;

    for (size_t i = 0; i < n; i++)
        scenes[i].child = ready_node(&scenes[i].node);
    prober = t_open();
    for (size_t i = 0; i < n; i++)
        set_up(&scenes[i], hand);
    began = t_now();
    for (size_t i = 0; i < n; i++)
        if (!scenes[i].stays)
            t_give(scenes[i].held);
    for (size_t i = 0; i < n; i++) {
        t_ok(t_join(scenes[i].thread));
        print_message("# %s, %d frozen: %lld ms\n", scenes[i].first.name, scenes[i].node.waiters,
                      t_now() - began);
        t_within(began, PROMISE_MS);
    }
    for (size_t i = 0; i < n; i++) {
        t_end_child(&scenes[i].child, SIGKILL);
        if (scenes[i].stays)
            rowlock_lease_free(scenes[i].held);
        rowlock_lease_free(scenes[i].us.lease);
    }
    t_forget_leases(hand);
}

TEST(p6_frozen_waiters_delay_a_live_one_by_15_s_at_most)
{
    struct scene scenes[] = {
        {.node = {{t_x("x5")}, 1, 5, NULL}, .first = t_x("x5"), .ours = t_x("x5")},
        {.node = {{t_x("x16")}, 1, MOST, NULL}, .first = t_x("x16"), .ours = t_x("x16")},
        {.node = {{t_s("s5")}, 1, 5, NULL}, .first = t_x("s5"), .ours = t_s("s5")},
        {.node = {{t_p("p5", 2, 1)}, 1, 5, NULL},
         .first = t_p("p5", 2, 2),
         .ours = t_p("p5", 2, 1)},
        {.node = {{t_x("a"), t_x("b")}, 2, 5, NULL}, .first = t_x("a"), .ours = t_x("a")},
        /* a frozen writer does not keep a reader from joining other readers */
        {.node = {{t_x("readers")}, 1, 3, NULL},
         .first = t_s("readers"),
         .ours = t_s("readers"),
         .stays = 1},
    };

    play(scenes, sizeof scenes / sizeof *scenes);
}

/* ---- live waiters between frozen ones -------------------------------------------------------- */

TEST(p7_live_waiters_among_frozen_ones_keep_their_order)
{
    struct node node = {{t_x("among")}, 1, 3, NULL};
    struct rowlock_lease *lease = t_granted(t_open(), t_x("among"), HOUR);
    struct acquisition live[3];
    struct thread *threads[3];
    struct child nodes[3];
    atomic_int turn = 0;
    void *hand = t_native();

    for (int i = 0; i < 3; i++)
        nodes[i] = ready_node(&node);
    prober = t_open();
    for (int i = 0; i < 3; i++) {
        begin_node(&nodes[i], hand, &node);
        freeze(&nodes[i]);
        t_keep_places(hand, "among", "");
        live[i] = (struct acquisition){
            .wants = {t_x("among")}, .wait_ms = -1, .ttl_ms = HOUR, .turn = &turn};
        threads[i] = t_acquire_thread(t_open(), &live[i]);
        until_queued(hand, "among", getpid(), i + 1);
        t_keep_places(hand, "among", NULL);
    }
    t_give(lease);
    for (int i = 0; i < 3; i++)
        t_ok(t_join(threads[i]));
    for (int i = 0; i < 3; i++)
        t_int(live[i].order, i + 1);
    for (int i = 0; i < 3; i++)
        t_end_child(&nodes[i], SIGKILL);
    t_forget_leases(hand);
}

/* ---- a node that is cut off ------------------------------------------------------------------ */

static int proxy_body(const void *data, int to)
{
    struct proxy *proxy = proxy_start(*(const int *)data, t_protocol());
    char port[8];

    snprintf(port, sizeof port, "%5d", proxy_port(proxy));
    if (write(to, port, 5) != 5)
        return 1;
    for (;;)
        pause();
}

/* The sessions of the node stay open, the holder's too, because the server cannot notice. The
   lease expires. */
TEST(p6_the_waiters_of_a_node_that_is_cut_off_with_the_holder)
{
    struct node node = {{t_x("cut off")}, 1, BEHIND_PROXY, NULL};
    struct acquisition us = {.wants = {t_x("cut off")}, .wait_ms = -1, .ttl_ms = HOUR};
    struct rowlock_lease *lease;
    struct child network, there;
    struct thread *thread;
    char port[6] = "";
    void *hand = t_native();
    long long began;
    int to;

    if (!t_facts()->server)
        return;
    lease = t_granted(t_open(), t_x("cut off"), HOUR);
    to = t_port();
    network = t_child(proxy_body, &to);
    for (int i = 0; i < 5; i++)
        port[i] = t_hear(&network);
    node.url = t_url_at(atoi(port));
    there = ready_node(&node);
    begin_node(&there, hand, &node);
    freeze(&network);
    thread = t_acquire_thread(t_open(), &us);
    until_queued(hand, "cut off", getpid(), 1);
    began = t_now();
    t_expire(hand, rowlock_token(lease));
    t_ok(t_join(thread));
    print_message("# %d waiters cut off: %lld ms\n", BEHIND_PROXY, t_now() - began);
    t_within(began, PROMISE_MS);
    t_end_child(&there, SIGKILL);
    t_end_child(&network, SIGKILL);
    rowlock_lease_free(lease);
    rowlock_lease_free(us.lease);
    t_forget_leases(hand);
}
