/* SPDX-License-Identifier: Apache-2.0 */
/* The pages for requests that cannot be answered. */
#include "show/serve/pages.h"

void page_no_data(struct page *page)
{
    page->status = 503;
    page_begin(page, TAB_NONE, "No data yet", NULL);
    page_empty(page, "The database has not answered since rowlock serve started. This page shows "
                     "the state as soon as it does. <code>rowlock doctor</code> examines the "
                     "connection.");
    page_end(page);
}

void page_error(struct page *page, int status, const char *title, const char *advice)
{
    page->status = status;
    page_begin(page, TAB_NONE, title, NULL);
    page_empty(page, advice);
    page_end(page);
}
