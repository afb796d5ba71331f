/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of a name. */
#include "emulate/names.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct rowlock_rows *rows;
    const struct rowlock_value *owner;
};

static bool same(const struct rowlock_value *a, const struct rowlock_value *b)
{
    return b && a->type == ROWLOCK_BYTES && b->type == ROWLOCK_BYTES && a->length == b->length &&
           memcmp(a->bytes, b->bytes, a->length) == 0;
}

char rowlock__kind_of(const struct rowlock_value *column)
{
    return column->type == ROWLOCK_BYTES && column->length ? column->bytes[0] : 'x';
}

const char *rowlock__mode_of(char kind)
{
    return kind == 's' ? "shared" : kind == 'p' ? "permit" : "exclusive";
}

/* [token,] expires, stop, now_ms */
void rowlock__take_beat(void *data, const struct rowlock_value *columns, unsigned n)
{
    unsigned i = n > 3;

    if (n > 2)
        *(struct rowlock_beat *)data = (struct rowlock_beat){
            i ? rowlock__value_number(&columns[0]) : 0, rowlock__value_number(&columns[i]),
            rowlock__value_number(&columns[i + 2]), rowlock__value_number(&columns[i + 1]) != 0};
}

void rowlock__take_beats(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_beat *beat = rowlock__rows_add(data);

    if (beat)
        rowlock__take_beat(beat, columns, n);
}

int rowlock__lock_beat(struct rowlock_work *work, int64_t token, struct rowlock_beat *beat,
                       bool *found)
{
    struct rowlock_value value = rowlock__int_value(token);
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_LOCK, &value);

    *beat = (struct rowlock_beat){0};
    *found = !code && work->affected > 0;
    return *found
               ? rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEAT, &value, rowlock__take_beat, beat)
               : code;
}

/* ---- leases ---------------------------------------------------------------------------------- */

/* token, kind, permits, owner, host, pid, command, note, acquired, name */
static void lease_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct reading *reading = data;
    struct rowlock_lease_row *row = n < 10 ? NULL : rowlock__rows_add(reading->rows);

    if (!row)
        return;
    row->held = (struct rowlock_held){.token = rowlock__value_number(&columns[0]),
                                      .kind = rowlock__kind_of(&columns[1]),
                                      .limit = rowlock__value_number(&columns[2]),
                                      .own = same(&columns[3], reading->owner)};
    row->owner = rowlock__copy_text(reading->rows, &columns[3]);
    row->host = rowlock__copy_text(reading->rows, &columns[4]);
    row->has_pid = columns[5].type != ROWLOCK_NULL;
    row->pid = rowlock__value_number(&columns[5]);
    row->command = rowlock__copy_text(reading->rows, &columns[6]);
    row->note = rowlock__copy_text(reading->rows, &columns[7]);
    row->acquired_ms = rowlock__value_number(&columns[8]);
    row->key = rowlock__copy_text(reading->rows, &columns[9]);
}

static void join(struct rowlock_lease_row *row, const struct rowlock_beat *beat)
{
    row->has_beat = true;
    row->held.expires_ms = beat->expires_ms;
    row->held.alive = beat->expires_ms > beat->now_ms;
    row->stopped = beat->stopped;
    row->now_ms = beat->now_ms;
}

static int read_beat(struct rowlock_work *work, int64_t token, struct rowlock_rows *rows)
{
    struct rowlock_beat beat = {0};
    struct rowlock_value value = rowlock__int_value(token);
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEAT, &value, rowlock__take_beat, &beat);
    struct rowlock_lease_row *row = rows->row;

    for (size_t i = 0; !code && work->affected && i < rows->n; i++)
        if (row[i].held.token == token)
            join(&row[i], &beat);
    return code;
}

static int by_token(const void *a, const void *b)
{
    const struct rowlock_beat *left = a, *right = b;

    return rowlock__order(left->token, right->token);
}

static int read_beats(struct rowlock_work *work, struct rowlock_rows *rows)
{
    struct rowlock_rows beats = {.size = sizeof(struct rowlock_beat)};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEATS, NULL, rowlock__take_beats, &beats);

    rowlock__rows_sort(&beats, by_token);
    for (size_t i = 0; !code && beats.n && i < rows->n; i++) {
        struct rowlock_lease_row *row = (struct rowlock_lease_row *)rows->row + i;
        struct rowlock_beat sought = {.token = row->held.token};
        const struct rowlock_beat *beat =
            bsearch(&sought, beats.row, beats.n, beats.size, by_token);

        if (beat)
            join(row, beat);
    }
    rowlock__rows_clear(&beats);
    return code;
}

int rowlock__read_leases(struct rowlock_work *work, const char *key,
                         const struct rowlock_value *owner, struct rowlock_rows *rows)
{
    struct reading reading = {rows, owner};
    struct rowlock_value value = rowlock__text_value(key);
    const struct rowlock_lease_row *row;
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_LEASES : ROWLOCK_PLAIN_LEASES_ALL,
                                 &value, lease_row, &reading);

    if (!code && !key && rows->n)
        code = read_beats(work, rows);
    row = rows->row;
    for (size_t i = 0, before; !code && key && i < rows->n; i++) {
        for (before = 0; row[before].held.token != row[i].held.token; before++)
            continue;
        if (before == i) /* the first row of its lease */
            code = read_beat(work, row[i].held.token, rows);
    }
    return rowlock__rows_complete(rows, code, work->error);
}

/* ---- the queue ------------------------------------------------------------------------------- */

/* ticket, kind, permits, wanted, owner, host, pid, command, note, since, alive_until, roll_call,
   name, now_ms */
static void waiter_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct reading *reading = data;
    struct rowlock_waiter_row *row = n < 14 ? NULL : rowlock__rows_add(reading->rows);

    if (!row)
        return;
    row->alive_until_ms = rowlock__value_number(&columns[10]);
    row->now_ms = rowlock__value_number(&columns[13]);
    row->queued = (struct rowlock_queued){.ticket = rowlock__value_number(&columns[0]),
                                          .kind = rowlock__kind_of(&columns[1]),
                                          .limit = rowlock__value_number(&columns[2]),
                                          .roll_call = rowlock__value_number(&columns[11]),
                                          .alive = row->alive_until_ms > row->now_ms,
                                          .own = same(&columns[4], reading->owner)};
    row->wanted = rowlock__value_number(&columns[3]);
    row->owner = rowlock__copy_text(reading->rows, &columns[4]);
    row->host = rowlock__copy_text(reading->rows, &columns[5]);
    row->pid = rowlock__value_number(&columns[6]);
    row->command = rowlock__copy_text(reading->rows, &columns[7]);
    row->note = rowlock__copy_text(reading->rows, &columns[8]);
    row->since_ms = rowlock__value_number(&columns[9]);
    row->key = rowlock__copy_text(reading->rows, &columns[12]);
}

static int by_ticket(const void *a, const void *b)
{
    int64_t left = ((const struct rowlock_waiter_row *)a)->queued.ticket;
    int64_t right = ((const struct rowlock_waiter_row *)b)->queued.ticket;

    return rowlock__order(left, right);
}

int rowlock__read_waiters(struct rowlock_work *work, const char *key, int64_t last,
                          const struct rowlock_value *owner, struct rowlock_rows *rows)
{
    struct reading reading = {rows, owner};
    struct rowlock_value values[] = {rowlock__text_value(key),
                                     rowlock__int_value(last ? last : INT64_MAX)};
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_WAITERS : ROWLOCK_PLAIN_WAITERS_ALL,
                                 values, waiter_row, &reading);

    rowlock__rows_sort(rows, by_ticket);
    return rowlock__rows_complete(rows, code, work->error);
}

void rowlock__name_rows_clear(struct rowlock_name_rows *rows)
{
    rowlock__rows_clear(&rows->leases);
    rowlock__rows_clear(&rows->waiters);
}
