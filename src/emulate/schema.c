/* SPDX-License-Identifier: Apache-2.0 */
/* The installed schema, vacuum, and counters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emulate/job_rows.h"
#include "util/error.h"

/* ---- counters -------------------------------------------------------------------------------- */

/* counter, start, count -> the first number. Under the lock of counter:NAME. */
int rowlock__emulate_next(struct rowlock_work *work)
{
    int64_t start = rowlock__work_int(work, 1), count = rowlock__work_int(work, 2), last = 0;
    struct rowlock_value name = rowlock__text_value(rowlock__work_key(work, 0));
    struct rowlock_value draw[] = {rowlock__int_value(count), name};
    struct rowlock_value add[] = {name, rowlock__int_value(start + count - 1)};
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_COUNTER_DRAW, draw);

    if (!code && work->affected == 0) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_COUNTER_ADD, add);
        return code ? code : rowlock__work_number(work, start);
    }
    if (!code)
        code =
            rowlock__work_ask(work, ROWLOCK_PLAIN_COUNTER_DRAWN, add, rowlock__take_number, &last);
    return code ? code : rowlock__work_number(work, last - count + 1);
}

/* ---- what is installed ----------------------------------------------------------------------- */

/* -> 1 if there is a schema */
int rowlock__emulate_installed(struct rowlock_work *work)
{
    const char *native = work->link->dialect->plain->native;
    bool there = false;
    int code = ROWLOCK_OK;

    if (!work->own) /* in the caller's transaction, which a failing statement could abort */
        return rowlock__work_number(work, 1);
    if (native)
        code = rowlock__work_has_table(work, native, &there);
    if (!code && there)
        return rowlock__fail(work->error, ROWLOCK_EMODE,
                             "this database has rowlock's functions, and locks taken without them "
                             "would not exclude theirs: use a %s: URL",
                             work->link->dialect->name);
    if (!code)
        code = rowlock__work_has_table(work, "rowlock_meta", &there);
    return code ? code : rowlock__work_number(work, there);
}

/* The objects of one piece: a table is there with all its columns and indexes, or not at all. */
static int list_parts(struct rowlock_work *work, const struct rowlock_piece *piece)
{
    char table[64] = "";
    bool there = false;
    int code = ROWLOCK_OK;

    for (const char *line = piece->parts; !code && *line;) {
        size_t length = strcspn(line, "\n");
        struct rowlock_value part = rowlock__bytes_value(line, length);

        if (strncmp(line, "table ", 6) == 0) { /* its columns, keys and indexes follow */
            snprintf(table, sizeof table, "%.*s", (int)length - 6, line + 6);
            code = rowlock__work_has_table(work, table, &there);
        } else if (strncmp(line, "function ", 9) == 0) { /* it was created before the last table */
            code = rowlock__work_has_table(work, "rowlock_meta", &there);
        }
        if (!code && there && length)
            rowlock__work_answer(work, &part, 1);
        line += length + (line[length] == '\n');
    }
    return code;
}

/* -> a row for each existing object */
int rowlock__emulate_parts(struct rowlock_work *work)
{
    int code = ROWLOCK_OK;

    for (const struct rowlock_piece *piece = work->link->dialect->pieces; !code && piece->name;
         piece++)
        code = list_parts(work, piece);
    return code;
}

/* ---- what is in use -------------------------------------------------------------------------- */

struct use {
    struct rowlock_work *work;
    int64_t count;
    char some[61];
};

static void use_name(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct use *use = data;
    size_t length = strlen(use->some);
    char name[256];

    if (n < 1)
        return;
    rowlock__key_name(use->work, columns[0], name);
    snprintf(use->some + length, sizeof use->some - length, "%s%s", length ? ", " : "", name);
    use->count++;
}

static void answer_use(struct use *use, const char *kind)
{
    if (use->count)
        rowlock__work_answer(use->work,
                             (struct rowlock_value[]){rowlock__text_value(kind),
                                                      rowlock__int_value(use->count),
                                                      rowlock__text_value(use->some)},
                             3);
}

static int use_of_leases(struct rowlock_work *work)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    struct use leases = {.work = work}, waiters = {.work = work};
    int code = rowlock__read_leases(work, NULL, NULL, &rows.leases);
    const struct rowlock_lease_row *lease = rows.leases.row;
    const struct rowlock_waiter_row *waiter;

    if (!code)
        code = rowlock__read_waiters(work, NULL, 0, NULL, &rows.waiters);
    waiter = rows.waiters.row;
    for (size_t i = 0; i < rows.leases.n; i++)
        if (lease[i].held.alive)
            use_name(&leases, (struct rowlock_value[]){rowlock__text_value(lease[i].key)}, 1);
    for (size_t i = 0; i < rows.waiters.n; i++)
        if (waiter[i].queued.alive)
            use_name(&waiters, (struct rowlock_value[]){rowlock__text_value(waiter[i].key)}, 1);
    if (!code) {
        answer_use(&leases, "leases");
        answer_use(&waiters, "waiters");
    }
    rowlock__name_rows_clear(&rows);
    return code;
}

/* -> kind, count, some names */
int rowlock__emulate_in_use(struct rowlock_work *work)
{
    static const struct {
        enum rowlock_plain_id id;
        const char *kind;
    } kinds[] = {{ROWLOCK_PLAIN_COUNTERS, "counters"},
                 {ROWLOCK_PLAIN_JOBS, "jobs"},
                 {ROWLOCK_PLAIN_SUBJECTS, "subjects"}};
    int code = use_of_leases(work);

    for (size_t i = 0; !code && i < sizeof kinds / sizeof *kinds; i++) {
        struct use use = {.work = work};

        code = rowlock__work_ask(work, kinds[i].id, NULL, use_name, &use);
        if (!code)
            answer_use(&use, kinds[i].kind);
    }
    return code;
}

/* ---- vacuum ---------------------------------------------------------------------------------- */

#define SWEEP_MOST 200
#define OLD_MS 60000
#define SWEEP_WAIT_MS 250

/* Whether the lease of a heartbeat has been expired for long. */
static bool is_old(const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_beat beat = {0};

    rowlock__take_beat(&beat, columns, n);
    return beat.expires_ms < beat.now_ms - OLD_MS;
}

static int expire_waiters(struct rowlock_work *work)
{
    struct rowlock_rows waiters = {.size = sizeof(struct rowlock_waiter_row)};
    int code = rowlock__read_waiters(work, NULL, 0, NULL, &waiters);
    const struct rowlock_waiter_row *row = waiters.row;

    for (size_t i = 0; !code && i < waiters.n; i++) {
        struct rowlock_value ticket = rowlock__int_value(row[i].queued.ticket);

        if (!row[i].queued.alive)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_EXPIRE, &ticket);
    }
    rowlock__rows_clear(&waiters);
    return code ? code : rowlock__work_commit(work);
}

/* Deletes heartbeats without a lease. Only a mistake leaves one, and no other function finds it. */
static int end_heartbeats(struct rowlock_work *work)
{
    struct rowlock_rows beats = {.size = sizeof(struct rowlock_beat)};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEATS, NULL, rowlock__take_beats, &beats);
    const struct rowlock_beat *beat = beats.row;

    for (size_t i = 0; !code && i < beats.n; i++) {
        struct rowlock_value token = rowlock__int_value(beat[i].token);

        if (beat[i].expires_ms > beat[i].now_ms)
            continue;
        code = rowlock__work_do(work, ROWLOCK_PLAIN_LEASE_NAMES, &token);
        if (!code && work->affected == 0)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_SWEEP, &token);
        if (!code)
            code = rowlock__work_commit(work);
    }
    code = rowlock__rows_complete(&beats, code, work->error);
    rowlock__rows_clear(&beats);
    return code;
}

static int end_leases(struct rowlock_work *work, int64_t *removed)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    int code = rowlock__read_leases(work, NULL, NULL, &leases);
    const struct rowlock_lease_row *row = leases.row;

    for (size_t i = 0; !code && i < leases.n; i++) {
        bool ended = false;

        if (row[i].held.alive)
            continue;
        code = rowlock__end_expired(work, row[i].held.token, SWEEP_WAIT_MS, &ended);
        *removed += ended;
        if (!code)
            code = rowlock__work_commit(work);
    }
    rowlock__rows_clear(&leases);
    return code;
}

static void old_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (is_old(columns, n))
        rowlock__take_beats(data, columns, n);
}

/* Sweeps each lease in a transaction of its own. */
int rowlock__emulate_sweep_some(struct rowlock_work *work)
{
    struct rowlock_rows beats = {.size = sizeof(struct rowlock_beat)};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEATS, NULL, old_row, &beats);
    const struct rowlock_beat *beat = beats.row;

    for (size_t i = 0; !code && i < beats.n && i < SWEEP_MOST; i++) {
        bool ended;

        code = rowlock__end_expired(work, beat[i].token, SWEEP_WAIT_MS, &ended);
        if (!code)
            code = rowlock__work_commit(work);
    }
    rowlock__rows_clear(&beats);
    return code;
}

/* Deletes the rows of names without a holder. A session that waits for a row finds it deleted, and
   creates it again. Keeps all where a try may cost the session. */
static int drop_names(struct rowlock_work *work, int64_t *removed)
{
    struct rowlock_rows names = {.size = sizeof(struct rowlock_key_row)};
    const struct rowlock_key_row *row;
    int code = ROWLOCK_OK;

    if (rowlock__work_can(work, ROWLOCK_PLAIN_NAME_TRY) || work->link->dialect->plain->wait)
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_NAME_LIST, NULL, rowlock__take_key, &names);
    if (!code)
        code = rowlock__work_commit(work);
    row = names.row;
    for (size_t i = 0; !code && i < names.n; i++) {
        struct rowlock_value name = rowlock__text_value(row[i].key);
        enum rowlock_status status;

        code = rowlock__name_lock(work, row[i].key, false, 0, &status);
        if (!code && status == ROWLOCK_STATUS_OK) {
            code = rowlock__work_do(work, ROWLOCK_PLAIN_NAME_DROP, &name);
            *removed += !code && work->affected > 0;
        }
        if (!code)
            code = rowlock__work_commit(work);
    }
    rowlock__rows_clear(&names);
    return code;
}

/* -> rows removed. Each step is a transaction of its own, so that it holds one lock at a time. */
int rowlock__emulate_vacuum(struct rowlock_work *work)
{
    int64_t removed = 0, pruned;
    int code = expire_waiters(work);

    if (!code)
        code = end_leases(work, &removed);
    if (!code)
        code = end_heartbeats(work);
    if (!code)
        code = drop_names(work, &removed);
    if (code)
        return code;
    code = rowlock__prune(work, INT64_MAX, &pruned);
    if (code == ROWLOCK_ESCHEMA || code == ROWLOCK_EDENIED || code == ROWLOCK_EDB) {
        /* a history that is missing, or that the account may not change, is ignored */
        rowlock__work_undo(work);
        rowlock__clear_error(work->error);
        if (rowlock__inner_state(work->link) != ROWLOCK_STATE_DEAD)
            code = ROWLOCK_OK;
    }
    return code ? code : rowlock__work_number(work, removed);
}

/* ---- examination ----------------------------------------------------------------------------- */

/* -> now_ms */
int rowlock__emulate_clock(struct rowlock_work *work)
{
    int64_t now_ms;
    int code = rowlock__work_now(work, &now_ms);

    return code ? code : rowlock__work_number(work, now_ms);
}

static void count_expired(void *data, const struct rowlock_value *columns, unsigned n)
{
    *(int64_t *)data += is_old(columns, n);
}

/* -> check rows */
int rowlock__emulate_examine_schema(struct rowlock_work *work)
{
    int64_t expired = 0;
    char text[80] = "none has been expired for more than a minute";
    struct rowlock_value row[4] = {rowlock__text_value("leases"), {0}, {0}, {0}};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEATS, NULL, count_expired, &expired);

    if (code)
        return code;
    if (expired)
        snprintf(text, sizeof text, "%" PRId64 " expired more than a minute ago and not swept",
                 expired);
    row[1] = rowlock__int_value(expired > 0);
    row[2] = rowlock__text_value(text);
    row[3] = rowlock__text_value(expired ? "rowlock vacuum" : NULL);
    rowlock__work_answer(work, row, 4);
    return ROWLOCK_OK;
}

/* name: deletes its row unless a transaction holds the name */
int rowlock__emulate_forget_name(struct rowlock_work *work)
{
    struct rowlock_value value = rowlock__text_value(rowlock__work_key(work, 0));

    return rowlock__work_do(work, ROWLOCK_PLAIN_NAME_DROP, &value);
}
