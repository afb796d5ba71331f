/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard and a process whose main thread has ended, while another thread works: /proc shows it
 * as a zombie. tests/command/run_guard.bats tests the guard with commands.
 * Runs on: alone
 */
#include "guard/guard.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "system/command/processes.h"
#include "util/clock.h"

#define LIMIT_MS 120000

static int ready[2]; /* the thread has begun to work */

static int is_zombie(pid_t pid)
{
    char path[32], text[256] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    return strstr(text, ") Z ") != NULL;
}

/* Writes its process when /proc shows that the main thread has ended. */
static void *work(void *data)
{
    pid_t pid = getpid();

    while (!is_zombie(pid))
        poll(NULL, 0, 1);
    if (write(ready[1], &pid, sizeof pid) != (ssize_t)sizeof pid)
        _exit(1);
    for (;;)
        pause();
    return data;
}

static _Noreturn void end_main_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, NULL))
        _exit(1);
    pthread_exit(NULL);
}

/* A daemon in a session of its own; the command waits. */
static int become_daemon(void *data)
{
    (void)data;
    if (fork() == 0) {
        setsid();
        end_main_thread();
    }
    for (;;)
        pause();
}

static pid_t await_ready(void)
{
    pid_t pid = 0;

    t_int((int)read(ready[0], &pid, sizeof pid), (int)sizeof pid);
    return pid;
}

static struct guard_report last_report(struct guard *guard)
{
    int64_t until = rowlock__now_ms() + LIMIT_MS;
    struct guard_report report = {.event = GUARD_NOTHING};

    while (report.event != GUARD_ENDED && report.event != GUARD_GONE && rowlock__now_ms() < until) {
        struct pollfd fd = {.fd = guard->fd, .events = POLLIN};

        poll(&fd, 1, 1000);
        guard_next(guard, &report);
    }
    return report;
}

TEST(p5_a_daemon_whose_main_thread_has_ended_is_ended_with_the_command)
{
    struct guard_plan plan = {.end_ms = ROWLOCK_NEVER,
                              .max_run_ms = -1,
                              .kill_after_ms = 100,
                              .own_group = 1,
                              .become = become_daemon};
    struct guard_report report = {.event = GUARD_NOTHING}, last;
    struct guard guard;
    pid_t daemon;

    t_int(pipe(ready), 0);
    t_int(guard_start(&guard, &plan), 0);
    while (report.event != GUARD_STARTED)
        guard_next(&guard, &report);
    daemon = await_ready();
    guard_give(guard.fd, GUARD_STOP, 0);
    last = last_report(&guard);
    guard_close(&guard);
    t_int(last.event, GUARD_ENDED);
    t_int(last.survivors.alive, 0);
    t_true(kill(daemon, 0) != 0);
    close(ready[0]);
    close(ready[1]);
}

static int is_stopped(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) && process.is_stopped;
}

static int is_stopped_soon(pid_t pid)
{
    int64_t until = rowlock__now_ms() + LIMIT_MS;

    while (!is_stopped(pid) && rowlock__now_ms() < until)
        poll(NULL, 0, 1);
    return is_stopped(pid);
}

TEST(a_process_is_dead_when_its_last_thread_is_and_stopped_when_its_threads_are)
{
    struct tree tree;
    pid_t pid;

    t_int(pipe(ready), 0);
    pid = fork();
    if (pid == 0)
        end_main_thread();
    t_int(await_ready(), pid);
    t_true(!tree_is_dead(pid));
    t_true(!is_stopped(pid));
    t_int(tree_signal(getpid(), SIGSTOP, 0, &tree), 0);
    t_int(tree.alive, 1);
    t_int(tree.pid[0], pid);
    t_true(is_stopped_soon(pid));
    kill(pid, SIGKILL);
    t_int(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
    t_true(tree_is_dead(pid));
    t_int(tree_signal(getpid(), 0, 0, &tree), 0);
    t_int(tree.alive, 0);
    t_int(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
}

TEST(an_ancestor_is_one_process_and_not_a_later_one_with_its_number)
{
    t_int(tree_is_above(getppid(), tree_born(getppid())), 1);
    t_int(tree_is_above(getppid(), tree_born(getppid()) + 1), 0);
    t_int(tree_is_above(getpid(), tree_born(getpid())), 0);
}
