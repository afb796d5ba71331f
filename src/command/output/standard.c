/* SPDX-License-Identifier: Apache-2.0 */
/* The standard descriptors: closed ones stay closed, and a result without a reader is an error. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"

/* The descriptor that keeps the place cannot be written to, as a closed one cannot. exec closes it
   for the caller's command. */
void keep_standard_places(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd > STDERR_FILENO)
        close(fd);
}

int check_output(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    int flags = fcntl(STDOUT_FILENO, F_GETFL);

    signal(SIGPIPE, SIG_IGN);
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
        (poll(&output, 1, 0) < 0 || !(output.revents & (POLLERR | POLLNVAL))))
        return STATUS_OK;
    message("standard output has no reader: nothing was done");
    return STATUS_FAILED;
}

int finish_output(void)
{
    int failed;

    errno = 0;
    failed = fflush(stdout) || ferror(stdout);
    if (!failed)
        return STATUS_OK;
    message("cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
    return STATUS_FAILED;
}

int out_of_memory(void)
{
    message("out of memory");
    return STATUS_FAILED;
}

/* The terminal on standard output, if any. */

int terminal_is_coloured(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

size_t terminal_columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
