/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of holders, jobs, runs, subjects and history, and the words about their rows. `ls`,
   `jobs`, `log` and `subjects` print them; serve sends the same JSON. */
#ifndef ROWLOCK_LISTS_H
#define ROWLOCK_LISTS_H

#include "command/output/list.h"
#include "rowlock.h"

extern const struct list holder_list;  /* struct rowlock_holder; sorted, waiters of a name are
                                          below its holders */
extern const struct list job_list;     /* struct rowlock_job_view, settled */
extern const struct list run_list;     /* struct rowlock_run */
extern const struct list past_list;    /* struct rowlock_past */
extern const struct list subject_list; /* struct rowlock_subject_view */

/* The JSON of one job with its history: add the settled view, then each run, and end. `n`: how many
   runs were added before. For a listing with `json` set. */
void job_document_add(struct listing *listing, const struct rowlock_job_view *job);
void job_document_add_run(struct listing *listing, const struct rowlock_run *run, size_t n);
void job_document_end(struct listing *listing);

/* For people: "released", "broken", ...; of a run: "done", "failed", ... A constant. */
const char *ending_word(const struct rowlock_past *past);
/* Whether it is a problem: neither a released lease nor a run that is done. */
int is_problem(const struct rowlock_past *past);
/* To the nearest second, from a second on: a wait of 1998 ms is shown as 2 s. */
int64_t rounded_ms(int64_t ms);

#endif
