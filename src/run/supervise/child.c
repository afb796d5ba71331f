/* SPDX-License-Identifier: Apache-2.0 */
/* The command's process, between fork and exec. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run/supervise/ancestors.h"
#include "run/supervise/child.h"
#include "run/supervise/pass_output.h"
#include "run/supervise/run_options.h"
#include "system/command/calls.h"

#define MOST_DESCRIPTORS 1024

struct descriptors {
    nfds_t n;
    unsigned char open[MOST_DESCRIPTORS];
};

/* One poll() tells which descriptors are open. */
struct descriptors *descriptors_of_caller(void)
{
    struct descriptors *out = malloc(sizeof *out);
    struct pollfd fds[MOST_DESCRIPTORS];
    struct rlimit limit;

    if (!out)
        return NULL;
    out->n = MOST_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < out->n)
        out->n = (nfds_t)limit.rlim_cur;
    for (nfds_t i = 0; i < out->n; i++)
        fds[i] = (struct pollfd){.fd = (int)i};
    while (poll(fds, out->n, 0) < 0 && errno == EINTR)
        ;
    for (nfds_t i = 0; i < out->n; i++)
        out->open[i] = !(fds[i].revents & POLLNVAL);
    return out;
}

int fill_standard_descriptors(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), failed = null < 0;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !failed; fd++)
        if (fcntl(fd, F_GETFD) != 0) /* closed, or what main put there: exec would close it */
            failed = dup2(null, fd) < 0;
    if (null > STDERR_FILENO)
        close(null);
    return failed ? -1 : 0;
}

/* A client library may open a socket without FD_CLOEXEC: hides every descriptor that the caller did
   not pass. */
void hide_ours(const struct descriptors *callers)
{
    for (nfds_t from = 3, to; from < callers->n; from = to + 1) {
        for (to = from; to < callers->n && !callers->open[to]; to++)
            ;
        if (to > from)
            close_range_on_exec((int)from, (int)to);
    }
}

/* Like a shell's message, with PATH: under cron it is short, which is the usual reason. */
void say_not_executed(const char *program, int number)
{
    const char *path = getenv("PATH");

    if (number == ENOENT && !strchr(program, '/'))
        message("%s: command not found; PATH is %s", shown(program), path ? path : "not set");
    else if (number == ENOENT && access(program, F_OK) == 0)
        message("%s: cannot execute: the interpreter that its first line names does not exist",
                shown(program));
    else
        message("%s: %s", shown(program), strerror(number));
}

/* The output that is kept also holds the reason why the command did not run. */
int become_command(void *data)
{
    const struct child *child = data;
    const struct run *run = child->run;
    int number = 0;

    if (child->output && output_become(child->output))
        number = errno;
    if (!number)
        hide_ours(child->callers);
    if (!number && set_environment(run->lock.wants, run->lock.n, child->holding))
        number = ENOMEM;
    if (!number) {
        signals_give_back(child->signals);
        execvp(run->argv[0], run->argv);
        number = errno;
    }
    if (child->output) {
        signal(SIGPIPE, SIG_IGN); /* rowlock, which reads the output, may be gone */
        say_not_executed(run->argv[0], number);
    }
    return number;
}
