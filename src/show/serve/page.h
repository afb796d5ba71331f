/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a page, and its frame: head, navigation, age of the data, foot. */
#ifndef ROWLOCK_SERVE_PAGE_H
#define ROWLOCK_SERVE_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "show/serve/source.h"

/* The part of the navigation that is marked as present. */
enum tab { TAB_NONE, TAB_OVERVIEW, TAB_LOCKS, TAB_JOBS, TAB_SUBJECTS, TAB_HISTORY };

/* answer.c fills it for each request. */
struct page {
    FILE *out;
    const struct shown *shown;
    const char *name;   /* the parameter `name`; "": none */
    const char *filter; /* the parameter `q` */
    int status;         /* the status of HTTP */
    int *failed;        /* out of memory: the page is not sent */
};

/* Begins a document. `kind` is its heading; with `subject`, the name that the page is about, it is
   the kind of that name ("Job"). `subject` may be NULL. Data that is old, or a database that does
   not answer, gets a banner. */
void page_begin(const struct page *page, enum tab tab, const char *kind, const char *subject);
/* Writes the foot. */
void page_end(const struct page *page);

/* Begins a section; `id` and `title` are not escaped. `count` < 0: the title has no count. */
void page_section(const struct page *page, const char *id, const char *title, long count);
void page_section_end(const struct page *page);
/* For a section without items: it explains how to get some. The text is HTML. */
void page_empty(const struct page *page, const char *html);
#define NO_JOB                                                                          \
    "No job is known. A node adds a job when it first asks for it: <code>rowlock cron " \
    "FILE</code>, or <code>rowlock job</code> in a crontab"
/* Explains in place of a history why it was not read. */
void page_not_read(const struct page *page);
/* Ends a list that shows only `most` of `n` items, with a link to `document`. */
void page_cut(const struct page *page, size_t n, size_t most, const char *document);
/* A link to the document with the data of the page of a name. */
void page_document(const struct page *page, const char *document);

/* Whether one of the texts contains the filter, in upper or lower case; an empty one matches.
   `texts` ends with NULL. */
int page_matches(const struct page *page, const char *const *texts);

/* The pages. Each writes a whole document, and sets the status of HTTP if it is not 200. They read
   page->shown only: none asks the database. page_lock and page_job are about page->name. */

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

/* The history of a view: leases that have ended, waiters that gave up, runs. */

/* A section with its timeline and its list. `view` NULL: it was not read. */
void history_put(const struct page *page, const struct view *view);
/* The timeline as SVG, up to the database's present time. */
void history_draw(FILE *out, const struct view *view, int64_t now_ms);

/* The list of problems that need a person: jobs, subjects, broken leases that are still held, and
   cycles of waiters. */

struct problems {
    size_t jobs, subjects, leases, cycles;
};

/* Counts those of a view of the kind VIEW_ALL. */
struct problems problems_count(const struct view *view);
/* Writes their list, or that there are none. */
void problems_put(const struct page *page);

#endif
