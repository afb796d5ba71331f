/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the PostgreSQL driver: the link, and one round trip to the
   server over it. */
#ifndef ROWLOCK_POSTGRESQL_LINK_H
#define ROWLOCK_POSTGRESQL_LINK_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>

#include "driver/driver.h"
#include "driver/library.h"
#include "rowlock.h"

/* The functions of libpq (14 or later) that the driver uses, loaded on first use. */

#define ROWLOCK_POSTGRESQL_FUNCTIONS(XX) \
    XX(PQpipelineStatus)                 \
    XX(PQenterPipelineMode)              \
    XX(PQexitPipelineMode)               \
    XX(PQpipelineSync)                   \
    XX(PQconninfoParse)                  \
    XX(PQconninfoFree)                   \
    XX(PQfreemem)                        \
    XX(PQconnectStartParams)             \
    XX(PQconnectPoll)                    \
    XX(PQfinish)                         \
    XX(PQparameterStatus)                \
    XX(PQstatus)                         \
    XX(PQtransactionStatus)              \
    XX(PQsocket)                         \
    XX(PQbackendPID)                     \
    XX(PQconnectionNeedsPassword)        \
    XX(PQerrorMessage)                   \
    XX(PQsetErrorVerbosity)              \
    XX(PQsetNoticeReceiver)              \
    XX(PQisnonblocking)                  \
    XX(PQsetnonblocking)                 \
    XX(PQflush)                          \
    XX(PQconsumeInput)                   \
    XX(PQisBusy)                         \
    XX(PQgetResult)                      \
    XX(PQsendQuery)                      \
    XX(PQsendPrepare)                    \
    XX(PQsendQueryPrepared)              \
    XX(PQsendQueryParams)                \
    XX(PQresultStatus)                   \
    XX(PQresultErrorField)               \
    XX(PQntuples)                        \
    XX(PQnfields)                        \
    XX(PQgetvalue)                       \
    XX(PQgetlength)                      \
    XX(PQftype)                          \
    XX(PQunescapeBytea)                  \
    XX(PQgetisnull)                      \
    XX(PQcmdTuples)                      \
    XX(PQcmdStatus)                      \
    XX(PQclear)                          \
    XX(PQgetCancel)                      \
    XX(PQcancel)                         \
    XX(PQlibVersion)                     \
    XX(PQfreeCancel)

struct rowlock_postgresql_library {
    ROWLOCK_POSTGRESQL_FUNCTIONS(ROWLOCK_LIBRARY_MEMBER)
};

/* Valid after rowlock__load, which every open() calls. Called as PQ.PQstatus(...). */
extern struct rowlock_postgresql_library rowlock__postgresql;
extern struct rowlock_library rowlock__postgresql_client;

#define PQ rowlock__postgresql

#define YUGABYTEDB "-YB-" /* in its version string, as in 15.2-YB-2025.1.0.0-b1 */

/* One prepared statement of an own connection; its index in the cache is part of its name. */
struct rowlock_prepared {
    const struct rowlock_statement *statement; /* NULL: its result changed; never used again */
    bool ready;                                /* the server knows it */
    char name[30];                             /* "rowlock_0" */
};

/* One step of a round trip, and so one answer of the server; two, if `parse`. */
struct rowlock_step {
    const struct rowlock_statement *statement;
    struct rowlock_call *call; /* NULL: BEGIN, COMMIT, ROLLBACK */
    size_t prepared;           /* index in the cache, if the link prepares */
    bool parse;                /* prepared in this round trip */
};

/* A session; open() makes it. One thread uses it at a time. The steps are emptied and filled
   for each round trip; the cache lasts as long as the session. */
struct rowlock_link {
    PGconn *conn;
    const struct rowlock_dialect *dialect; /* PostgreSQL's or YugabyteDB's */
    bool borrowed;    /* the caller's handle: never closed, nothing prepared on it */
    bool prepares;    /* own, and not behind a pooler */
    bool dead;        /* given up, whatever libpq reports */
    bool alone;       /* ROWLOCK_ALONE */
    bool hung_up;     /* the server had closed before the current round trip was sent */
    char product[40]; /* the beginning of its version(), of an own session; "": not asked */
    bool unconfirmed; /* a COMMIT of the current round trip is not on the synchronous standby */
    struct rowlock_prepared *cache;
    size_t cached;
    struct rowlock_step *steps; /* of the current round trip */
    size_t n_steps, room;
    char farewell_state[6]; /* the server's last message on an idle session, before it closed */
    char farewell[200];
};

/* The failure of one round trip. Only the first error counts; later ones follow from it. */
struct rowlock_round_trip {
    size_t failed;    /* the step; n_steps: none */
    bool lost;        /* the connection is lost */
    bool reported;    /* the server itself reported the error */
    int reason;       /* ECANCELED, ETIMEDOUT: why the budget ended; 0: it did not */
    bool rolled_back; /* COMMIT was answered by ROLLBACK */
    char sqlstate[6];
    char text[400];
};

/* Adds a step to link->steps, which the caller has emptied by n_steps = 0. `call`, NULL for a
   statement without parameters and rows, must stay until the round trip has ended. ENOMEM. */
int rowlock__pg_add(struct rowlock_link *link, const struct rowlock_statement *statement,
                    struct rowlock_call *call, struct rowlock_error *error);

/* Sends link->steps to the server in one round trip, and passes their rows; `round_trip` receives
   its failure. Blocks until all answers are there. At the end of the budget it sends a cancel, and
   repeats that; a server that does not answer by then (rowlock__give_up_ms) is given up: `lost`,
   and the link is dead. */
void rowlock__pg_round_trip(struct rowlock_link *link, const struct rowlock_budget *budget,
                            struct rowlock_round_trip *round_trip);

/* The same in the simple protocol: a script (n_steps 0), or the text of the only step. */
void rowlock__pg_script(struct rowlock_link *link, const char *text,
                        const struct rowlock_budget *budget, struct rowlock_round_trip *round_trip);

/* The notice receiver of an own connection; `data` is the link. Without one libpq prints to
   standard error. */
void rowlock__pg_notice(void *data, const PGresult *result);

/* Connects by URL, sets the session up, and determines the server's dialect. Blocks until the
   budget's end, except that libpq resolves a host's name with the resolver's own time limits. After
   a failure the caller closes the link. */
int rowlock__pg_connect(struct rowlock_link *link, const char *url,
                        const struct rowlock_budget *budget, struct rowlock_error *error);

/* Asks libpq whether a round trip can begin. EINVAL if the handle is in use for something else, or
   in pipeline or nonblocking mode; ECONN if it is lost. */
int rowlock__pg_usable(const struct rowlock_link *link, struct rowlock_error *error);

/* A request to cancel, sent by a thread of its own: PQcancel blocks while the server is frozen. */
struct rowlock_cancel;

/* Starts the request. NULL if the thread could not be started; the functions below need one. */
struct rowlock_cancel *rowlock__pg_cancel(PGconn *conn);
/* Waits until the server has received the request, which then cannot hit a later statement. False
   if the deadline comes first. */
bool rowlock__pg_cancel_done(struct rowlock_cancel *cancel, int64_t deadline_ms);
/* Accepts NULL and does not block: a thread that still runs frees the record later. */
void rowlock__pg_cancel_free(struct rowlock_cancel *cancel);

#endif
