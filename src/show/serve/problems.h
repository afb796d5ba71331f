/* SPDX-License-Identifier: Apache-2.0 */
/* The list of problems that need a person: jobs, subjects, broken leases that are still held, and
   cycles of waiters. */
#ifndef ROWLOCK_SERVE_PROBLEMS_H
#define ROWLOCK_SERVE_PROBLEMS_H

#include <stddef.h>

#include "show/serve/page.h"

struct problems {
    size_t jobs, subjects, leases, cycles;
};

struct problems problems_count(const struct view *view);
/* Writes their list, or that there are none. */
void problems_put(const struct page *page);

#endif
