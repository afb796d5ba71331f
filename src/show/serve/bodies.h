/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that are being sent. Requests that get the same answer share one copy, which is freed
   when the last client has read it. Only the thread that answers may use them. */
#ifndef ROWLOCK_SERVE_BODIES_H
#define ROWLOCK_SERVE_BODIES_H

#include "show/serve/answer.h"
#include "show/serve/library.h"

struct body;

struct bodies { /* begins as zeros */
    struct body *first;
};

/* Determines an answer: the same question, from the same views, of the same age in seconds. */
struct body_key {
    struct question question;
    int64_t all_ms, detail_ms, age_s;
    int code;
};

/* The key of the answer to `question` from `shown`. */
struct body_key body_key(const struct question *question, const struct shown *shown);

/* The answer, if it is being sent, and its status. */
struct MHD_Response *bodies_find(const struct bodies *bodies, const struct body_key *key,
                                 unsigned *status);
/* A copy of the answer, without headers; NULL: no memory, or clients that read slowly keep too
   many. */
struct MHD_Response *bodies_add(struct bodies *bodies, const struct serve_library *library,
                                const struct body_key *key, const struct answer *answer);

#endif
