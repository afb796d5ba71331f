/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits for jitter. */
#ifndef ROWLOCK_RANDOM_H
#define ROWLOCK_RANDOM_H

#include <stdint.h>

/* 0 if the system has none. */
uint32_t rowlock__dice(void);

#endif
