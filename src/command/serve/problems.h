/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what needs a person's attention: jobs, subjects, and broken leases still held. */
#ifndef ROWLOCK_SERVE_PROBLEMS_H
#define ROWLOCK_SERVE_PROBLEMS_H

#include <stddef.h>

#include "command/serve/page.h"

struct problems {
    size_t jobs, subjects, leases, cycles;
};

struct problems problems_count(const struct view *view);
/* Their list, or an empty state. */
void problems_put(const struct page *page);

#endif
