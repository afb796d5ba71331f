/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the history, with the finished runs of jobs. */
#include <stdlib.h>
#include <string.h>

#include "emulate/job_rows.h"

#define WINDOW_MS 600000 /* the first read covers this time, each later read more */
#define WINDOW_GROWS 8

/* A row of the answer; the rows own its texts. */
struct past {
    const char *name, *mode, *host, *command, *note, *how;
    int64_t permits, token, pid, acquired_ms, waited_ms, ended_ms, exit, is_run;
};

struct asked {
    struct rowlock_work *work;
    const char *pattern; /* NULL: every name */
    int64_t since_ms, waited_ms, limit;
    bool problems;
    struct rowlock_rows pasts, runs;
};

static bool is_asked(const struct asked *asked, const struct past *past, bool problem)
{
    return past->ended_ms >= asked->since_ms &&
           (past->waited_ms >= asked->waited_ms || past->token < 0) &&
           (problem || !asked->problems) &&
           (!asked->pattern || rowlock__is_like(past->name, asked->pattern));
}

static int by_token(const void *token, const void *run)
{
    int64_t left = *(const int64_t *)token, right = ((const struct rowlock_run_row *)run)->token;

    return rowlock__order(right, left);
}

static void put(struct asked *asked, const struct past *past)
{
    struct past *row = rowlock__rows_add(&asked->pasts);

    if (row)
        *row = *past;
}

/* name, kind, permits, token, host, pid, command, note, acquired, waited, ended, how; the texts of
   a row that is not asked for are not copied. A run that the list has is not listed twice. The runs
   are sorted, latest first. */
static void past_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct asked *asked = data;
    struct rowlock_rows *rows = &asked->pasts;
    const struct rowlock_run_row *run = NULL;
    int64_t token = n < 12 ? 0 : rowlock__value_number(&columns[3]);
    char name[256];
    struct past past;

    if (token && asked->runs.n)
        run = bsearch(&token, asked->runs.row, asked->runs.n, asked->runs.size, by_token);
    if (n < 12 || (run && run->finished))
        return;
    rowlock__key_name(asked->work, columns[0], name);
    past = (struct past){.name = name,
                         .mode = rowlock__mode_of(rowlock__kind_of(&columns[1])),
                         .permits = rowlock__value_number(&columns[2]),
                         .token = token,
                         .pid = rowlock__value_number(&columns[5]),
                         .acquired_ms = rowlock__value_number(&columns[8]),
                         .waited_ms = rowlock__value_number(&columns[9]),
                         .ended_ms = rowlock__value_number(&columns[10]),
                         .how = rowlock__copy_text(rows, &columns[11])};
    if (!is_asked(asked, &past, past.how && rowlock__is_problem(past.how)))
        return;
    past.name = rowlock__rows_copy(rows, name, strlen(name));
    past.host = rowlock__copy_text(rows, &columns[4]);
    past.command = rowlock__copy_text(rows, &columns[6]);
    past.note = rowlock__copy_text(rows, &columns[7]);
    put(asked, &past);
}

static void put_runs(struct asked *asked)
{
    const struct rowlock_run_row *run = asked->runs.row;

    for (size_t i = 0; i < asked->runs.n; i++) {
        char name[sizeof ROWLOCK_JOB_PREFIX + 255] = ROWLOCK_JOB_PREFIX;
        struct past past = {.mode = "exclusive",
                            .permits = 1,
                            .token = run[i].token,
                            .host = run[i].node,
                            .pid = run[i].pid,
                            .acquired_ms = run[i].started,
                            .ended_ms = run[i].finished,
                            .how = rowlock_outcome_text(run[i].outcome),
                            .exit = run[i].exit,
                            .is_run = 1};

        if (!run[i].finished)
            continue;
        rowlock__key_name(asked->work, rowlock__text_value(run[i].job),
                          name + strlen(ROWLOCK_JOB_PREFIX));
        past.name = name;
        if (!is_asked(asked, &past, run[i].outcome != ROWLOCK_RUN_DONE))
            continue;
        past.name = rowlock__rows_copy(&asked->pasts, name, strlen(name));
        put(asked, &past);
    }
}

static int latest_first(const void *a, const void *b)
{
    const struct past *left = a, *right = b;
    int order = rowlock__order(right->ended_ms, left->ended_ms);

    return order ? order : rowlock__order(right->token, left->token);
}

static void answer_all(struct asked *asked)
{
    const struct past *past;

    put_runs(asked);
    past = asked->pasts.row;
    rowlock__rows_sort(&asked->pasts, latest_first);
    for (size_t i = 0; i < asked->pasts.n && (int64_t)i < asked->limit; i++, past++)
        rowlock__work_answer(
            asked->work,
            (struct rowlock_value[]){
                rowlock__text_value(past->name), rowlock__text_value(past->mode),
                rowlock__int_value(past->permits), rowlock__int_value(past->token),
                rowlock__text_value(past->host), rowlock__int_value(past->pid),
                rowlock__text_value(past->command), rowlock__text_value(past->note),
                rowlock__int_value(past->acquired_ms), rowlock__int_value(past->waited_ms),
                rowlock__int_value(past->ended_ms), rowlock__text_value(past->how),
                rowlock__int_value(past->exit), rowlock__int_value(past->is_run)},
            14);
}

/* Reads backwards in growing windows until there are enough rows, because callers ask for few of
   many. */
static int read_pasts(struct asked *asked)
{
    int64_t from_ms, before_ms = INT64_MAX, width_ms = WINDOW_MS, now_ms = 0;
    int code = rowlock__work_now(asked->work, &now_ms);

    for (from_ms = now_ms; !code && before_ms > asked->since_ms; before_ms = from_ms) {
        if ((int64_t)asked->pasts.n >= asked->limit)
            break;
        from_ms = from_ms - width_ms > asked->since_ms ? from_ms - width_ms : asked->since_ms;
        width_ms *= WINDOW_GROWS;
        code = rowlock__work_ask(
            asked->work, ROWLOCK_PLAIN_ENDINGS,
            (struct rowlock_value[]){rowlock__int_value(from_ms), rowlock__int_value(before_ms)},
            past_row, asked);
    }
    return code;
}

/* pattern, since_ms, problems, waited_ms, limit -> rows, latest first */
int rowlock__emulate_history(struct rowlock_work *work)
{
    struct rowlock_value pattern = rowlock__work_value(work, 0);
    int64_t since_ms = rowlock__work_int(work, 1);
    struct asked asked = {.work = work,
                          .since_ms = since_ms > 0 ? since_ms : 0,
                          .problems = rowlock__work_int(work, 2) != 0,
                          .waited_ms = rowlock__work_int(work, 3),
                          .limit = rowlock__work_int(work, 4),
                          .pasts = {.size = sizeof(struct past)},
                          .runs = {.size = sizeof(struct rowlock_run_row)}};
    int code = rowlock__read_runs(work, NULL, &asked.runs);

    if (pattern.type == ROWLOCK_BYTES)
        asked.pattern = rowlock__rows_copy(&asked.runs, pattern.bytes, pattern.length);
    if (!code)
        code = read_pasts(&asked);
    code = rowlock__rows_complete(&asked.pasts, code, work->error);
    code = rowlock__rows_complete(&asked.runs, code, work->error);
    if (!code)
        answer_all(&asked);
    rowlock__rows_clear(&asked.pasts);
    rowlock__rows_clear(&asked.runs);
    return code;
}
