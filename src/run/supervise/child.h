/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the command, and the descriptors that it gets. */
#ifndef ROWLOCK_CHILD_H
#define ROWLOCK_CHILD_H

#include <stdint.h>

struct descriptors;
struct holding;
struct output;
struct run;
struct signals;

/* The descriptors below 1024 that the caller passed to us: the command gets these and no others.
   Call it before any is opened; the caller frees it. NULL: no memory. */
struct descriptors *descriptors_of_caller(void);
/* Call it before any descriptor is opened: otherwise one of ours could get the number of a standard
   descriptor that the caller closed, and receive the command's output. 0; or -1 with errno. */
int fill_standard_descriptors(void);
/* Sets FD_CLOEXEC on all except `callers` and the standard ones: a client library may have opened
   some without it. */
void hide_ours(const struct descriptors *callers);

/* Prints which of the command's processes rowlock may be unable to end; nothing if none is known.
   */
void say_unendable(const struct run *run);

/* Everything that the command's process needs after the fork; the caller keeps it until then. */
struct child {
    const struct run *run;
    const struct signals *signals;
    const struct descriptors *callers;
    const struct holding *holding;
    const struct output *output; /* NULL: the caller's descriptors are the command's */
};

/* guard_plan.become of a struct child: sets environment, descriptors and signals, and executes the
   command. Returns errno if that fails. */
int become_command(void *child);
/* Writes to stderr why `program` could not be executed: errno was `number`. */
void say_not_executed(const char *program, int number);

/* The process that renews a lease while job control stops the command and rowlock. */

/* guard_plan.stand_in of a struct child: becomes `rowlock renew` with hidden options. */
void become_stand_in(void *child, int fd);
/* The hidden options of that `rowlock renew`. */
struct stand_in_argument {
    const char *name;
    int64_t token, ttl_ms;
    int url_fd, guard_fd; /* for url_receive(), for guard_give() */
};
/* The stand-in's work: renews the lease, and sends orders to the guard, until the guard ends it. An
   exit status. */
int stand_in(const struct stand_in_argument *argument);

#endif
