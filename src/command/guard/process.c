/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard itself. All signals are blocked in it: nothing but KILL and STOP of somebody else's
 * touches it. It writes nothing that could block it before its work is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "command/guard/guard.h"
#include "command/signals.h"
#include "util/clock.h"

#define MOST_DESCRIPTORS 65536 /* to close one by one on old kernels */
#define LOOK_AGAIN_MS 20       /* between two looks at what does not die at once */
#define DYING_MS 300           /* so long may those take that died with the command */
#define HOPELESS_LOOKS 50      /* after so many we leave alone what we may not signal */

struct watchman {
    const struct guard_plan *plan;
    int fd, timer_fd, child_fd;
    int begin_fd; /* the command's process waits for a byte from it, or its end */
    pid_t command;
    int began;       /* it may have executed */
    int reaped, how; /* the command */
    int64_t end_ms, over_ms;
    int ending, orphaned;
    enum guard_cause cause;
    int64_t kill_ms; /* while ending */
    int looks;       /* in vain, since KILL */
    int stopped;     /* the command */
    struct stand_in stand_in;
};

static void report_event(const struct watchman *man, enum guard_event event, int number)
{
    struct guard_report report = {
        .event = event, .number = number, .cause = man->cause, .command = man->command};

    send(man->fd, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- ending ------------------------------------------------------------------------------------------ */

/* Its number is the command's as long as we have not taken note of its end. */
static pid_t group_of_command(const struct watchman *man)
{
    return man->plan->own_group && !man->reaped ? man->command : 0;
}

static void tell_all(const struct watchman *man, int number)
{
    pid_t group = group_of_command(man);
    struct tree tree;

    if (group)
        kill(-group, number);
    if (tree_signal(getpid(), number, group, &tree) && !man->reaped)
        kill(man->command, number);
}

static void close_begin(struct watchman *man)
{
    if (man->begin_fd >= 0)
        close(man->begin_fd);
    man->begin_fd = -1;
}

/* TERM once: what a command starts to clean up behind itself is left in peace until KILL. */
static void begin_ending(struct watchman *man, enum guard_cause cause)
{
    if (man->ending)
        return;
    stand_in_end(&man->stand_in);
    man->ending = 1;
    man->cause = cause;
    man->kill_ms = rowlock__after(rowlock__now_ms(), man->plan->kill_after_ms);
    if (man->kill_ms > man->end_ms)
        man->kill_ms = man->end_ms;
    report_event(man, GUARD_ENDING, 0);
    close_begin(man);
    tell_all(man, SIGTERM);
    tell_all(man, SIGCONT);
}

/* KILL, again and again: what is born between two looks meets the next. */
static void kill_all(struct watchman *man)
{
    pid_t group = group_of_command(man);
    struct tree tree;

    if (group)
        kill(-group, SIGKILL);
    man->looks++;
    if (tree_signal(getpid(), SIGKILL, 0, &tree) == 0 && tree.alive > tree.refused)
        man->looks = 0;
    man->kill_ms = rowlock__after(rowlock__now_ms(), LOOK_AGAIN_MS);
}

/* ---- children ---------------------------------------------------------------------------------------- */

static void take_change(struct watchman *man, int how)
{
    man->stopped = WIFSTOPPED(how);
    if (man->stopped) {
        if (!man->ending)
            stand_in_start(&man->stand_in, man->plan);
        report_event(man, GUARD_STOPPED, WSTOPSIG(how));
    } else if (WIFCONTINUED(how)) {
        report_event(man, GUARD_CONTINUED, 0);
    } else {
        stand_in_end(&man->stand_in);
        man->reaped = 1;
        man->how = how;
    }
}

/* Takes note of all that ended; 1: nobody is left, and as orphans come to us, no descendant is. */
static int reap(struct watchman *man)
{
    struct signalfd_siginfo info;
    int how;
    pid_t pid;

    while (read(man->child_fd, &info, sizeof info) == (ssize_t)sizeof info)
        ;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED | WCONTINUED)) > 0)
        if (pid == man->command && !man->reaped)
            take_change(man, how);
        else if (pid == man->stand_in.pid && (WIFEXITED(how) || WIFSIGNALED(how)))
            man->stand_in.pid = 0;
    return pid < 0 && errno == ECHILD;
}

/* What the command left behind by its own end; those that are dying get the time to do so. */
static struct tree survivors(struct watchman *man)
{
    int64_t until = rowlock__now_ms() + DYING_MS;
    struct pollfd children = {.fd = man->child_fd, .events = POLLIN};
    struct tree tree = {0};

    while (!reap(man)) {
        if (rowlock__now_ms() >= until) {
            if (tree_signal(getpid(), 0, 0, &tree))
                tree.alive = 0;
            break;
        }
        poll(&children, 1, LOOK_AGAIN_MS);
    }
    return tree;
}

/* ---- orders ------------------------------------------------------------------------------------------ */

static void pass_on(const struct watchman *man, const struct guard_order *order)
{
    pid_t group = group_of_command(man);

    if (!man->reaped)
        kill(order->to_group && group ? -group : man->command, order->number);
}

static void extend(struct watchman *man, const struct guard_order *order)
{
    if (!man->ending && order->end_ms > man->end_ms)
        man->end_ms = order->end_ms;
}

static void answer(const struct watchman *man)
{
    struct guard_report report = {.event = GUARD_UNTIL, .end_ms = man->end_ms};

    send(man->fd, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The stand-in renews until rowlock itself has renewed again: it may wake later than the command. */
static void obey(struct watchman *man, const struct guard_order *order)
{
    switch (order->kind) {
    case GUARD_BEGIN:
        if (man->begin_fd >= 0 && write(man->begin_fd, "", 1) == 1) {
            man->began = 1;
            close_begin(man);
        }
        break;
    case GUARD_EXTEND:
        extend(man, order);
        if (!man->stopped)
            stand_in_end(&man->stand_in);
        break;
    case GUARD_ASK:
        answer(man);
        break;
    case GUARD_SIGNAL:
        pass_on(man, order);
        break;
    case GUARD_END:
        begin_ending(man, GUARD_LOCK_OVER);
        break;
    case GUARD_STOP:
        begin_ending(man, GUARD_TOLD);
        break;
    }
}

static void lose_rowlock(struct watchman *man)
{
    man->orphaned = 1;
    begin_ending(man, GUARD_LOCK_OVER);
    if (man->plan->dies_with_rowlock)
        man->kill_ms = 0;
}

static void read_orders(struct watchman *man)
{
    struct guard_order order;
    ssize_t got;

    while ((got = recv(man->fd, &order, sizeof order, MSG_DONTWAIT)) == (ssize_t)sizeof order)
        obey(man, &order);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        lose_rowlock(man);
    while (stand_in_next(&man->stand_in, &order)) {
        if (order.kind == GUARD_EXTEND)
            extend(man, &order);
        else
            begin_ending(man, GUARD_LOCK_OVER);
    }
}

/* ---- time -------------------------------------------------------------------------------------------- */

static int64_t stop_instant(const struct watchman *man)
{
    int64_t stop = man->end_ms;

    if (stop != ROWLOCK_NEVER)
        stop -= man->plan->kill_after_ms;
    return stop < man->over_ms ? stop : man->over_ms;
}

/* Not poll()'s time-out, which does not count while the machine sleeps. */
static void set_timer(const struct watchman *man)
{
    int64_t at = man->ending ? man->kill_ms : stop_instant(man);
    struct itimerspec when = {0};

    if (at < 1)
        at = 1; /* 0 would stop the timer */
    if (at != ROWLOCK_NEVER)
        when.it_value =
            (struct timespec){.tv_sec = (time_t)(at / 1000), .tv_nsec = at % 1000 * 1000000};
    timerfd_settime(man->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void look_at_clock(struct watchman *man)
{
    int64_t now = rowlock__now_ms();

    if (!man->ending && now >= stop_instant(man))
        begin_ending(man, man->over_ms <= stop_instant(man) ? GUARD_TIME_OVER : GUARD_LOCK_OVER);
    if (man->ending && now >= man->kill_ms)
        kill_all(man);
}

/* ---- the loop ---------------------------------------------------------------------------------------- */

static void await(const struct watchman *man)
{
    struct pollfd fds[] = {{.fd = man->child_fd, .events = POLLIN},
                           {.fd = man->timer_fd, .events = POLLIN},
                           {.fd = man->orphaned ? -1 : man->fd, .events = POLLIN},
                           {.fd = man->stand_in.fd, .events = POLLIN}};

    set_timer(man);
    poll(fds, sizeof fds / sizeof *fds, -1);
}

/* Orders count before the clock: a deadline that was extended in time has not passed. So does the
   command's end: what is dead when we come to look, however late, need not be ended. */
static struct tree watch_over(struct watchman *man)
{
    for (;;) {
        int alone;

        if (!man->orphaned)
            read_orders(man);
        alone = reap(man);
        if (man->ending ? alone || man->looks > HOPELESS_LOOKS : man->reaped)
            return survivors(man);
        look_at_clock(man);
        await(man);
    }
}

/* ---- the beginning ----------------------------------------------------------------------------------- */

static void close_between(int from, int to)
{
    if (from > to)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)from, (unsigned)to, 0) == 0)
        return;
#endif
    for (int fd = from; fd <= to && fd < MOST_DESCRIPTORS; fd++)
        close(fd);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Nobody's end of a pipe is kept open by us, but for standard error, to say why it all ended. */
static void keep_only_ours(const struct watchman *man)
{
    int keep[] = {STDERR_FILENO, man->fd, man->timer_fd, man->child_fd, man->begin_fd};
    size_t n = sizeof keep / sizeof *keep;
    int next = 0;

    qsort(keep, n, sizeof *keep, ascending);
    for (size_t i = 0; i < n; i++) {
        close_between(next, keep[i] - 1);
        next = keep[i] + 1;
    }
    close_between(next, INT_MAX);
}

/* All signals are blocked until then: one that comes twice meanwhile is one. */
static int may_begin(int fd)
{
    char byte;
    int may = read(fd, &byte, 1) == 1;

    close(fd);
    return may;
}

static _Noreturn void run_command(const struct watchman *man, pid_t guard, int begin_fd)
{
    struct guard_report failure = {.event = GUARD_NOT_EXECUTED};

    if (man->plan->own_group)
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the guard itself be killed */
    close(man->begin_fd);
    if (getppid() != guard)
        _exit(STATUS_FAILED);
    if (!may_begin(begin_fd))
        die_by(SIGTERM); /* as it would have, had it begun */
    failure.number = man->plan->become(man->plan->data);
    send(man->fd, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(failure.number == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE);
}

static int start_command(struct watchman *man)
{
    pid_t guard = getpid();
    int pair[2];

    if (rowlock__now_ms() >= stop_instant(man)) { /* the machine slept, or we did */
        man->cause = GUARD_LOCK_OVER;
        man->reaped = 1;
        return 0;
    }
    if (pipe2(pair, O_CLOEXEC))
        return errno;
    man->begin_fd = pair[1];
    man->command = fork();
    if (man->command == 0)
        run_command(man, guard, pair[0]);
    if (man->command < 0)
        return errno;
    if (man->plan->own_group)
        setpgid(man->command, man->command); /* whoever comes first */
    report_event(man, GUARD_STARTED, 0);
    return 0;
}

/* A group of its own: a KILL to the caller's whole group must not take the guard, too. */
static int become_guard(struct watchman *man)
{
    sigset_t all, children;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    prctl(PR_SET_NAME, "rowlock-guard");
    prctl(PR_SET_DUMPABLE, 0);
    man->child_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    man->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (man->child_fd < 0 || man->timer_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1))
        return errno;
    return 0;
}

static void say_why(const struct watchman *man)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (man->orphaned && poll(&error, 1, 0) == 1 && error.revents == POLLOUT)
        message("rowlock itself was killed: the command was ended");
}

void guard_run(const struct guard_plan *plan, int fd)
{
    struct watchman man = {.plan = plan,
                           .fd = fd,
                           .begin_fd = -1,
                           .stand_in = {.fd = -1},
                           .end_ms = plan->end_ms,
                           .over_ms = rowlock__after(rowlock__now_ms(), plan->max_run_ms)};
    struct guard_report last = {.event = GUARD_ENDED};
    int why = become_guard(&man);

    if (!why)
        why = start_command(&man);
    if (why) {
        report_event(&man, GUARD_NOT_STARTED, why);
        _exit(STATUS_FAILED);
    }
    setpgid(0, 0);
    keep_only_ours(&man);
    last.survivors = watch_over(&man);
    last.number = man.how;
    last.cause = man.cause;
    last.command = man.command;
    last.began = man.began;
    send(fd, &last, sizeof last, MSG_NOSIGNAL);
    say_why(&man);
    _exit(STATUS_OK);
}
