/* SPDX-License-Identifier: Apache-2.0 */
#include "command/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "command/output/output.h"
#include "system/command/calls.h"

#define SEND_S 5

/* 0: it names no Unix socket. An abstract socket is written with '@' for its leading zero byte. */
static socklen_t address_of(const char *name, struct sockaddr_un *out)
{
    size_t length = name ? strlen(name) : 0;

    if (length < 2 || length >= sizeof out->sun_path || (*name != '/' && *name != '@'))
        return 0;
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, name, length);
    if (*name == '@')
        out->sun_path[0] = '\0';
    else
        length++; /* the zero byte that ends a path */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static int64_t number_in(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long long number;

    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    number = strtoll(text, &end, 10);
    return *end || errno ? -1 : number;
}

static void report_failure(struct notify *notify, const char *reason)
{
    if (!notify->has_failed)
        message("cannot report to the service manager (NOTIFY_SOCKET): %s", reason);
    notify->has_failed = 1;
}

void notify_open(struct notify *notify)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct timeval most = {.tv_sec = SEND_S};
    int64_t usec = number_in("WATCHDOG_USEC");

    *notify = (struct notify){.fd = -1};
    notify->length = address_of(name, &notify->address);
    if (notify->length) {
        notify->fd = unix_socket(SOCK_DGRAM);
        if (notify->fd < 0)
            report_failure(notify, strerror(errno));
        else
            setsockopt(notify->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        /* WATCHDOG_PID must be our pid: a parent may have left us variables that were meant for
           it. */
        if (usec > 0 && (!getenv("WATCHDOG_PID") || number_in("WATCHDOG_PID") == getpid()))
            notify->alive_every_ms = usec < 2000 ? 1 : usec / 2000;
    } else if (name && *name) {
        report_failure(notify, "not a Unix socket");
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_send(struct notify *notify, const char *lines)
{
    ssize_t sent;

    if (notify->fd < 0)
        return;
    do
        sent = sendto(notify->fd, lines, strlen(lines), MSG_NOSIGNAL,
                      (const struct sockaddr *)&notify->address, notify->length);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        report_failure(notify, strerror(errno));
}

void notify_reloading(struct notify *notify)
{
    struct timespec now;
    char lines[80];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify_send(notify, lines);
}

void notify_close(struct notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}
