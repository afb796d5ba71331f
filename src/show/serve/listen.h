/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that serve listens on: 127.0.0.1:7420, [::1]:7420, localhost:7420 or unix:PATH. */
#ifndef ROWLOCK_SERVE_LISTEN_H
#define ROWLOCK_SERVE_LISTEN_H

#include <sys/types.h>

#define SERVE_ADDRESS "127.0.0.1:7420"

struct listening {
    int fd;
    int is_local;    /* a loopback address: the header Host must name this machine */
    char where[160]; /* "http://127.0.0.1:7420/", "unix:PATH" */
    char *path;      /* of a Unix socket */
    dev_t device;    /* its identity, because another server may have replaced it */
    ino_t inode;
};

/* Listens. Returns an exit status; prints a message if it fails. Refuses an address that other
   machines can reach, unless `allow_remote`. */
int listen_open(const char *address, int allow_remote, struct listening *out);
/* Removes a Unix socket. The descriptor may be closed already (-1). */
void listen_close(struct listening *listening);

#endif
