/* SPDX-License-Identifier: Apache-2.0 */
/* What acquire and hold share: a lease taken for somebody else than a command of ours. */
#ifndef ROWLOCK_LEASE_TAKE_H
#define ROWLOCK_LEASE_TAKE_H

#include "command/run/run.h"

struct taking {
    const struct command *command;
    struct lock_options lock;
    const char *holder; /* the command that ls shows */
    int is_kept;        /* by this process, whose pid ls shows then */
    struct signals signals;
    int interrupt_fd; /* readable: give up; signals.wait_fd, or one that includes it */
    struct holding holding;
};

/* Finds the database, connects, acquires. 0, an exit status, or -N: signal N came; what is wrong has
   been said. `taking->holding.lease` tells whether it was acquired: -E may have made the status 0.
   What comes after is not interrupted by signals: they are read from taking->signals.fd. */
int take_lease(struct taking *taking);

/* Prints the token, or the JSON object, and flushes. Who has no token cannot keep the lease: if that
   fails it is released. An exit status. */
int print_token(struct taking *taking);

/* Frees and closes. Ends the program if the status is a signal. */
int end_taking(struct taking *taking, int status);

/* acquire --while-pid, in lease/keeper.c: acquires in a process that keeps the lease. */
int acquire_while(struct taking *taking, pid_t pid);

#endif
