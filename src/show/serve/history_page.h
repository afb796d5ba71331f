/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a view: leases that have ended, waiters that gave up, runs. */
#ifndef ROWLOCK_SERVE_HISTORY_PAGE_H
#define ROWLOCK_SERVE_HISTORY_PAGE_H

#include "show/serve/page.h"

/* A section with its timeline and its list. `view` NULL: it was not read. */
void history_put(const struct page *page, const struct view *view);
/* The timeline as SVG, up to the database's present time. */
void history_draw(FILE *out, const struct view *view, int64_t now_ms);

#endif
