/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines: each client of the simulation runs as straight-line code on a stack of its own, and
 * yields where the scheduler switches.
 */
#ifndef FIBER_H
#define FIBER_H

#include <stdbool.h>

struct fiber;

/* The stack is kept for reuse: `fiber_start` starts the fiber again after it has returned. */
struct fiber *fiber_new(void);
void fiber_free(struct fiber *fiber);
void fiber_start(struct fiber *fiber, void (*function)(void *data), void *data);

/* Called outside of fibers: runs it until it yields or returns; false if it has returned. */
bool fiber_resume(struct fiber *fiber);
/* Called inside of a fiber. */
void fiber_yield(void);

#endif
