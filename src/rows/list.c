/* SPDX-License-Identifier: Apache-2.0 */
/* Lists for display: holders and waiters. They are read without locks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rows/names.h"

#define TIME_SIZE 40

static const char *mode_of(char kind)
{
    return kind == 's' ? "shared" : kind == 'p' ? "permit" : "exclusive";
}

/* Rows of one name and token are one lease: how many follow, or 0 if an earlier one counted it. */
static int64_t permits_from(const struct rowlock_rows *rows, size_t i)
{
    const struct rowlock_lease_row *row = rows->row;
    int64_t count = 0;

    for (size_t j = 0; j < rows->n; j++) {
        if (row[j].held.token != row[i].held.token || strcmp(row[j].key, row[i].key) != 0)
            continue;
        if (j < i)
            return 0;
        count++;
    }
    return count;
}

static int by_name_and_token(const void *a, const void *b)
{
    const struct rowlock_lease_row *left = a, *right = b;
    int order = strcmp(left->key, right->key);

    if (order == 0 && left->held.token != right->held.token)
        order = left->held.token < right->held.token ? -1 : 1;
    return order;
}

static void list_holder(struct rowlock_work *work, const struct rowlock_lease_row *row,
                        int64_t count)
{
    struct rowlock_value key = rowlock__text_value(row->key);
    char name[256];

    rowlock__key_name(work, &key, name);
    rowlock__work_answer(
        work,
        (struct rowlock_value[]){
            rowlock__text_value("held"), rowlock__text_value(name),
            rowlock__text_value(mode_of(row->held.kind)), rowlock__int_value(row->held.token),
            rowlock__int_value(0), rowlock__text_value(row->owner), rowlock__text_value(row->host),
            rowlock__optional_value(row->has_pid, row->pid), rowlock__text_value(row->command),
            rowlock__text_value(row->note), rowlock__int_value(row->acquired_ms),
            rowlock__int_value(row->held.expires_ms),
            rowlock__int_value(row->held.expires_ms - row->now_ms),
            rowlock__optional_value(row->held.kind == 'p', row->held.limit),
            rowlock__int_value(count), rowlock__int_value(row->stopped)},
        16);
}

static void list_waiter(struct rowlock_work *work, const struct rowlock_waiter_row *row)
{
    struct rowlock_value key = rowlock__text_value(row->key);
    char name[256];

    rowlock__key_name(work, &key, name);
    rowlock__work_answer(work,
                         (struct rowlock_value[]){
                             rowlock__text_value("waiting"), rowlock__text_value(name),
                             rowlock__text_value(mode_of(row->queued.kind)), rowlock__int_value(0),
                             rowlock__int_value(row->queued.ticket),
                             rowlock__text_value(row->owner), rowlock__text_value(row->host),
                             rowlock__int_value(row->pid), rowlock__text_value(row->command),
                             rowlock__text_value(row->note), rowlock__int_value(row->since_ms),
                             rowlock__int_value(0), rowlock__int_value(0),
                             rowlock__optional_value(row->queued.kind == 'p', row->queued.limit),
                             rowlock__int_value(row->wanted), rowlock__int_value(0)},
                         16);
}

static int read_all(struct rowlock_work *work, const char *key, struct rowlock_name_rows *rows)
{
    int code = rowlock__read_leases(work, key, NULL, &rows->leases);

    if (!code)
        code = rowlock__read_waiters(work, key, NULL, &rows->waiters);
    if (rows->leases.n > 1)
        qsort(rows->leases.row, rows->leases.n, rows->leases.size, by_name_and_token);
    return code;
}

/* name or NULL -> holders, then waiters */
int rowlock__rows_list(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    struct rowlock_value name = rowlock__work_value(work, 0);
    char key[ROWLOCK_KEY_SIZE];
    int code;

    rowlock__key(work, "", &name, key);
    code = read_all(work, name.type == ROWLOCK_NULL ? NULL : key, &rows);
    for (size_t i = 0; !code && i < rows.leases.n; i++) {
        const struct rowlock_lease_row *row = (struct rowlock_lease_row *)rows.leases.row + i;
        int64_t count = permits_from(&rows.leases, i);

        if (row->held.alive && count)
            list_holder(work, row, count);
    }
    for (size_t i = 0; !code && i < rows.waiters.n; i++) {
        const struct rowlock_waiter_row *row = (struct rowlock_waiter_row *)rows.waiters.row + i;

        if (row->queued.alive)
            list_waiter(work, row);
    }
    rowlock__name_rows_clear(&rows);
    return code;
}

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

static int64_t count_waiters(const struct rowlock_rows *waiters)
{
    int64_t count = 0;

    for (size_t i = 0; i < waiters->n; i++)
        count += ((struct rowlock_waiter_row *)waiters->row)[i].queued.alive;
    return count;
}

/* name -> kind, pid, host, program, since, expires, note, waiting */
int rowlock__rows_holder(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    char key[ROWLOCK_KEY_SIZE], since[TIME_SIZE], expires[TIME_SIZE];
    int code;

    rowlock__key(work, "", &work->call->values[0], key);
    code = read_all(work, key, &rows);
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
                rowlock__text_value(row->note), rowlock__int_value(count_waiters(&rows.waiters))},
            8);
    }
    rowlock__name_rows_clear(&rows);
    return code;
}
