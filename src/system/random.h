/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes of the operating system. */
#ifndef ROWLOCK_SYSTEM_RANDOM_H
#define ROWLOCK_SYSTEM_RANDOM_H

#include <stddef.h>

/* `n` unguessable bytes of the system's random generator. 0, or -1. */
int rowlock__random_bytes(void *out, size_t n);

#endif
