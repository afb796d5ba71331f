/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, and their runs. */
#include "show/lists/lists.h"

#include <string.h>

#include "command/output/words.h"
#include "util/clock.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static char *where_of(const struct rowlock_run *run)
{
    return run->token ? who_cell(run->node, run->pid, "") : strdup("-");
}

/* The last line that is not blank. */
static char *last_line(const char *output)
{
    const char *end = output + strlen(output), *start;

    while (end > output && strchr(" \t\r\n", end[-1]))
        end--;
    for (start = end; start > output && start[-1] != '\n'; start--)
        ;
    return cell_format("%.*s", (int)(end - start), start);
}

static const char *colour_of(const char *result)
{
    if (strcmp(result, "done") == 0)
        return "\033[32m";
    return strcmp(result, "-") == 0 || strcmp(result, "running") == 0 ? "" : "\033[31m";
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Without a run (token 0) all members are null. The exit status is known if the run has ended. */
static void run_members(struct fields *to, const struct rowlock_run *run)
{
    int is = run->token != 0, ended = has_ended(run);

    field_instant(to, "STARTED", "started", is ? run->started_ms : 0);
    field_duration(to, "TOOK", "took_ms", ended,
                   rowlock__between(run->started_ms, run->finished_ms));
    field_cell(to, "RESULT", run_result(run));
    field_text(to, NULL, "outcome", is ? rowlock_outcome_text(run->outcome) : "");
    field_count(to, NULL, "exit", ended, run->exit);
    field_instant(to, NULL, "finished", is ? run->finished_ms : 0);
    field_cell(to, "NODE", where_of(run));
    field_text(to, NULL, "node", is ? run->node : "");
    field_count(to, NULL, "pid", is, run->pid);
    field_instant(to, "DUE", "due", is ? run->due_ms : 0);
    field_count(to, "REPEAT", "repeat", is, run->retry_number);
    field_count(to, "TOKEN", "token", is, run->token);
    field_cell(to, "OUTPUT", last_line(run->output));
    field_text(to, NULL, "output", is ? run->output : "");
}

static void run_fields(struct fields *to, const void *row)
{
    const struct rowlock_run *run = row;

    field_text(to, NULL, "job", run->job);
    run_members(to, run);
}

const struct list run_list = {.fields = run_fields, .coloured = "RESULT", .colour = colour_of};

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_fields(struct fields *to, const void *row)
{
    const struct rowlock_job_view *job = row;
    const struct rowlock_run *running = &job->running, *last = &job->last;
    int runs = running->token != 0, pauses = job->paused_token != 0;
    /* until it is released: paused_until is null */
    int ends =
        pauses && rowlock__between(job->now_ms, job->paused_until_ms) < ROWLOCK_UNTIL_RELEASED / 2;
    int64_t since_ms;
    char name[24];

    field_text(to, "NAME", "name", job->name);
    field_text(to, "STATE", "state", job_healths[rowlock_job_health(job, &since_ms)]);
    field_instant(to, NULL, "state_since", since_ms);
    field_instant(to, "NEXT", "next_run", job->next_ms);
    field_cell(to, "RUNNING", where_of(running));
    field_text(to, NULL, "running_at", runs ? running->node : "");
    field_count(to, NULL, "running_pid", runs, running->pid);
    field_count(to, NULL, "running_token", runs, running->token);
    field_instant(to, "SINCE", "running_since", runs ? running->started_ms : 0);
    if (to->json) {
        to->prefix = "last_";
        run_members(to, last);
        to->prefix = "";
    }
    field_cell(to, "LAST", run_result(last));
    field_cell(to, "ENDED", cell_instant(last->token ? last->finished_ms : 0));
    field_cell(to, "BY", cell_text(last->token ? last->node : "-"));
    field_instant(to, NULL, "failed_since", job->failed_since_ms);
    field_instant(to, NULL, "last_success", job->succeeded_ms);
    field_duration(to, "AVERAGE", "average_ms", job->runs > 0, job->average_ms);
    field_text(to, "SCHEDULE", "schedule", job->schedule);
    field_text(to, "NOTE", "paused_note", job->paused_note);
    field_count(to, NULL, "paused_token", pauses, job->paused_token);
    field_text(to, NULL, "paused_by", job->paused_by);
    field_instant(to, NULL, "paused_since", job->paused_since_ms);
    field_instant(to, NULL, "paused_until", ends ? job->paused_until_ms : 0);
    /* named as the columns of the view jobs: "runs_timed_out" */
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++) {
        snprintf(name, sizeof name, "runs_%s", rowlock_outcome_text((enum rowlock_run_outcome)i));
        for (char *blank = name; (blank = strchr(blank, ' ')) != NULL;)
            *blank = '_';
        field_count(to, NULL, name, 1, job->ended[i]);
    }
}

const struct list job_list = {.fields = job_fields, .coloured = "LAST", .colour = colour_of};

/* ---- documents ------------------------------------------------------------------------------- */

void job_document_add(struct listing *listing, const struct rowlock_job_view *job)
{
    list_members(listing_next(listing), &job_list, job);
    fputs(",\n  \"history\":[", listing->out);
}

void job_document_add_run(struct listing *listing, const struct rowlock_run *run, size_t n)
{
    fputs(n ? ",\n  " : "", listing->out);
    list_object(listing->out, &run_list, run);
}

void job_document_end(struct listing *listing)
{
    fputs("]}", listing->out);
}
