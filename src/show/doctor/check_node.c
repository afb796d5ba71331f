/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of doctor that need no database: the URL, /proc, process 1, systemd. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/guard.h"
#include "show/doctor/doctor.h"
#include "system/command/processes.h"
#include "system/system.h"
#include "util/clock.h"

/* ---- the URL --------------------------------------------------------------------------------- */

/* "//user:password@", or a parameter password= or PWD=. */
static int has_password(const char *url)
{
    const char *authority = strstr(url, "://"), *colon, *at;

    if (strcasestr(url, "password=") || strcasestr(url, "pwd="))
        return 1;
    authority = authority ? authority + 3 : "";
    at = memchr(authority, '@', strcspn(authority, "/?"));
    colon = strchr(authority, ':');
    return at && colon && colon < at - 1;
}

/* "mode 640, of root, readable by the group app" */
static void describe_file(const char *path, char *out, size_t size)
{
    struct stat is;
    const struct passwd *owner;
    const struct group *group;

    if (stat(path, &is)) {
        snprintf(out, size, "which has vanished");
        return;
    }
    owner = getpwuid(is.st_uid);
    group = getgrgid(is.st_gid);
    snprintf(out, size, "mode %03o, of %.60s%s%.60s", (unsigned)is.st_mode & 0777,
             owner ? owner->pw_name : "an unknown user",
             is.st_mode & S_IRGRP ? ", readable by the group " : "",
             !(is.st_mode & S_IRGRP) ? ""
             : group                 ? group->gr_name
                                     : "(unknown)");
}

void examine_url(struct doctor *doctor)
{
    const struct url *url = &doctor->url;
    char text[1024] = "", place[400], file[300], *other;

    message_keep(text, sizeof text);
    doctor->status = url_lookup(doctor->command->db, &doctor->url);
    message_keep(NULL, 0);
    if (doctor->status) {
        is_needed(doctor, "url");
        finding(doctor, "url", ROWLOCK_UNSAFE, "", "%s", text);
        return;
    }
    url_place(url, place, sizeof place);
    if (url->by_default) {
        finding(doctor, "url", ROWLOCK_WARNS,
                "name the farm's database: ROWLOCK_URL, or a file; or 'local' for this machine",
                "no database was named: %s is of this user on this machine only", url->text);
    } else if (strcmp(url->source, "--db") == 0 && has_password(url->text)) {
        finding(doctor, "url", ROWLOCK_WARNS,
                "keep the URL in a file of mode 600, and name it by ROWLOCK_URL_FILE",
                "--db, %s: its password was on the command line, for ps and the shell's history",
                place);
    } else if (strcmp(url->source, "--db") == 0) {
        finding(doctor, "url", ROWLOCK_SOUND, "", "--db, %s", place);
    } else if ((other = url_overridden(url))) {
        finding(doctor, "url", ROWLOCK_WARNS,
                "unset ROWLOCK_URL, or make both the same: locks in two databases do not exclude "
                "each other",
                "ROWLOCK_URL, %s: it overrides '%s', which names another database", place, other);
        free(other);
    } else if (strcmp(url->source, "ROWLOCK_URL") == 0) {
        finding(doctor, "url", ROWLOCK_SOUND, "",
                "ROWLOCK_URL, %s: in the environment, which root, this user's processes and "
                "commands can read",
                place);
    } else {
        describe_file(url->source, file, sizeof file);
        finding(doctor, "url", ROWLOCK_SOUND, "", "'%s' (%s), %s", url->source, file, place);
    }
}

/* ---- /proc and process 1 --------------------------------------------------------------------- */

void examine_proc(struct doctor *doctor)
{
    struct process self;
    struct tree tree;

    if (tree_signal(getpid(), 0, 0, &tree) || !process_read(getpid(), &self))
        finding(doctor, "proc", ROWLOCK_UNSAFE, "mount -t proc proc /proc",
                "there is no /proc of this PID namespace: the guard cannot find the processes of a "
                "command");
    else if (!processes_are_visible())
        finding(doctor, "proc", ROWLOCK_WARNS,
                "mount /proc without hidepid; in a systemd unit set ProtectProc=default",
                "processes of other users are hidden: the guard cannot find a command that "
                "changed its user");
    else
        finding(doctor, "proc", ROWLOCK_SOUND, "", "all processes are visible");
}

/* A process that removes dead children waits for SIGCHLD: it catches, blocks or ignores it. */
void examine_init(struct doctor *doctor)
{
    static const char advice[] = "start the container with an init: docker run --init, or tini";
    char name[32] = "";
    int waits = (handled_by_init(name) >> (SIGCHLD - 1) & 1) != 0;

    if (getpid() == 1)
        finding(doctor, "init", ROWLOCK_WARNS, advice,
                "rowlock is process 1: nothing removes dead processes after a killed guard");
    else if (!*name)
        finding(doctor, "init", ROWLOCK_SOUND, "", "process 1 is not visible");
    else if (!waits)
        finding(doctor, "init", ROWLOCK_WARNS, advice,
                "process 1, %s, does not wait for SIGCHLD: dead processes may remain", name);
    else
        finding(doctor, "init", ROWLOCK_SOUND, "", "process 1 is %s", name);
}

/* ---- systemd --------------------------------------------------------------------------------- */

/* The first line that systemctl prints; -1: it cannot be executed, or failed. */
static int ask_systemd(const char *unit, int user, char *out, size_t size)
{
    int pair[2], status;
    ssize_t got;
    pid_t pid;

    if (rowlock__pipe(pair))
        return -1;
    pid = fork();
    if (pid == 0) {
        dup2(pair[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDERR_FILENO);
        execlp("systemctl", "systemctl", user ? "--user" : "--system", "show",
               "--property=KillMode", "--value", "--", unit, (char *)NULL);
        _exit(STATUS_NOT_FOUND);
    }
    close(pair[1]);
    got = pid > 0 ? read(pair[0], out, size - 1) : -1;
    close(pair[0]);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && *out ? 0 : -1;
}

void examine_systemd(struct doctor *doctor)
{
    char unit[256], mode[64];
    int user;

    if (!find_service(unit, sizeof unit, &user))
        finding(doctor, "systemd", ROWLOCK_SOUND, "", "not in a service of systemd");
    else if (ask_systemd(unit, user, mode, sizeof mode))
        finding(doctor, "systemd", ROWLOCK_WARNS, "see that its unit has KillMode=mixed",
                "systemctl does not report the KillMode of %s", unit);
    else if (strcmp(mode, "mixed") != 0)
        finding(doctor, "systemd", ROWLOCK_WARNS,
                "set KillMode=mixed in its unit, and run systemctl daemon-reload",
                strcmp(mode, "control-group") == 0
                    ? "%s has KillMode=%s: a stop signals the command before rowlock can"
                    : "%s has KillMode=%s: processes of a command may outlive the service",
                unit, mode);
    else
        finding(doctor, "systemd", ROWLOCK_SOUND, "", "%s has KillMode=mixed", unit);
}

/* The check guard: starts the guard with a command that becomes a daemon, and lets it end both. */

#define LIMIT_MS 20000

/* Writes the daemon's pid to the pipe. All signals are blocked, as in a command that ignores them.
 */
static int become_daemon(void *data)
{
    const int *pipe_fd = data;
    pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (pid == 0) {
        setsid();
        pid = getpid();
        if (write(*pipe_fd, &pid, sizeof pid) != (ssize_t)sizeof pid)
            _exit(STATUS_FAILED);
    }
    for (;;)
        pause();
}

/* Until the last report, or the deadline. The order to end follows the daemon's start. */
static void follow(struct guard *guard, int pipe_fd, pid_t *daemon, struct guard_report *last)
{
    int64_t until = rowlock__now_ms() + LIMIT_MS;

    while (rowlock__now_ms() < until) {
        struct pollfd fds[2] = {{.fd = guard->fd, .events = POLLIN},
                                {.fd = *daemon ? -1 : pipe_fd, .events = POLLIN}};

        poll(fds, 2, (int)(until - rowlock__now_ms()));
        if (fds[1].revents && read(pipe_fd, daemon, sizeof *daemon) == (ssize_t)sizeof *daemon)
            guard_give(guard->fd, GUARD_END, 0);
        guard_next(guard, last);
        if (last->event == GUARD_ENDED || last->event == GUARD_GONE ||
            last->event == GUARD_NOT_STARTED || last->event == GUARD_NOT_EXECUTED)
            return;
    }
    last->event = GUARD_NOTHING;
}

static void judge(struct doctor *doctor, const struct guard_report *last, pid_t daemon,
                  int64_t took_ms)
{
    static const char advice[] = "allow fork, signalfd, timerfd, pidfd_open, prctl and /proc in "
                                 "this container or service";

    if (last->event == GUARD_NOT_STARTED || last->event == GUARD_NOT_EXECUTED)
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice, "the guard cannot start: %s",
                strerror(last->number));
    else if (last->event != GUARD_ENDED)
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice, "the guard was killed or does not react");
    else if (last->survivors.alive || (daemon && !tree_is_dead(daemon)))
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice,
                "a daemon of a command outlives it: it would work without the lock");
    else
        finding(doctor, "guard", ROWLOCK_SOUND, "", "it ended a command and its daemon in %d ms",
                (int)took_ms);
}

void examine_guard(struct doctor *doctor)
{
    struct guard guard;
    struct guard_report last = {.event = GUARD_NOT_STARTED};
    int64_t began = rowlock__now_ms();
    int pair[2];
    struct guard_plan plan = {.end_ms = ROWLOCK_NEVER,
                              .max_run_ms = -1,
                              .own_group = 1,
                              .dies_with_rowlock = 1,
                              .become = become_daemon,
                              .data = &pair[1]};
    pid_t daemon = 0;

    if (rowlock__pipe(pair))
        return;
    if (guard_start(&guard, &plan)) {
        last.number = errno;
        judge(doctor, &last, 0, 0);
    } else {
        follow(&guard, pair[0], &daemon, &last);
        if (last.event != GUARD_ENDED)
            guard_replace(&guard);
        guard_close(&guard);
        judge(doctor, &last, daemon, rowlock__now_ms() - began);
        if (daemon && !tree_is_dead(daemon))
            kill(daemon, SIGKILL);
    }
    close(pair[0]);
    close(pair[1]);
}
