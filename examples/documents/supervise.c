/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent never touches the database while workers run, so it can fork a new one at any time. A
 * worker killed by a signal is replaced, and its successor begins with the document that the
 * killed one had in hand. The transaction of the killed worker has been rolled back, or committed,
 * when the successor acquires the lock.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"
#include "report.h"
#include "walk.h"
#include "worker.h"

#define DEATHS_MAX 3     /* of workers in a row with one document */
#define GRACE_SECONDS 10 /* from the order to stop until workers are killed */

struct supervisor {
    struct job job;
    pid_t pids[BOARD_WORKERS_MAX]; /* 0: ended */
    unsigned alive;
    struct walk *walk;
    const char *path; /* the next to put up */
    double stopped;   /* when the order was given; 0: not */
    struct progress progress;
    uint64_t deaths;
};

static int stop_pipe[2] = {-1, -1};
static volatile sig_atomic_t stop_signals;
static sigset_t mask_before;

static void on_stop(int signal_number)
{
    int saved = errno;
    ssize_t written = write(stop_pipe[1], "", 1);

    (void)signal_number;
    (void)written; /* a full pipe is readable too */
    stop_signals++;
    errno = saved;
}

static void on_child(int signal_number)
{
    (void)signal_number; /* only to wake the parent's wait */
}

static void catch (int signal_number, void (*handler)(int))
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigaction(signal_number, NULL, &before);
    if (before.sa_handler == SIG_IGN && signal_number == SIGHUP)
        return; /* nohup */
    sigaction(signal_number, &action, NULL);
}

/* The parent takes signals only while it waits; while it works they stay pending. */
int signals_catch(int *stop_fd)
{
    sigset_t blocked;

    if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK))
        return -1;
    *stop_fd = stop_pipe[0];
    catch (SIGINT, on_stop);
    catch (SIGTERM, on_stop);
    catch (SIGHUP, on_stop);
    catch (SIGCHLD, on_child);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &mask_before);
    return 0;
}

bool signals_seen(void)
{
    return stop_signals > 0;
}

/* A worker stops when the pipe is readable: a terminal's Ctrl-C reaches all of the group, and a
   transaction must not die of it half-way. If the parent dies the pipe ends. */
static void become_worker(const struct supervisor *s, struct hand *hand)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    close(stop_pipe[1]);
    exit(worker_run(&s->job, hand));
}

static void start_worker(struct supervisor *s, unsigned i)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become_worker(s, &s->job.board->hands[i]);
    if (pid < 0) {
        fprintf(stderr, "documents: fork: %s\n", strerror(errno));
        return;
    }
    s->pids[i] = pid;
    s->alive++;
}

static void worker_died(struct supervisor *s, unsigned i)
{
    struct hand *hand = &s->job.board->hands[i];

    s->deaths++;
    hand->deaths++;
    if (hand->deaths == DEATHS_MAX && hand->state == HAND_BUSY) {
        report_undone(hand->path, hand->number, "workers died of it");
        hand_give_up(hand);
    } else if (hand->deaths > DEATHS_MAX) {
        return; /* workers die without a document, too */
    }
    if (!s->stopped)
        start_worker(s, i);
}

static void reap(struct supervisor *s)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (unsigned i = 0; i < s->job.options->workers; i++) {
            if (s->pids[i] != pid)
                continue;
            s->pids[i] = 0;
            s->alive--;
            if (WIFSIGNALED(status))
                worker_died(s, i);
            break;
        }
    }
}

/* Puts up as many files as there is room for. */
static void feed(struct supervisor *s)
{
    while (s->walk && !s->stopped) {
        if (!s->path)
            s->path = walk_next(s->walk);
        if (!s->path) {
            board_close(s->job.board);
            return;
        }
        if (!board_put(s->job.board, s->path))
            return;
        s->path = NULL;
    }
}

static uint64_t read_so_far(const struct supervisor *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < s->job.options->workers; i++)
        sum += hand_read(&s->job.board->hands[i]);
    return sum;
}

static void obey(struct supervisor *s)
{
    double now = monotonic_seconds();

    if (!stop_signals)
        return;
    if (!s->stopped)
        s->stopped = now;
    if (stop_signals < 2 && now - s->stopped < GRACE_SECONDS)
        return;
    for (unsigned i = 0; i < s->job.options->workers; i++) {
        if (s->pids[i])
            kill(s->pids[i], SIGKILL);
    }
}

static void wait_for_something(const struct supervisor *s)
{
    bool feeding = s->walk && !s->job.board->closed && !s->stopped;
    const struct timespec pause = {.tv_nsec = feeding ? 5000000 : 100000000};

    ppoll(NULL, 0, &pause, &mask_before);
}

static uint64_t count_total(const struct options *o)
{
    struct walk *walk;
    uint64_t total = 0;

    if (o->generator.documents || !progress_wants_total())
        return o->generator.documents;
    walk = walk_new(o->paths);
    while (walk && walk_next(walk) && !stop_signals)
        total++;
    walk_free(walk);
    return total;
}

static void run(struct supervisor *s)
{
    const struct options *o = s->job.options;

    progress_start(&s->progress, count_total(o));
    for (unsigned i = 0; i < o->workers; i++)
        start_worker(s, i);
    while (s->alive) {
        feed(s);
        wait_for_something(s);
        obey(s);
        reap(s);
        progress_show(&s->progress, read_so_far(s));
    }
    progress_end(&s->progress, read_so_far(s));
}

static void sum_up(const struct supervisor *s, struct summary *summary)
{
    const struct board *board = s->job.board;

    *summary = (struct summary){.read = read_so_far(s),
                                .deaths = s->deaths,
                                .seconds = monotonic_seconds() - s->progress.started,
                                .undone = board->tail - board->head,
                                .interrupted = s->stopped > 0};
    for (unsigned i = 0; i < s->job.options->workers; i++) {
        const struct hand *hand = &board->hands[i];

        for (int verdict = VERDICT_CREATED; verdict <= VERDICT_REFUSED; verdict++)
            summary->count[verdict] += hand->count[verdict];
        summary->undone += hand->undone + (hand->state == HAND_BUSY);
        summary->lost += hand->lost;
        if (hand->peak_kib > summary->peak_kib)
            summary->peak_kib = hand->peak_kib;
    }
    if (s->walk)
        summary->folders_left = !board->closed || walk_failures(s->walk);
}

int supervise(const struct options *o, int stop_fd, int report_fd, struct summary *summary)
{
    struct supervisor s = {.job = {.options = o, .stop_fd = stop_fd, .report_fd = report_fd}};

    s.job.board = board_new(o->workers);
    if (!s.job.board) {
        fprintf(stderr, "documents: shared memory: %s\n", strerror(errno));
        return -1;
    }
    if (o->generator.documents)
        board_generated(s.job.board, o->generator.documents);
    else
        s.walk = walk_new(o->paths);
    run(&s);
    sum_up(&s, summary);
    walk_free(s.walk);
    board_free(s.job.board);
    return 0;
}
