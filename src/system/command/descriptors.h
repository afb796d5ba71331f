/* SPDX-License-Identifier: Apache-2.0 */
/* Many descriptors at once. */
#ifndef ROWLOCK_SYSTEM_COMMAND_DESCRIPTORS_H
#define ROWLOCK_SYSTEM_COMMAND_DESCRIPTORS_H

#include <stddef.h>

/* Closes all descriptors of this process except `n`, which may be in any order; -1 counts for
   nothing. */
void close_all_but(const int *kept, size_t n);

/* exec closes those from `from` on, before `to`. */
void close_range_on_exec(int from, int to);

/* A descriptor that is readable while one of `n` is. -1 with errno. */
int any_of(const int *fds, size_t n);
/* From now on `any` ignores `fd`. */
void any_of_others(int any, int fd);

#endif
