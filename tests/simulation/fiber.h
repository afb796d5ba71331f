/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines: each client of the simulation runs straight through its life on a stack of its own, and
   stands still wherever the scheduler wants it to. */
#ifndef FIBER_H
#define FIBER_H

#include <stdbool.h>

struct fiber;

/* Kept for the next use: `fiber_start` begins it anew once it has returned. */
struct fiber *fiber_new(void);
void fiber_free(struct fiber *fiber);
void fiber_start(struct fiber *fiber, void (*function)(void *data), void *data);

/* Outside of fibers: runs it until it yields or returns; false: it has returned. */
bool fiber_resume(struct fiber *fiber);
/* Inside of one. */
void fiber_yield(void);

#endif
