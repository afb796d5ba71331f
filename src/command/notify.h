/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports to the service manager, by the datagrams that sd_notify(3) documents. A daemon calls
 * notify_open() once, before it starts processes. Without NOTIFY_SOCKET no call has an effect.
 */
#ifndef ROWLOCK_NOTIFY_H
#define ROWLOCK_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The connection to the service manager; only the functions below use it. */
struct notify {
    int fd; /* of our own unnamed socket; -1: there is no manager */
    struct sockaddr_un address;
    socklen_t length;
    int64_t alive_every_ms; /* half of the watchdog's time; 0: there is no watchdog */
    int has_failed;         /* a failure was reported: the next ones are not */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment:
   processes that the daemon starts must not speak for it. */
void notify_open(struct notify *notify);
/* One datagram of lines VARIABLE=VALUE, such as "READY=1\nSTATUS=2 jobs". Waits at most 5 s for a
   manager that does not read. A failure prints a message, the first time. */
void notify_send(struct notify *notify, const char *lines);
/* The daemon begins to read its configuration again; READY=1 ends that. Sends the time, too, which
   Type=notify-reload needs. */
void notify_reloading(struct notify *notify);
void notify_close(struct notify *notify);

#endif
