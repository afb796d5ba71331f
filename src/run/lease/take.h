/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by acquire and hold: a lease that is not for a command of ours. */
#ifndef ROWLOCK_LEASE_TAKE_H
#define ROWLOCK_LEASE_TAKE_H

#include "run/supervise/holding.h"

struct taking {
    const struct command *command;
    struct lock_options lock;
    const char *holder; /* the command that ls shows */
    int verbose;
    pid_t pid;   /* of --while-pid; 0: none */
    int is_kept; /* by this process, whose pid ls then shows */
    struct signals signals;
    int interrupt_fd; /* readable: give up; signals.wait_fd, or one that includes it */
    struct holding holding;
};

/* Finds the database, connects, acquires. 0, an exit status, or -N: signal N came; errors were
   printed. `taking->holding.lease` is set if it was acquired: -E may have set the status to 0.
   Afterwards signals do not interrupt: they are read from taking->signals.fd. */
int take_lease(struct taking *taking);

/* Prints the token, or the JSON object, and flushes. If that fails, the lease is released, because
   no process knows its token. An exit status. */
int print_token(struct taking *taking);

/* take_lease, interrupted by signals, then print_token if it acquired. A status of take_lease. */
int take_and_print(struct taking *taking);

/* Frees and closes. Ends the program if the status is a signal. */
int end_taking(struct taking *taking, int status);

/* acquire --while-pid, in while_pid.c: acquires in a process that keeps the lease. */
int acquire_while(struct taking *taking, pid_t pid);

#endif
