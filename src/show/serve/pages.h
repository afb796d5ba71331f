/* SPDX-License-Identifier: Apache-2.0 */
/* The pages. Each writes a whole document, and sets the status of HTTP if it is not 200. */
#ifndef ROWLOCK_SERVE_PAGES_H
#define ROWLOCK_SERVE_PAGES_H

#include "show/serve/page.h"

void page_overview(struct page *page);
void page_locks(struct page *page);
void page_lock(struct page *page);
void page_jobs(struct page *page);
void page_job(struct page *page);
void page_subjects(struct page *page);
void page_history(struct page *page);

/* Instead of a page: the database has not answered yet. */
void page_no_data(struct page *page);
/* An error of the request; `advice` is HTML. */
void page_error(struct page *page, int status, const char *title, const char *advice);

#endif
