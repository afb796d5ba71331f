/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP by libmicrohttpd, on one thread of its own. A request that needs a new view is suspended
 * until the source has asked the database, so that one thread serves every viewer, and none waits
 * longer than a few seconds for a database that hangs.
 */
#ifndef ROWLOCK_SERVE_HTTP_H
#define ROWLOCK_SERVE_HTTP_H

#include "command/serve/listen.h"
#include "command/serve/source.h"

struct http;

/* NULL, after a message. `listening` stays the caller's. Call http_start() before requests are
   answered. */
struct http *http_open(const struct listening *listening, int may_probe);
/* Begins to answer. An exit status, after a message. */
int http_start(struct http *http, struct source *source);
/* A function for source_open(), with this as its data: answers the suspended requests. */
void http_wake(void *http);
/* Answers the suspended requests, and closes the connections, whose time has passed. */
void http_expire(struct http *http);
/* Answers no further requests, and ends the thread. Accepts NULL. */
void http_stop(struct http *http);
void http_free(struct http *http);

#endif
