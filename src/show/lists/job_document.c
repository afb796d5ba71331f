/* SPDX-License-Identifier: Apache-2.0 */
#include "show/lists/job_document.h"

#include "show/lists/job_columns.h"

void job_document_add(struct listing *listing, const struct rowlock_job_view *job, int with_history)
{
    fputs("{", listing_next(listing));
    put_job(listing->out, job);
    fputs(with_history ? "" : "}", listing->out);
}

void job_document_begin_history(struct listing *listing)
{
    fputs(",\n  \"history\":[", listing->out);
}

void job_document_add_run(struct listing *listing, const struct rowlock_run *run, size_t n)
{
    fputs(n ? ",\n  {" : "{", listing->out);
    put_run(listing->out, run);
    fputs("}", listing->out);
}

void job_document_end_history(struct listing *listing)
{
    fputs("]}", listing->out);
}
