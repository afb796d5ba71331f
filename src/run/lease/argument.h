/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs for an existing lease: the arguments NAME --token T. */
#ifndef ROWLOCK_LEASE_ARGUMENT_H
#define ROWLOCK_LEASE_ARGUMENT_H

#include "command/command.h"

/* Of --token: an int64_t. */
option_taker take_token;

struct lease_argument {
    const char *name;
    int64_t token;
    int64_t ttl_ms;       /* 0: not set */
    int url_fd, guard_fd; /* of a stand-in; 0: not a stand-in */
};

/* Reads NAME --token T, and --ttl if `with_ttl`. Ends the program on wrong usage. */
void read_lease_argument(struct command *command, int with_ttl, struct lease_argument *argument);

/* Connects and finds the lease. Returns an exit status; the library's code is in `error->code`. A
   failure to connect was printed. */
int adopt_lease(const struct command *command, const struct lease_argument *argument,
                struct rowlock_connection **connection, struct rowlock_lease **lease,
                struct rowlock_error *error);

/* Prints the library's error, and for a lease that is not valid what to do. Returns the exit
   status. */
int report_lease(struct rowlock_connection *connection, const struct lease_argument *argument,
                 const struct rowlock_error *error);

/* When the lease ends by the database's clock: milliseconds since 1970, 0 if unknown; INT64_MAX if
   it is_endless(). */
int64_t lease_expires(struct rowlock_connection *connection, const char *name, int64_t token);

/* It lasts until it is released. */
int lease_is_endless(const struct rowlock_lease *lease);

/* "name":..., of several an array; "token":...,"owner":...,"expires":... as one object, a line. */
void print_lease_json(const struct rowlock_want *wants, size_t n, const struct rowlock_lease *lease,
                      int64_t expires_ms);

#endif
