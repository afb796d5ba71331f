/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

int signals_descriptor(const sigset_t *set)
{
    return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_report(int fd, const sigset_t *set)
{
    return signalfd(fd, set, SFD_CLOEXEC | SFD_NONBLOCK) < 0 ? -1 : 0;
}

int signals_next(int fd, int *by_kernel)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    if (by_kernel)
        *by_kernel = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}
