/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP by libmicrohttpd, on one thread of its own. A request that needs a new view is suspended
 * until the source has asked the database, so that one thread serves every viewer. No viewer waits
 * more than a few seconds for a database that hangs.
 */
#ifndef ROWLOCK_SERVE_HTTP_H
#define ROWLOCK_SERVE_HTTP_H

#include <sys/types.h>

#include "show/serve/access.h"
#include "show/serve/source.h"

/* The socket that serve listens on: 127.0.0.1:7420, [::1]:7420, localhost:7420 or unix:PATH. */

#define SERVE_ADDRESS "127.0.0.1:7420"

/* The caller keeps it until http_free(), and closes it by listen_close(). */
struct listening {
    int fd;
    int is_local;    /* a loopback address: the header Host must name this machine */
    char port[8];    /* "" of a Unix socket */
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

struct http;

/* Prepares the server. Returns NULL after a message. `listening` and the texts of the options stay
   the caller's. It answers nothing before http_start(). */
struct http *http_open(const struct listening *listening, int may_probe,
                       const struct access_options *options);
/* Begins to answer. Returns an exit status; prints a message if it fails. */
int http_start(struct http *http, struct source *source);
/* Answers the suspended requests: the function for source_open(), with `http` as its data. */
void http_wake(void *http);
/* Answers the suspended requests whose time has passed, and closes the connections whose time has
   passed. */
void http_expire(struct http *http);
/* Answers no further requests, and ends the thread. Accepts NULL. */
void http_stop(struct http *http);
/* Frees the server. Call http_stop() before, which closes its connections. Accepts NULL. */
void http_free(struct http *http);

#endif
