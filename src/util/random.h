/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROWLOCK_RANDOM_H
#define ROWLOCK_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* `n` bytes that nobody can guess, nor draw a second time: the system's. 0, or -1. */
int rowlock__random_bytes(void *out, size_t n);

/* Bits for jitter; the system's too, and 0 where it has none. */
uint32_t rowlock__dice(void);

#endif
