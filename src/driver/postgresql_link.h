/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the PostgreSQL driver share: the link, and one trip to the server over it. */
#ifndef ROWLOCK_POSTGRESQL_LINK_H
#define ROWLOCK_POSTGRESQL_LINK_H

#include <stdbool.h>

#include "driver/driver.h"
#include "driver/postgresql_library.h"

#define PQ rowlock__postgresql

#define YUGABYTEDB "-YB-" /* stands in the version, as in 15.2-YB-2025.1.0.0-b1 */

#define ROWLOCK_PATIENCE_MS 2000    /* for the answer to a cancel request */
#define ROWLOCK_CANCEL_AGAIN_MS 300 /* and when it is sent once more */

/* One prepared statement of an own connection; its place in the cache makes its name. */
struct rowlock_prepared {
    const struct rowlock_statement *statement;
    bool ready;
    char name[30];
};

/* What one trip asks, in order. */
struct rowlock_step {
    const struct rowlock_statement *statement;
    struct rowlock_call *call; /* NULL: BEGIN, COMMIT, ROLLBACK */
    size_t prepared;           /* place in the cache, if the link prepares */
    bool parse;                /* prepared on this trip */
};

struct rowlock_link {
    PGconn *conn;
    const struct rowlock_dialect *dialect; /* YugabyteDB speaks by libpq too */
    bool borrowed;
    bool prepares; /* own, and not behind a pooler */
    bool dead;     /* given up, whatever libpq thinks */
    bool hung_up;  /* the server had closed before the present trip was sent */
    struct rowlock_prepared *cache;
    size_t cached;
    struct rowlock_step *steps; /* of the present trip */
    size_t n_steps, room;
    char farewell_state[6]; /* what the server said while nothing was asked, before it hung up */
    char farewell[200];
};

/* What went wrong on one trip. The first error counts; what follows is its echo. */
struct rowlock_trip {
    size_t failed;    /* the step; n_steps: none */
    bool lost;        /* no answer any more */
    bool told;        /* the server itself named the error */
    int reason;       /* ECANCELED, ETIMEDOUT: why the budget ended; 0: it did not */
    bool rolled_back; /* COMMIT was answered by ROLLBACK */
    char sqlstate[6];
    char text[400];
};

/* Adds a step. ENOMEM. */
int rowlock__pg_add(struct rowlock_link *link, const struct rowlock_statement *statement,
                    struct rowlock_call *call, struct rowlock_error *error);

/* Carries link->steps to the server in one round trip and fills `trip`. */
void rowlock__pg_travel(struct rowlock_link *link, const struct rowlock_budget *budget,
                        struct rowlock_trip *trip);

/* The same in the simple protocol: a script (n_steps 0), or the text of the only step. */
void rowlock__pg_script(struct rowlock_link *link, const char *text,
                        const struct rowlock_budget *budget, struct rowlock_trip *trip);

/* Connects by URL, sets the session up, and learns what is spoken there. */
int rowlock__pg_connect(struct rowlock_link *link, const char *url,
                        const struct rowlock_budget *budget, struct rowlock_error *error);

/* EINVAL if the handle is in use for something else; ECONN if it is lost. */
int rowlock__pg_usable(const struct rowlock_link *link, struct rowlock_error *error);

/* A request to cancel, sent by a thread of its own: PQcancel blocks while the server is frozen. */
struct rowlock_cancel;

/* NULL: it could not be started. */
struct rowlock_cancel *rowlock__pg_cancel(PGconn *conn);
/* Waits until the request has reached the server, so that it cannot hit a later statement. */
bool rowlock__pg_cancel_done(struct rowlock_cancel *cancel, int64_t deadline_ms);
void rowlock__pg_cancel_free(struct rowlock_cancel *cancel);

#endif
