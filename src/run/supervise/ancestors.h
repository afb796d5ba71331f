/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of the processes above this one, for which it must not wait: they release a lock only
   after this process has ended. They are known by the environment, and by sockets. */
#ifndef ROWLOCK_ANCESTORS_H
#define ROWLOCK_ANCESTORS_H

#include <sys/types.h>

#include "rowlock.h"

struct holding;

/* ---- environment.c --------------------------------------------------------------------------- */

/* From ROWLOCK_HELD, the locks of our ancestors: whether there are any; whether a token is theirs;
   the index of a name that they lock by a transaction which is open, or -1. */
int has_holding_ancestor(void);
int is_token_of_ancestor(int64_t token);
int held_by_ancestor(const struct rowlock_want *wants, size_t n);
/* Sets ROWLOCK_NAME, ROWLOCK_TOKEN, ROWLOCK_OWNER and ROWLOCK_HELD, for a transaction
   ROWLOCK_HELD_BY, and for a run of a job ROWLOCK_DUE and ROWLOCK_ATTEMPT: in the command's
   process. Not 0: no memory. */
int set_environment(const struct rowlock_want *wants, size_t n, const struct holding *holding);

/* ---- while_pid_sockets.c --------------------------------------------------------------------- */

#define KEPT_NAMES 2

/* For the keeper of `acquire --while-pid`: descendants of `pid` must not wait for this lease. `fds`
   stay open; a readable one is for announce_again(); -1 if the name was bound already. */
void announce_kept(pid_t pid, int64_t token, int fds[KEPT_NAMES]);
/* Whether a keeper of this user or of root keeps the lease `token` for this process or one of its
   ancestors. 0: any lease. */
int is_kept_for_ancestor(int64_t token);

#endif
