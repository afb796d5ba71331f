/* SPDX-License-Identifier: Apache-2.0 */
/* The system's clock for deadlines. */
#ifndef ROWLOCK_SYSTEM_CLOCK_H
#define ROWLOCK_SYSTEM_CLOCK_H

#include <stdint.h>

/* Milliseconds of a clock that never jumps. On Linux it also counts while the machine is suspended;
   POSIX does not say whether its clock does. */
int64_t rowlock__system_ms(void);

#endif
