/* SPDX-License-Identifier: Apache-2.0 */
/* One call of rowlock_acquire, as parameters of its statements: the wants, the owner, the terms. */
#ifndef ROWLOCK_REQUEST_H
#define ROWLOCK_REQUEST_H

#include "lease/machine/machine.h"
#include "lock/wants.h"
#include "session/connection.h"
#include "util/random.h"

#define ROWLOCK_DECLINED 1 /* an error code is negative */

/*
 * Runs in the transaction of a grant, before its COMMIT. ROWLOCK_OK grants the lease.
 * ROWLOCK_DECLINED rolls back without an error: the caller needs no lease any more. An error code
 * rolls back, and the call ends with it. After a lost reply the hook may find its own work done; it
 * recognizes that by the token.
 */
typedef int rowlock_grant_hook(void *data, struct rowlock_connection *connection, int64_t token,
                               struct rowlock_error *error);

/* A retry after a lost reply sends the same request, and by its owner finds its own grant. */
struct rowlock_request {
    struct rowlock_connection *connection;
    struct rowlock_want *want; /* sorted by the names' bytes, each once; names are the caller's */
    size_t n;
    char *packed; /* dialect.h, "lease wants" */
    size_t length;
    char owner[ROWLOCK_OWNER_SIZE];
    char host[256];
    int64_t ttl_ms;
    int64_t pid, keeper_pid;    /* of the waiter; of the holder later, 0: none */
    const char *command, *note; /* ours; NULL: none */
    rowlock_grant_hook *hook;   /* NULL: none */
    void *hook_data;
};

/* This node's host name as UTF-8, truncated to `size`; "" if the system has none. */
void rowlock__host(char *out, size_t size);

/* Checks and sorts the requests; creates the owner id. EINVAL, ENOMEM; always clear it. */
int rowlock__request_init(struct rowlock_request *request, struct rowlock_connection *connection,
                          const struct rowlock_want *wants, size_t n,
                          const struct rowlock_terms *terms, struct rowlock_error *error);
/* rowlock_acquire with a hook (NULL: none). After ROWLOCK_DECLINED it succeeds, and
   `*out` is NULL. */
int rowlock__acquire_with(struct rowlock_connection *connection, const struct rowlock_want *wants,
                          size_t n, const struct rowlock_terms *terms, rowlock_grant_hook *hook,
                          void *hook_data, struct rowlock_lease **out, struct rowlock_error *error);
/* 0, or EINVAL with the reason: a ttl is from one second to 100 years. */
int rowlock__ttl_check(int64_t ttl_ms, struct rowlock_error *error);
/* Frees the request's texts; the caller's names stay. */
void rowlock__request_clear(struct rowlock_request *request);

/* From the row of a refusal, for the error's text. */
struct rowlock_refused {
    char name[256];   /* the name in conflict; "" */
    char detail[300]; /* "" */
};

/*
 * Performs one step of the machine that talks to the database (not PAUSE, RECONNECT, DONE) and
 * fills the reply; a failure is in the reply's code too. Leaves no transaction open. `deadline_ms`:
 * of the whole call; a step's own limit ends it earlier. Returns reply->code.
 */
int rowlock__execute(struct rowlock_request *request, const struct rowlock_step *step,
                     int64_t deadline_ms, struct rowlock_reply *reply,
                     struct rowlock_refused *refused, struct rowlock_error *error);

/* After a failed grant or enqueue on a live session: releases the session locks that it left. It
   cannot be interrupted, and reports no error. */
void rowlock__session_unlock_lost(struct rowlock_connection *connection);

#endif
