/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by acquire and hold: a lease that is not for a command of ours. */
#ifndef ROWLOCK_LEASE_TAKE_H
#define ROWLOCK_LEASE_TAKE_H

#include "command/command.h"
#include "run/supervise/holding.h"

/* One acquisition by a verb: the caller fills the members before `signals`. */
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

/* Frees the lease's object and the requests, and closes the connection; the lease itself stays.
   Returns the status. */
int end_taking(struct taking *taking, int status);

/* acquire --while-pid, in while_pid.c: acquires in a process that keeps the lease. */
int acquire_while(struct taking *taking);

/* Shared by the verbs for an existing lease: the arguments NAME --token T. */

/* The taker of --token T, for an int64_t: a positive number, else it ends the program. */
option_taker take_token;

/* The command line of a verb for an existing lease, and the lease that adopt_lease() found. */
struct lease_argument {
    const char *name;
    int64_t token;
    int64_t ttl_ms;       /* 0: not set */
    int url_fd, guard_fd; /* of a stand-in; 0: not a stand-in */
    /* of adopt_lease(); the caller frees and closes them */
    struct rowlock_connection *connection; /* NULL: the failure to connect was printed */
    struct rowlock_lease *lease;           /* NULL: there is none, for the reason `error` */
    struct rowlock_error error;
};

/* Reads NAME --token T, and --ttl if `with_ttl`. Ends the program on wrong usage. */
void read_lease_argument(struct command *command, int with_ttl, struct lease_argument *argument);

/* Connects and finds the lease. Returns an exit status. An error of the search is not printed: the
   verb calls report_lease(). */
int adopt_lease(const struct command *command, struct lease_argument *argument);

/* Prints argument->error, and for a lease that is not valid what to do. Returns the exit status. */
int report_lease(const struct lease_argument *argument);

/* When the lease ends by the database's clock: milliseconds since 1970, 0 if unknown; INT64_MAX if
   it is_endless(). */
int64_t lease_expires(struct rowlock_connection *connection, const char *name, int64_t token);

/* Whether it lasts until it is released. */
int lease_is_endless(const struct rowlock_lease *lease);

/* Prints one line of JSON: {"name":...,"token":...,"owner":...,"expires":...}; "name" is an array
   if there are several. */
void print_lease_json(const struct rowlock_want *wants, size_t n, const struct rowlock_lease *lease,
                      int64_t expires_ms);

#endif
