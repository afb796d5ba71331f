/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/html.h"

#include <inttypes.h>
#include <stdlib.h>

#include "command/output/words.h"
#include "show/lists/lists.h"
#include "util/clock.h"

void cell_or_none(FILE *out, const char *text)
{
    if (*text)
        html_word(out, text);
    else
        html_none(out);
}

void cell_process(FILE *out, const char *host, int64_t pid)
{
    cell_or_none(out, host);
    if (pid)
        fprintf(out, "<span class=\"pid\">:%" PRId64 "</span>", pid);
}

void cell_caller(FILE *out, const char *host, int64_t pid, const char *command)
{
    cell_process(out, host, pid);
    if (*command) {
        putc(' ', out);
        html_code(out, command);
    }
}

/* ---- locks ----------------------------------------------------------------------------------- */

const struct rowlock_holder *first_holder(const struct lock_tree *locks,
                                          const struct tree_name *name)
{
    static const struct rowlock_holder unknown = {.host = "", .command = ""};

    return name->n_holders ? &locks->items[name->first].holder : &unknown;
}

void cell_who(FILE *out, const struct rowlock_holder *holder)
{
    int transaction = holder->holding == ROWLOCK_HOLDS_TX;

    cell_caller(out, holder->host, transaction ? 0 : holder->pid, holder->command);
    if (holder->pid && transaction)
        fprintf(out, " <span class=\"pid\">session %" PRId64 "</span>", holder->pid);
}

void cell_mode(FILE *out, const struct rowlock_holder *holder)
{
    char *mode = holder_mode(holder);

    fputs(mode ? mode : "?", out);
    free(mode);
    if (holder->holding == ROWLOCK_HOLDS_TX)
        fputs(" <span class=\"none\">transaction</span>", out);
}

void cell_left(FILE *out, const struct rowlock_holder *holder, int64_t now_ms)
{
    if (!holder->expires_ms)
        html_none(out);
    else if (is_endless(holder))
        fputs("until released", out);
    else
        html_left(out, holder->expires_ms, now_ms);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

void cell_node(FILE *out, const struct rowlock_run *run)
{
    if (run->token)
        cell_process(out, run->node, run->pid);
    else
        html_none(out);
}

void cell_result(FILE *out, const struct rowlock_run *run)
{
    char *result = run_result(run);

    if (!run->token)
        html_none(out);
    else
        html_pill(out,
                  run->outcome == ROWLOCK_RUN_DONE      ? "good"
                  : run->outcome == ROWLOCK_RUN_RUNNING ? "wait"
                                                        : "bad",
                  result ? result : "?");
    free(result);
}

void cell_took(FILE *out, const struct rowlock_run *run)
{
    html_duration(out, has_ended(run), rowlock__between(run->started_ms, run->finished_ms));
}

void cell_health(FILE *out, enum rowlock_health health)
{
    static const char *const tones[JOB_HEALTHS] = {
        [ROWLOCK_HEALTH_FINE] = "good",   [ROWLOCK_HEALTH_PAUSED] = "calm",
        [ROWLOCK_HEALTH_SLOW] = "wait",   [ROWLOCK_HEALTH_LATE] = "bad",
        [ROWLOCK_HEALTH_FAILING] = "bad", [ROWLOCK_HEALTH_LOST] = "bad"};

    html_pill(out, tones[health], job_healths[health]);
}

/* ---- subjects -------------------------------------------------------------------------------- */

void cell_subject_status(FILE *out, enum rowlock_subject_status status)
{
    static const char *const tones[] = {[ROWLOCK_SUBJECT_NONE] = "calm",
                                        [ROWLOCK_SUBJECT_PROCESSING] = "wait",
                                        [ROWLOCK_SUBJECT_COMPLETE] = "good",
                                        [ROWLOCK_SUBJECT_ERROR] = "bad"};

    html_pill(out, tones[status], subject_statuses[status]);
}
