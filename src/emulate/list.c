/* SPDX-License-Identifier: Apache-2.0 */
/* Lists for display: holders and waiters. They are read without locks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulate/names.h"
#include "util/error.h"

#define TIME_SIZE 40

/* The number of permits of the lease whose first row is row `i`: the rows of one name and token are
   one lease, and are together. 0: row `i` is not its first. */
static int64_t permits_from(const struct rowlock_rows *rows, size_t i)
{
    const struct rowlock_lease_row *row = rows->row;
    const struct rowlock_lease_row *first = &row[i], *before = i > 0 ? &row[i - 1] : NULL;
    size_t end = i;

    if (before && before->held.token == first->held.token && strcmp(before->key, first->key) == 0)
        return 0;
    while (end < rows->n && row[end].held.token == first->held.token &&
           strcmp(row[end].key, first->key) == 0)
        end++;
    return (int64_t)(end - i);
}

static int by_name_and_token(const void *a, const void *b)
{
    const struct rowlock_lease_row *left = a, *right = b;
    int order = strcmp(left->key, right->key);

    return order ? order : rowlock__order(left->held.token, right->held.token);
}

/* `queue`: the last column, which only list_longest has; < 0: none. */
static void list_holder(struct rowlock_work *work, const struct rowlock_lease_row *row,
                        int64_t count, int64_t queue)
{
    char name[256];

    rowlock__key_name(work, rowlock__text_value(row->key), name);
    rowlock__work_answer(
        work,
        (struct rowlock_value[]){
            rowlock__text_value("held"), rowlock__text_value(name),
            rowlock__text_value(rowlock__mode_of(row->held.kind)),
            rowlock__int_value(row->held.token), rowlock__int_value(0),
            rowlock__text_value(row->owner), rowlock__text_value(row->host),
            rowlock__optional_value(row->has_pid, row->pid), rowlock__text_value(row->command),
            rowlock__text_value(row->note), rowlock__int_value(row->acquired_ms),
            rowlock__int_value(row->held.expires_ms),
            rowlock__int_value(rowlock__between(row->now_ms, row->held.expires_ms)),
            rowlock__optional_value(row->held.kind == 'p', row->held.limit),
            rowlock__int_value(count), rowlock__int_value(row->stopped), rowlock__int_value(queue)},
        queue < 0 ? 16 : 17);
}

static void list_waiter(struct rowlock_work *work, const struct rowlock_waiter_row *row,
                        int64_t queue)
{
    char name[256];

    rowlock__key_name(work, rowlock__text_value(row->key), name);
    rowlock__work_answer(
        work,
        (struct rowlock_value[]){
            rowlock__text_value("waiting"), rowlock__text_value(name),
            rowlock__text_value(rowlock__mode_of(row->queued.kind)), rowlock__int_value(0),
            rowlock__int_value(row->queued.ticket), rowlock__text_value(row->owner),
            rowlock__text_value(row->host), rowlock__int_value(row->pid),
            rowlock__text_value(row->command), rowlock__text_value(row->note),
            rowlock__int_value(row->since_ms), rowlock__int_value(0), rowlock__int_value(0),
            rowlock__optional_value(row->queued.kind == 'p', row->queued.limit),
            rowlock__int_value(row->wanted), rowlock__int_value(0), rowlock__int_value(queue)},
        queue < 0 ? 16 : 17);
}

static int read_all(struct rowlock_work *work, const char *key, struct rowlock_name_rows *rows)
{
    int code = rowlock__read_leases(work, key, NULL, &rows->leases);

    if (!code)
        code = rowlock__read_waiters(work, key, 0, NULL, &rows->waiters);
    rowlock__rows_sort(&rows->leases, by_name_and_token);
    return code;
}

/* name or NULL -> holders, then waiters */
int rowlock__emulate_list(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    bool all = rowlock__work_value(work, 0).type == ROWLOCK_NULL;
    int code = read_all(work, all ? NULL : rowlock__work_key(work, 0), &rows);

    for (size_t i = 0; !code && i < rows.leases.n; i++) {
        const struct rowlock_lease_row *row = (struct rowlock_lease_row *)rows.leases.row + i;
        int64_t count = permits_from(&rows.leases, i);

        if (row->held.alive && count)
            list_holder(work, row, count, -1);
    }
    for (size_t i = 0; !code && i < rows.waiters.n; i++) {
        const struct rowlock_waiter_row *row = (struct rowlock_waiter_row *)rows.waiters.row + i;

        if (row->queued.alive)
            list_waiter(work, row, -1);
    }
    rowlock__name_rows_clear(&rows);
    return code;
}

/* ---- the longest queues first ---------------------------------------------------------------- */

struct entry { /* a row of the list */
    const struct rowlock_lease_row *lease;
    const struct rowlock_waiter_row *waiter; /* either `lease` or `waiter` is NULL */
    int64_t count;                           /* permits of the lease */
    const char *key;
    int64_t queue, place; /* queue: waiters of its name; place: its own among them */
    int64_t order;
    bool fits; /* its name matches the pattern */
};

struct entries {
    struct entry *entry;
    size_t n;
};

static bool is_wanted(struct rowlock_work *work, const char *key, const char *pattern)
{
    char name[256];

    rowlock__key_name(work, rowlock__text_value(key), name);
    return rowlock__is_like(name, pattern);
}

static void gather(struct rowlock_work *work, const struct rowlock_name_rows *rows,
                   const char *pattern, bool others, struct entries *out)
{
    bool fits;

    for (size_t i = 0; i < rows->leases.n; i++) {
        const struct rowlock_lease_row *row = (struct rowlock_lease_row *)rows->leases.row + i;
        int64_t count = row->held.alive ? permits_from(&rows->leases, i) : 0;

        fits = count && is_wanted(work, row->key, pattern);
        if (count && (fits || others))
            out->entry[out->n++] =
                (struct entry){.lease = row, .count = count, .key = row->key, .fits = fits};
    }
    for (size_t i = 0; i < rows->waiters.n; i++) {
        const struct rowlock_waiter_row *row = (struct rowlock_waiter_row *)rows->waiters.row + i;

        fits = row->queued.alive && is_wanted(work, row->key, pattern);
        if (row->queued.alive && (fits || others))
            out->entry[out->n++] = (struct entry){.waiter = row, .key = row->key, .fits = fits};
    }
}

/* By name, holders first, then by ticket. */
static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = strcmp(a->key, b->key);

    if (!order)
        order = rowlock__order(a->waiter != NULL, b->waiter != NULL);
    if (!order && a->waiter)
        order = rowlock__order(a->waiter->queued.ticket, b->waiter->queued.ticket);
    return order || a->waiter ? order : rowlock__order(a->lease->held.token, b->lease->held.token);
}

static int by_order(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = rowlock__order(!a->fits, !b->fits);

    if (!order)
        order = rowlock__order(a->order, b->order);
    return order ? order : by_key(left, right);
}

/* Counts the waiters of each name, and sets the order. The entries of one name are together. */
static void count_queues(struct entries *entries, int64_t how)
{
    struct entry *entry = entries->entry;
    size_t end;

    for (size_t i = 0; i < entries->n; i = end) {
        int64_t queue = 0, oldest_ms = INT64_MAX;

        for (end = i; end < entries->n && strcmp(entry[end].key, entry[i].key) == 0; end++)
            if (entry[end].waiter) {
                entry[end].place = ++queue;
                if (entry[end].waiter->since_ms < oldest_ms)
                    oldest_ms = entry[end].waiter->since_ms;
            }
        for (size_t at = i; at < end; at++) {
            entry[at].queue = queue;
            entry[at].order = how == 0 ? -queue : how == 1 ? oldest_ms : 0;
        }
    }
}

static void put_entries(struct rowlock_work *work, const struct entries *entries,
                        int64_t most_waiters, int64_t most)
{
    int64_t n = 0;

    for (size_t i = 0; i < entries->n && (most == 0 || n < most); i++) {
        const struct entry *entry = &entries->entry[i];

        if (entry->waiter && entry->fits && most_waiters && entry->place > most_waiters)
            continue;
        if (entry->waiter)
            list_waiter(work, entry->waiter, entry->queue);
        else
            list_holder(work, entry->lease, entry->count, entry->queue);
        n++;
    }
}

/* pattern, order, most waiters of a name, most rows, others -> list's columns, queue */
int rowlock__emulate_list_longest(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    struct rowlock_value pattern = rowlock__work_value(work, 0);
    char *text = strndup(pattern.bytes, pattern.length);
    int64_t how = rowlock__value_number(&work->call->values[1]);
    struct entries entries = {0};
    int code = read_all(work, NULL, &rows);

    if (!code)
        entries.entry = calloc(rows.leases.n + rows.waiters.n + 1, sizeof *entries.entry);
    if (!code && (!entries.entry || !text))
        code = rowlock__no_memory(work->error);
    if (!code) {
        gather(work, &rows, text, rowlock__work_int(work, 4) != 0, &entries);
        qsort(entries.entry, entries.n, sizeof *entries.entry, by_key);
        count_queues(&entries, how);
        qsort(entries.entry, entries.n, sizeof *entries.entry, by_order);
        put_entries(work, &entries, rowlock__value_number(&work->call->values[2]),
                    rowlock__value_number(&work->call->values[3]));
    }
    free(entries.entry);
    free(text);
    rowlock__name_rows_clear(&rows);
    return code;
}

/* ---- the holder of one name ------------------------------------------------------------------ */

/* "2026-11-21T01:00:01.000Z" */
static const char *utc_text(int64_t ms, char *out, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    char day[32];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm))
        return NULL;
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, size, "%s.%03dZ", day, (int)(ms % 1000));
    return out;
}

/* name -> kind, pid, host, program, since, expires, note, waiting */
int rowlock__emulate_holder(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    char since[TIME_SIZE], expires[TIME_SIZE];
    int64_t waiting = 0;
    int code = read_all(work, rowlock__work_key(work, 0), &rows);

    for (size_t i = 0; i < rows.waiters.n; i++)
        waiting += ((struct rowlock_waiter_row *)rows.waiters.row)[i].queued.alive;
    for (size_t i = 0; !code && i < rows.leases.n; i++) {
        const struct rowlock_lease_row *row = (struct rowlock_lease_row *)rows.leases.row + i;

        if (!row->held.alive || !permits_from(&rows.leases, i))
            continue;
        rowlock__work_answer(
            work,
            (struct rowlock_value[]){
                rowlock__text_value("lease"), rowlock__optional_value(row->has_pid, row->pid),
                rowlock__text_value(row->host), rowlock__text_value(row->command),
                rowlock__text_value(utc_text(row->acquired_ms, since, sizeof since)),
                rowlock__text_value(utc_text(row->held.expires_ms, expires, sizeof expires)),
                rowlock__text_value(row->note), rowlock__int_value(waiting)},
            8);
    }
    rowlock__name_rows_clear(&rows);
    return code;
}
