/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's side of the stand-in. The process itself is run/supervise/stand_in_process.c. */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "guard/guard.h"
#include "system/command/calls.h"

/* The stand-in has a session of its own: the terminal sends it no signals, and a message to the
   terminal does not stop it. */
void stand_in_start(struct stand_in *stand_in, const struct guard_plan *plan)
{
    pid_t guard = getpid();
    int pair[2];

    if (stand_in->pid || !plan->stand_in)
        return;
    keep_standard_places(); /* the guard has closed input and output */
    if (message_pair(pair))
        return;
    stand_in->pid = fork();
    if (stand_in->pid == 0) {
        if (end_with_parent(guard) == 0) {
            setsid();
            plan->stand_in(plan->data, pair[1]);
        }
        _exit(STATUS_FAILED);
    }
    close(pair[1]);
    stand_in->fd = pair[0];
    if (stand_in->pid < 0) {
        stand_in->pid = 0;
        stand_in_end(stand_in);
    }
}

int stand_in_next(struct stand_in *stand_in, struct guard_order *out)
{
    ssize_t got;

    if (stand_in->fd < 0)
        return 0;
    got = recv(stand_in->fd, out, sizeof *out, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        stand_in_end(stand_in);
    return got == (ssize_t)sizeof *out;
}

/* Leaves the process to the guard's reap(). Waiting here would delay the end of the command,
   because a process that waits for a disk does not die at once. */
void stand_in_end(struct stand_in *stand_in)
{
    if (stand_in->fd >= 0)
        close(stand_in->fd);
    stand_in->fd = -1;
    if (stand_in->pid > 0)
        kill(stand_in->pid, SIGKILL);
    stand_in->pid = 0;
}
