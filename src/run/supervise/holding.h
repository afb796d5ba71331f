/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that is held for a command: acquired, kept and released by the parts of this folder. */
#ifndef ROWLOCK_HOLDING_H
#define ROWLOCK_HOLDING_H

#include "command/signals.h"
#include "run/supervise/run_options.h"
#include "util/random.h"

/* ---- acquire_lock.c -------------------------------------------------------------------------- */

#define INTERRUPTED "interrupted before it was started\n"

/* How the command ended, for the record: finish.c. */
struct ending {
    enum rowlock_run_outcome outcome; /* DONE: ended by itself, with 0, under the lock.
                                         Otherwise FAILED, TIMEDOUT, LOST or NOTSTARTED */
    int exit;                         /* the status; 128 + N: by signal N; 0 only if DONE */
    const char *output;               /* its end, UTF-8; NULL: not kept */
};

/* Connects for a command under a lock. An exit status, or -N: signal N came. */
int connect_to_run(const struct command *command, const struct run *run,
                   const struct signals *signals, struct rowlock_connection **out);

/* The verb sets take, give_back and data; acquire() the lease; execute() releases it. */
struct holding {
    struct rowlock_connection *connection;
    struct rowlock_lease *lease; /* NULL: the lock of the connection's transaction */
    int64_t waited_ms;
    struct waiting *waiting; /* the line that explains the wait; NULL: none */
    /* an ancestor holds a lock of these names, and the call waits; or NULL */
    const struct run *nested;
    char owner[ROWLOCK_OWNER_SIZE]; /* of the attempt under way; "": chosen by the library */
    int hopeless;     /* the index of the name that an ancestor keeps from us; -1: none */
    int said_away;    /* the outage of the database was reported */
    int64_t renew_ms; /* the ttl of renewals; 0: as it was acquired */
    int64_t due_ms;   /* of a job's run, since 1970 */
    int attempt;      /* of that due time, from 1; 0: not a run of a job */
    /* Acquires the lease; success with a NULL lease: none is needed. NULL: rowlock_acquire or
       rowlock_begin. */
    int (*take)(struct holding *holding, const struct rowlock_terms *terms,
                struct rowlock_error *error);
    /* Releases the lease and records the result, on the keeper's thread; repeated while the lease
       lasts. Returns the library's code. NULL: release, or commit. */
    int (*give_back)(const struct holding *holding, const struct ending *ending,
                     struct rowlock_error *error);
    void *data; /* of take and give_back */
};

/* Acquires the lock, for as long as run->lock says. A wait for a lock that an ancestor holds fails,
   because it would never end. 0, an exit status, or -N: signal N came; errors were printed. Check
   `*acquired`, because -E may have set the status to 0. */
int acquire(const struct run *run, const struct signals *signals, struct holding *holding,
            int *acquired);

/* A signal may have come after the last wait and before the command existed. Then releases the lock
   and returns -N; otherwise returns the status. */
int not_started_if_interrupted(const struct signals *signals, struct holding *holding, int status);

/* ---- finish.c ------------------------------------------------------------------------------- */

/* Releases the lock if no guard was started: the command did not start, for the reason `status`. */
void finish_not_started(const struct holding *holding, int status, const char *why);

#endif
