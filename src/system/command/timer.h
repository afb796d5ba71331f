/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that reports a time. It counts while the machine sleeps; a time-out of poll() does
   not. */
#ifndef ROWLOCK_SYSTEM_TIMER_H
#define ROWLOCK_SYSTEM_TIMER_H

#include <stdint.h>

/* -1 with errno. */
int timer_descriptor(void);

/* It becomes readable at that time of the clock in system/clock.h, also if that has passed. It is
   not readable before. INT64_MAX: never. */
void timer_set(int fd, int64_t at_ms);

#endif
