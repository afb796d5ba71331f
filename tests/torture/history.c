/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logs of a cell (history.h). */
#include "torture/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const history_phases[] = {"invoke", "ok", "fail", "unknown"};
const char *const history_kinds[KIND_COUNT] = {
    "add",  "hold",    "renew", "leave", "act",    "fence",  "commit", "begin",  "end",  "read",
    "free", "stopped", "final", "step",  "undone", "prompt", "calm",   "queued", "kept", "outage"};

static int find_word(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

/* 0, or -1 if the line is not an event. Until history_join an event is an operation with its time
   in both fields. */
static int read_event(const char *line, struct operation *event)
{
    char phase[16], kind[16];
    int64_t *number = event->number;
    int found_phase, found_kind;

    memset(event, 0, sizeof *event);
    if (sscanf(line,
               "%" SCNd64 " %ld %ld %15s %15s %ld %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %" SCNd64,
               &event->invoked, &event->client, &event->op, phase, kind, &event->key, &number[0],
               &number[1], &number[2], &number[3], &number[4]) < 6)
        return -1;
    found_phase = find_word(phase, history_phases, PHASE_UNKNOWN + 1);
    found_kind = find_word(kind, history_kinds, KIND_COUNT);
    if (found_phase < 0 || found_kind < 0)
        return -1;
    event->phase = (enum phase)found_phase;
    event->kind = (enum kind)found_kind;
    event->done = event->invoked;
    return 0;
}

static void append(struct history *history, const struct operation *event)
{
    if (history->n == history->space) {
        history->space = history->space ? 2 * history->space : 1024;
        history->operation =
            realloc(history->operation, history->space * sizeof *history->operation);
        if (!history->operation)
            abort();
    }
    history->operation[history->n++] = *event;
}

int history_read(struct history *history, FILE *log, const char *name)
{
    struct operation event;
    char line[400];
    int code = 0;

    while (fgets(line, sizeof line, log)) {
        if (!strchr(line, '\n'))
            break; /* the client was killed while it wrote */
        if (read_event(line, &event) == 0) {
            append(history, &event);
        } else {
            fprintf(stderr, "%s: not an event: %s", name, line);
            code = -1;
        }
    }
    return code;
}

static int order_of(const struct operation *a, const struct operation *b)
{
    if (a->client != b->client)
        return a->client < b->client ? -1 : 1;
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* An invocation comes before its completion. */
static int compare(const void *a, const void *b)
{
    const struct operation *left = a, *right = b;
    int order = order_of(left, right);

    if (order)
        return order;
    if (left->invoked != right->invoked)
        return left->invoked < right->invoked ? -1 : 1;
    return (int)left->phase - (int)right->phase;
}

void history_join(struct history *history)
{
    size_t n = 0;

    if (history->n)
        qsort(history->operation, history->n, sizeof *history->operation, compare);
    for (size_t i = 0; i < history->n; i++) {
        struct operation *event = &history->operation[i];
        struct operation *last = n ? &history->operation[n - 1] : NULL;

        if (last && last->done == INT64_MAX && event->phase != PHASE_INVOKE &&
            order_of(last, event) == 0) {
            event->invoked = last->invoked;
            *last = *event;
            continue;
        }
        history->operation[n] = *event;
        if (event->phase == PHASE_INVOKE) {
            history->operation[n].phase = PHASE_UNKNOWN;
            history->operation[n].done = INT64_MAX;
        }
        n++;
    }
    history->n = n;
}

const struct operation *history_find(const struct history *history, const struct operation *like,
                                     enum kind kind)
{
    struct operation wanted = {
        .client = like->client, .op = like->op, .kind = kind, .key = like->key};
    size_t from = 0, upto = history->n;

    while (from < upto) {
        size_t middle = from + (upto - from) / 2;

        if (order_of(&history->operation[middle], &wanted) < 0)
            from = middle + 1;
        else
            upto = middle;
    }
    return from < history->n && order_of(&history->operation[from], &wanted) == 0
               ? &history->operation[from]
               : NULL;
}

void history_free(struct history *history)
{
    free(history->operation);
    memset(history, 0, sizeof *history);
}
