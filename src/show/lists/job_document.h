/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of `jobs`, collected by a listing: of all jobs, or of one with its history. */
#ifndef ROWLOCK_JOB_DOCUMENT_H
#define ROWLOCK_JOB_DOCUMENT_H

#include "rowlock.h"
#include "show/lists/listing.h"

/* Adds a settled view. `with_history`: its history follows. */
void job_document_add(struct listing *listing, const struct rowlock_job_view *job,
                      int with_history);

/* The history of the job that was added: call begin, add each run, and end. `n`: how many runs
   were added before. */
void job_document_begin_history(struct listing *listing);
void job_document_add_run(struct listing *listing, const struct rowlock_run *run, size_t n);
void job_document_end_history(struct listing *listing);

#endif
