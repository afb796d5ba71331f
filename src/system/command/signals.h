/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that reports signals, without handlers and their races. */
#ifndef ROWLOCK_SYSTEM_SIGNALS_H
#define ROWLOCK_SYSTEM_SIGNALS_H

#include <signal.h>

/* A descriptor that is readable while a signal of the set is pending. The caller has blocked them
   all. -1 with errno. */
int signals_descriptor(const sigset_t *set);

/* From now on it reports these. 0; or -1 with errno. */
int signals_report(int fd, const sigset_t *set);

/* Takes the next one: its number, or 0. `by_kernel` may be NULL: whether no process sent it, as
   with a key at the terminal. */
int signals_next(int fd, int *by_kernel);

#endif
