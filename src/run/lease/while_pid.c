/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acquire --while-pid: keeps a lease for a process that rowlock does not supervise. Forks a keeper
 * before opening anything; it acquires, prints the token, detaches from the caller, and renews the
 * lease until that process has ended. The first process waits for the keeper's result, and returns.
 * So the pid that ls shows is the keeper's, and no connection crosses a fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "run/lease/take.h"
#include "run/supervise/ancestors.h"
#include "system/command/calls.h"
#include "system/command/processes.h"
#include "system/system.h"
#include "util/clock.h"

#define SAY_WHY_MS 200
#define MARGIN_MOST_MS 5000 /* the longest time from TERM to the end of the lease */

struct keeping {
    struct taking *taking;
    int process_fd; /* a pidfd of the process, never of a later one with the same pid */
    int caller_fd;  /* to the first process: our result, and its end */
    struct rowlock_wakeup lost;
    int timer_fd;              /* readable: its end is near */
    int log_fd;                /* the process's standard error, if that is a file; or -1 */
    int announced[KEPT_NAMES]; /* of while_pid_sockets.c */
    pid_t pid;
    char why[512]; /* the reason of the loss; set before `lost` is sent */
};

/* ---- the process ---------------------------------------------------------------------------- */

static int find_process(struct keeping *keeping)
{
    keeping->process_fd = process_descriptor(keeping->pid);
    if (keeping->process_fd >= 0 && process_signal(keeping->process_fd, 0) == 0)
        return STATUS_OK;
    if (errno == EPERM)
        message("--while-pid: you may not signal process %d, and it would not learn that the "
                "lease is lost",
                (int)keeping->pid);
    else if (errno == ENOSYS)
        message("--while-pid requires Linux 5.3 or later");
    else
        message("--while-pid: there is no process %d; in a script it is $$", (int)keeping->pid);
    return STATUS_USAGE;
}

static int has_ended(const struct keeping *keeping, int timeout_ms)
{
    return rowlock__is_readable(keeping->process_fd, timeout_ms);
}

/* ---- ties to the caller --------------------------------------------------------------------- */

/* From here on only the environment and the log are the caller's. */
static int detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || setsid() < 0 || chdir("/"))
        return -1;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null, fd) < 0)
            return -1;
    close(null);
    return 0;
}

/* Nonzero: the caller has ended, so no process has the token. */
static int report_status(const struct keeping *keeping, int status)
{
    return send(keeping->caller_fd, &status, sizeof status, MSG_NOSIGNAL) != sizeof status;
}

/* ---- keeping -------------------------------------------------------------------------------- */

static void on_lost(struct rowlock_lease *lease, const struct rowlock_error *why, void *data)
{
    struct keeping *keeping = data;

    (void)lease;
    snprintf(keeping->why, sizeof keeping->why, "%s", why->text);
    rowlock__wakeup_send(&keeping->lost);
}

/* Ends the process with TERM, after a message to the log and to its own standard error. That was
   opened by pid, and the process was still alive afterwards, so the descriptor is of this process
   and not of a later one. */
static void end_process(const struct keeping *keeping, const char *why)
{
    char text[4 * sizeof keeping->why];
    int refused = process_signal(keeping->process_fd, 0) && errno == EPERM, fd;
    const char *gets = refused ? "has changed its user and cannot be ended" : "gets TERM";

    escape_controls(why, text, sizeof text);
    syslog(LOG_USER | LOG_WARNING, "rowlock: process %d %s: %s", (int)keeping->pid, gets, text);
    if (keeping->log_fd >= 0) {
        message_to(keeping->log_fd, "process %d %s: %s", (int)keeping->pid, gets, why);
    } else if ((fd = process_errors(keeping->pid)) >= 0) {
        /* else it is closed, a socket, or another user's: the log has it */
        if (!has_ended(keeping, 0))
            message_to(fd, "process %d %s: %s", (int)keeping->pid, gets, why);
        close(fd);
    }
    process_signal(keeping->process_fd, SIGTERM);
}

enum keeping_end { PROCESS_ENDED, LEASE_LOST, TIME_OVER };

static enum keeping_end keep(const struct keeping *keeping)
{
    const struct rowlock_lease *lease = keeping->taking->holding.lease;
    struct pollfd fds[] = {{.fd = keeping->process_fd, .events = POLLIN},
                           {.fd = keeping->lost.fd, .events = POLLIN},
                           {.fd = keeping->taking->signals.fd, .events = POLLIN},
                           {.fd = keeping->timer_fd, .events = POLLIN},
                           {.fd = keeping->announced[0], .events = POLLIN},
                           {.fd = keeping->announced[1], .events = POLLIN}};
    int64_t margin = rowlock__least(keeping->taking->lock.ttl_ms / 4, MARGIN_MOST_MS), left;
    char why[512];
    int number;

    while ((left = rowlock_remaining(lease) - margin) > 0) {
        timer_set(keeping->timer_fd, rowlock__after(rowlock__now_ms(), left));
        if (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
            continue;
        if (fds[0].revents)
            return PROCESS_ENDED;
        if (fds[1].revents)
            return LEASE_LOST;
        announce_again(keeping->announced[0]);
        announce_again(keeping->announced[1]);
        while ((number = signals_next(keeping->taking->signals.fd, NULL))) {
            /* the lease is kept until the process has ended */
            snprintf(why, sizeof why, "the keeper of its lease of '%s' got signal %d",
                     keeping->taking->lock.wants[0].name, number);
            end_process(keeping, why);
        }
    }
    if (has_ended(keeping, 0))
        return PROCESS_ENDED;
    /* the remaining time is 0 for a lost lease, too: then on_lost will report the reason */
    return rowlock_remaining(lease) <= 0 && rowlock__is_readable(keeping->lost.fd, SAY_WHY_MS)
               ? LEASE_LOST
               : TIME_OVER;
}

/* ---- the two processes ----------------------------------------------------------------------- */

/* In the keeper, after the grant. An exit status. */
static int begin_to_keep(struct keeping *keeping)
{
    struct rowlock_error error = {0};

    /* After the grant neither of them may interrupt the database. */
    any_of_others(keeping->taking->interrupt_fd, keeping->process_fd);
    any_of_others(keeping->taking->interrupt_fd, keeping->caller_fd);
    announce_kept(keeping->pid, rowlock_token(keeping->taking->holding.lease), keeping->announced);
    keeping->timer_fd = timer_descriptor();
    if (rowlock__wakeup_open(&keeping->lost) || keeping->timer_fd < 0) {
        message("cannot create a file descriptor for the lease");
        return STATUS_FAILED;
    }
    return rowlock_auto_renew(keeping->taking->holding.lease, on_lost, keeping, &error)
               ? report(&error)
               : STATUS_OK;
}

/* Prints the token, and detaches. A signal before that was for the caller's whole process group:
   it ends the only process that would receive our result. */
static int hand_over(struct keeping *keeping)
{
    int status = print_token(keeping->taking), number;

    /* The process's later output must follow our message, which needs a shared file offset; so for
       a file we keep the caller's own descriptor. A pipe is not kept, because its reader would wait
       for us. */
    if (process_errors_are(keeping->pid, STDERR_FILENO))
        keeping->log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (!status && detach()) {
        message("cannot detach the keeper: %s", strerror(errno));
        status = STATUS_FAILED;
    }
    if (!status && (number = signals_next(keeping->taking->signals.fd, NULL)))
        status = -number;
    if (!status && report_status(keeping, STATUS_OK))
        status = STATUS_FAILED;
    if (status)
        return status;
    close(keeping->caller_fd);
    keeping->caller_fd = -1;
    return STATUS_OK;
}

static int keep_all_along(struct keeping *keeping)
{
    const struct lock_options *lock = &keeping->taking->lock;
    struct rowlock_lease *lease = keeping->taking->holding.lease;
    enum keeping_end ending = PROCESS_ENDED;
    int status = begin_to_keep(keeping);

    if (!status)
        status = hand_over(keeping);
    if (!status)
        ending = keep(keeping);
    if (ending == TIME_OVER)
        snprintf(keeping->why, sizeof keeping->why,
                 "the lease of '%s'%s could not be renewed in time; is the database unreachable?",
                 lock->wants[0].name, lock->n > 1 ? " and others" : "");
    if (ending != PROCESS_ENDED)
        end_process(keeping, keeping->why);
    /* The lease is lost, or about to be. If the process ends in time, the name is released. */
    if (ending == PROCESS_ENDED || has_ended(keeping, (int)lock->ttl_ms))
        rowlock_release(lease, NULL);
    return status;
}

static _Noreturn void be_keeper(struct keeping *keeping)
{
    struct taking *taking = keeping->taking;
    const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, keeping->process_fd,
                        keeping->caller_fd};
    char holder[256];
    int status = STATUS_FAILED;

    fflush(NULL);
    close_all_but(kept, sizeof kept / sizeof *kept);
    hide_memory();
    process_program(keeping->pid, holder, sizeof holder); /* as ls shows it */
    if (!*holder)
        strcpy(holder, "acquire");
    taking->holder = holder;
    taking->is_kept = 1;
    taking->interrupt_fd = -1;
    /* a signal, the end of the process, or that of our first process ends the wait */
    if (signals_open(&taking->signals) == 0)
        taking->interrupt_fd = any_of(
            (const int[]){taking->signals.wait_fd, keeping->process_fd, keeping->caller_fd}, 3);
    if (taking->interrupt_fd < 0)
        message("cannot create a file descriptor for waiting");
    else
        status = take_lease(taking);
    if (has_ended(keeping, 0) && !taking->holding.lease)
        message("--while-pid: process %d has ended meanwhile", (int)keeping->pid);
    if (taking->holding.lease && !status)
        status = keep_all_along(keeping);
    rowlock_lease_free(taking->holding.lease);
    rowlock_close(taking->holding.connection);
    if (keeping->caller_fd >= 0)
        report_status(keeping, status);
    _exit(0);
}

int acquire_while(struct taking *taking)
{
    struct keeping keeping = {
        .taking = taking, .pid = taking->pid, .lost = ROWLOCK_NO_WAKEUP, .log_fd = -1};
    int status = find_process(&keeping), pair[2];
    pid_t keeper;
    ssize_t got;

    if (status)
        return status;
    if (message_pair(pair) || (keeper = fork()) < 0) {
        message("cannot start the keeper: %s", strerror(errno));
        return STATUS_FAILED;
    }
    if (keeper == 0) {
        keeping.caller_fd = pair[1];
        close(pair[0]);
        be_keeper(&keeping);
    }
    close(pair[1]);
    close(keeping.process_fd);
    while ((got = recv(pair[0], &status, sizeof status, 0)) < 0 && errno == EINTR)
        ;
    if (got == sizeof status)
        return status;
    message("the keeper ended without a result");
    return STATUS_FAILED;
}
