/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/process.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int process_descriptor(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int process_signal(int process_fd, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, process_fd, number, NULL, 0);
}

/* Asks for the parent again after the first call, because it may have ended before. */
int end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent ? 0 : -1;
}

void wake_without_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGCONT);
}

int adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void hide_memory(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

void name_this_process(const char *name)
{
    prctl(PR_SET_NAME, name);
}

char *called_as(void)
{
    return program_invocation_name;
}

void execute_again(char *const argv[])
{
    execv(THIS_PROGRAM, argv);
}
