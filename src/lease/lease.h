/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease in memory. Fields that other threads read are atomic: the keeper's thread renews while
 * the caller's thread asks how much time remains. object.c handles the memory, auto_renew.c the
 * thread; renew.c, release.c, revoke.c and adopt.c send statements by query.h.
 */
#ifndef ROWLOCK_LEASE_H
#define ROWLOCK_LEASE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lease/request.h"
#include "session/connection.h"

struct rowlock_keeper; /* auto_renew.c */

/* Times are milliseconds of clock.h: the holder's own clock decides how long the lease is held. */
struct rowlock_lease {
    struct rowlock_connection *connection; /* the caller's; outlives the lease */
    char owner[ROWLOCK_OWNER_SIZE];        /* "": not known */
    bool adopted;                          /* by rowlock_adopt: another process acquired it */
    int64_t token;
    char **name; /* our copies, sorted by their bytes */
    size_t n;
    _Atomic int64_t ttl_ms;
    _Atomic int64_t sent_ms; /* when the last successful grant or renewal was sent */
    _Atomic int64_t end_ms;  /* of the holder's monotonic clock */
    atomic_bool lost;        /* the database reported it, or the end passed */
    atomic_bool released;
    atomic_bool simple;    /* one name, exclusively, granted at once */
    int64_t release_ms;    /* the time of the first release; 0: not yet */
    bool release_unsure;   /* a release got no answer: finding no row then is not a loss */
    pthread_mutex_t mutex; /* the keeper pointer, and one renewal at a time */
    struct rowlock_keeper *keeper;
};

/* Fails with EINVAL: the caller of a public function has passed NULL for a lease. */
int rowlock__no_lease(struct rowlock_error *error);
/* Allocates only: names are copied; token 0, and the end is in the past. ENOMEM. */
int rowlock__lease_new(struct rowlock_connection *connection, const struct rowlock_want *want,
                       size_t n, struct rowlock_lease **out, struct rowlock_error *error);
/* The memory; no keeper may be left. NULL is fine. */
void rowlock__lease_delete(struct rowlock_lease *lease);

/* A parameter of a release: the connection's session, if that has the lease's session lock;
   else 0. */
struct rowlock_value rowlock__session_of(const struct rowlock_lease *lease);

/* Notes in the history which user has just broken the leases of these tokens, or, with the token
   ROWLOCK_LOG_DUE_NOW, made the job due. A failure here, as of a missing privilege, is not
   reported. */
#define ROWLOCK_LOG_DUE_NOW INT64_MAX
void rowlock__log_user(struct rowlock_connection *connection, const char *name,
                       const int64_t *tokens, size_t n);

/* Records a grant or renewal that was sent at `sent_ms`, for `ttl_ms`: never shortens the lease.
   Any thread. */
void rowlock__lease_renewed(struct rowlock_lease *lease, int64_t sent_ms, int64_t ttl_ms);

/*
 * Releases the lease as rowlock_release does, by another statement, which answers with a status:
 * any status except OK means that the lease had ended before. The statement may be sent twice.
 */
int rowlock__end_lease(struct rowlock_lease *lease, enum rowlock_statement_id id,
                       const struct rowlock_value *values, struct rowlock_error *error);

/*
 * One renewal over `connection`, without reconnecting. 0: `*status` is OK (and the lease's end
 * moved), LOST or STOPPED (and the lease is marked as lost). ELOST: the database file was deleted
 * or replaced. ECONN, ETIMEDOUT, ECANCELED and the like: not known to be renewed. `deadline_ms`:
 * when to give up; never after the lease's end.
 */
int rowlock__renew_once(struct rowlock_lease *lease, struct rowlock_connection *connection,
                        int64_t ttl_ms, int64_t deadline_ms, enum rowlock_status *status,
                        struct rowlock_error *error);
/* The same over the caller's connection, or the keeper's own, until the lease's end at the latest.
   Repeats it over a new session if the session was lost. */
int rowlock__renew_over(struct rowlock_connection *connection, struct rowlock_lease *lease,
                        int64_t ttl_ms, int64_t deadline_ms, enum rowlock_status *status,
                        struct rowlock_error *error);
/* rowlock_renew, with a deadline: ELOST if the database reports the lease as lost or broken, other
   errors if it is not known to be renewed. */
int rowlock__renew_until(struct rowlock_lease *lease, int64_t ttl_ms, int64_t deadline_ms,
                         struct rowlock_error *error);

/* The keeper of a lease: the thread that renews it over a connection of its own. */

/* Stops its renewals and its reports of a loss; does not wait for it: a renewal under way may still
   end. No effect without a keeper. */
void rowlock__keeper_quiet(struct rowlock_lease *lease);

/* Waits until its thread has ended, and closes its connection. Call rowlock__keeper_quiet before;
   then only a renewal under way delays it. No effect without a keeper. */
void rowlock__keeper_end(struct rowlock_lease *lease);

#endif
