/* SPDX-License-Identifier: Apache-2.0 */
/* The process that renews a lease while job control stops the command and rowlock. */
#ifndef ROWLOCK_STAND_IN_PROCESS_H
#define ROWLOCK_STAND_IN_PROCESS_H

#include <stdint.h>

/* guard_plan.stand_in of a struct child: becomes `rowlock renew` with hidden options. */
void become_stand_in(void *child, int fd);
/* The stand-in's work: renews the lease, and sends orders to the guard, until the guard ends it. An
   exit status. */
struct stand_in_argument {
    const char *name;
    int64_t token, ttl_ms;
    int url_fd, guard_fd;
};
int stand_in(const struct stand_in_argument *argument);

#endif
