/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects: data that is refreshed exactly once when it is stale. */
#include <string.h>

#include "emulate/names.h"
#include "util/error.h"

#define REFUSE_MS 250 /* the row may be locked by another refresh */
#define LOCKED 2      /* dialect.h, subject_fail */

struct subject_row {
    int64_t version, began_ms, ended_ms, basis_ms, updated_ms, pid, token, exit, now_ms;
    bool has_began, has_ended, has_data, was_updated, has_pid, has_exit;
    const char *key, *status, *description, *host, *program, *error;
};

static bool number(const struct rowlock_value *column, int64_t *out)
{
    *out = rowlock__value_number(column);
    return column->type != ROWLOCK_NULL;
}

/* name, version, status, description, began, ended, basis, updated, host, pid, program, token,
   error, exit, now_ms */
static void subject_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct subject_row *row = n < 15 ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    row->key = rowlock__copy_text(rows, &columns[0]);
    row->version = rowlock__value_number(&columns[1]);
    row->status = rowlock__copy_text(rows, &columns[2]);
    row->description = rowlock__copy_text(rows, &columns[3]);
    row->has_began = number(&columns[4], &row->began_ms);
    row->has_ended = number(&columns[5], &row->ended_ms);
    row->has_data = number(&columns[6], &row->basis_ms);
    row->was_updated = number(&columns[7], &row->updated_ms);
    row->host = rowlock__copy_text(rows, &columns[8]);
    row->has_pid = number(&columns[9], &row->pid);
    row->program = rowlock__copy_text(rows, &columns[10]);
    row->token = rowlock__value_number(&columns[11]);
    row->error = rowlock__copy_text(rows, &columns[12]);
    row->has_exit = number(&columns[13], &row->exit);
    row->now_ms = rowlock__value_number(&columns[14]);
}

static bool is(const struct subject_row *row, const char *status)
{
    return row->status && strcmp(row->status, status) == 0;
}

static int read_subject(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code;

    rows->n = 0;
    code = rowlock__work_ask(work, ROWLOCK_PLAIN_SUBJECT, &value, subject_row, rows);
    return rowlock__rows_complete(rows, code, work->error);
}

/* Reads it without a lock. `*busy`: a refresh is under way, and on this engine readers wait for
   writers. */
static int look_at_subject(struct rowlock_work *work, const char *key, struct rowlock_rows *rows,
                           bool *busy)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code;

    *busy = false;
    if (work->link->dialect->plain->wait || work->link->dialect->plain->whole || !work->own)
        return read_subject(work, key, rows);
    code = rowlock__work_read_within(work, ROWLOCK_PLAIN_SUBJECT, &value, subject_row, rows,
                                     REFUSE_MS, busy);
    return rowlock__rows_complete(rows, code, work->error);
}

/* Refreshes that began no later than this count as stale; -1: none was expired. */
static int read_expiry(struct rowlock_work *work, const char *key, int64_t *expired_ms)
{
    struct rowlock_value value = rowlock__text_value(key);

    *expired_ms = -1;
    return rowlock__work_ask(work, ROWLOCK_PLAIN_EXPIRY, &value, rowlock__take_number, expired_ms);
}

static int64_t age_of(const struct subject_row *row)
{
    return rowlock__most(0, rowlock__between(row->updated_ms, row->now_ms));
}

static bool is_stale(const struct subject_row *row, int64_t expired_ms, int64_t max_age_ms)
{
    return rowlock__judge_stale(is(row, "COMPLETE"), row->basis_ms, expired_ms,
                                row->was_updated ? row->updated_ms : -1, row->now_ms, max_age_ms);
}

/* name, max_age_ms -> stale, age_ms; no row: unknown. An unknown subject gets a row at once, so
   that rowlock_expire finds it during its first refresh. */
int rowlock__emulate_subject_look(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    int64_t expired_ms = -1, max_age_ms = rowlock__work_int(work, 1);
    const char *key = rowlock__work_key(work, 0);
    struct rowlock_value name = rowlock__text_value(key);
    bool busy;
    int code = look_at_subject(work, key, &rows, &busy);
    const struct subject_row *row = rows.row;

    if (code || busy) {
        rowlock__rows_clear(&rows);
        return code;
    }
    if (!code)
        code = read_expiry(work, key, &expired_ms);
    if (!code && rows.n) {
        rowlock__work_answer(
            work,
            (struct rowlock_value[]){rowlock__int_value(is_stale(row, expired_ms, max_age_ms)),
                                     rowlock__optional_value(row->was_updated, age_of(row))},
            2);
    } else if (!code && work->own) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_ADD, &name);
        if (rowlock__work_is_duplicate(work, code))
            code = ROWLOCK_OK;
    }
    rowlock__rows_clear(&rows);
    return code;
}

/* ---- begin ----------------------------------------------------------------------------------- */

static int mark(struct rowlock_work *work, const struct subject_row *row, int64_t expired_ms,
                int64_t *stale)
{
    struct rowlock_value description = rowlock__work_value(work, 3);
    int64_t began_ms = row->now_ms > expired_ms ? row->now_ms : expired_ms + 1;
    struct rowlock_value values[] = {
        rowlock__int_value(began_ms),
        description.type == ROWLOCK_NULL ? rowlock__text_value(row->description) : description,
        rowlock__work_value(work, 4),
        rowlock__work_value(work, 5),
        rowlock__work_value(work, 6),
        rowlock__work_value(work, 2),
        rowlock__text_value(row->key),
        rowlock__int_value(row->version)};
    int code;

    *stale = is_stale(row, expired_ms, rowlock__work_int(work, 1));
    if (!*stale)
        return ROWLOCK_OK;
    code = rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_MARK, values);
    if (!code && work->affected == 0)
        return rowlock__fail(work->error, ROWLOCK_EABORTED,
                             "the subject was changed at the same time; roll back and try again");
    if (!code && rowlock__work_can(work, ROWLOCK_PLAIN_SUBJECT_SAVEPOINT))
        code = rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_SAVEPOINT, NULL);
    return code;
}

/* name, max_age_ms, token, description, host, pid, program -> stale, age_ms, version. Under the
   lock of subject:NAME. */
int rowlock__emulate_subject_begin(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    int64_t expired_ms = -1, stale = 0, version = 0, token = rowlock__work_int(work, 2);
    const char *key = rowlock__work_key(work, 0);
    struct rowlock_value name = rowlock__text_value(key);
    const struct subject_row *row;
    int code = read_subject(work, key, &rows);

    if (!code && !rows.n) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_ADD, &name);
        if (!code)
            code = read_subject(work, key, &rows);
    }
    row = rows.row;
    if (!code && rows.n && token && row->token == token && is(row, "PROCESSING")) {
        stale = 1; /* by an earlier try of this call */
        version = row->version;
    } else if (!code && rows.n) {
        code = read_expiry(work, key, &expired_ms);
        if (!code)
            code = mark(work, row, expired_ms, &stale);
        version = row->version + stale;
    }
    if (!code && rows.n)
        rowlock__work_answer(
            work,
            (struct rowlock_value[]){rowlock__int_value(stale),
                                     rowlock__optional_value(row->was_updated, age_of(row)),
                                     rowlock__int_value(version)},
            3);
    rowlock__rows_clear(&rows);
    return code;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int complete(struct rowlock_work *work, const struct subject_row *row,
                    struct rowlock_value exit_status)
{
    /* one time for ended and updated: the clocks of some engines move within a statement */
    struct rowlock_value now = rowlock__int_value(row->now_ms);
    struct rowlock_value values[] = {
        rowlock__int_value(row->began_ms), now, now, exit_status, rowlock__text_value(row->key),
        rowlock__int_value(row->version)};

    return rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_COMPLETE, values);
}

/* name, version -> status. In the transaction of subject_begin. */
int rowlock__emulate_subject_done(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    enum rowlock_status status = ROWLOCK_STATUS_LOST;
    int code = read_subject(work, rowlock__work_key(work, 0), &rows);
    const struct subject_row *row = rows.row;

    if (!code && rows.n && is(row, "PROCESSING") && row->token == 0 &&
        row->version == rowlock__work_int(work, 1)) {
        code = complete(work, row, rowlock__text_value(NULL));
        if (!code && work->affected)
            status = ROWLOCK_STATUS_OK;
    }
    rowlock__rows_clear(&rows);
    return code ? code : rowlock__work_number(work, status);
}

static int refuse(struct rowlock_work *work, const struct subject_row *row, int64_t *result)
{
    struct rowlock_value description = rowlock__work_value(work, 2);
    struct rowlock_value values[] = {
        rowlock__work_value(work, 1),
        description.type == ROWLOCK_NULL ? rowlock__text_value(row->description) : description,
        rowlock__work_value(work, 3),
        rowlock__work_value(work, 4),
        rowlock__work_value(work, 5),
        rowlock__work_value(work, 6),
        rowlock__text_value(row->key),
        rowlock__int_value(row->version)};
    bool busy;
    int code =
        rowlock__work_ask_within(work, ROWLOCK_PLAIN_SUBJECT_REFUSE, values, REFUSE_MS, &busy);

    *result = busy ? LOCKED : work->affected > 0;
    return code;
}

/* name, version, description, host, pid, program, error -> number */
int rowlock__emulate_subject_fail(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    int64_t version = rowlock__work_int(work, 1), result = 0;
    const char *key = rowlock__work_key(work, 0);
    struct rowlock_value name = rowlock__text_value(key);
    const struct subject_row *row;
    bool busy = false, fails;
    int code = rowlock__work_begin_within(work, -1); /* waits for other writers of a file */

    if (!code)
        code = rowlock__work_read_within(work, ROWLOCK_PLAIN_SUBJECT, &name, subject_row, &rows,
                                         REFUSE_MS, &busy);
    code = rowlock__rows_complete(&rows, code, work->error);
    if (!code && !busy && !rows.n && version == 1) {
        code = rowlock__work_ask_within(work, ROWLOCK_PLAIN_SUBJECT_ADD, &name, REFUSE_MS, &busy);
        if (rowlock__work_is_duplicate(work, code))
            code = ROWLOCK_OK;
        if (!code && !busy)
            code = read_subject(work, key, &rows);
    }
    if (busy)
        result = LOCKED;
    row = rows.row;
    fails = !code && rows.n &&
            (row->version == version - 1 ||
             (row->version == version && is(row, "PROCESSING") && row->token == 0));
    if (fails)
        code = refuse(work, row, &result);
    rowlock__rows_clear(&rows);
    return code ? code : rowlock__work_number(work, result);
}

/* name, token, failed, error, exit -> status; ends the lease */
int rowlock__emulate_subject_finish(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    struct rowlock_value token = rowlock__work_value(work, 1);
    struct rowlock_value exited = rowlock__work_value(work, 4);
    struct rowlock_value values[] = {rowlock__work_value(work, 3), exited, {0}, {0}};
    const struct subject_row *row;
    bool has_lease = false, was;
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_LOCK, &token);

    has_lease = !code && work->affected > 0;
    if (!code)
        code = read_subject(work, rowlock__work_key(work, 0), &rows);
    row = rows.row;
    if (!code && rows.n && is(row, "PROCESSING") && row->token == token.number) {
        if (!has_lease)
            values[0] = rowlock__text_value("its lease was lost before it finished");
        values[2] = rowlock__text_value(row->key);
        values[3] = rowlock__int_value(row->version);
        code = !has_lease || rowlock__work_int(work, 2)
                   ? rowlock__work_do(work, ROWLOCK_PLAIN_SUBJECT_ERROR, values)
                   : complete(work, row, exited);
    }
    if (!code && has_lease)
        code = rowlock__end_lease_rows(work, token.number, &was);
    rowlock__rows_clear(&rows);
    return code ? code
                : rowlock__work_number(work, has_lease ? ROWLOCK_STATUS_OK : ROWLOCK_STATUS_LOST);
}

/* ---- expire ---------------------------------------------------------------------------------- */

/* Moves the expiry to `until_ms`, but at least 1 ms later than before, under the lock of its row.
   `*known`: the subject has such a row. */
static int move_expiry(struct rowlock_work *work, struct rowlock_value name, int64_t until_ms,
                       bool *known)
{
    struct rowlock_value until = rowlock__int_value(until_ms);
    struct rowlock_value values[] = {until, name, until};
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_EXPIRY_NEXT, &name);

    *known = !code && work->affected > 0;
    if (*known)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_EXPIRY_SET, values);
    return code;
}

static int expire(struct rowlock_work *work, const struct subject_row *row)
{
    struct rowlock_value name = rowlock__text_value(row->key);
    int64_t until_ms = row->now_ms > row->began_ms ? row->now_ms : row->began_ms;
    struct rowlock_value values[] = {name, rowlock__int_value(until_ms)};
    bool known;
    int code = move_expiry(work, name, until_ms, &known);

    if (code || known)
        return code;
    code = rowlock__work_do(work, ROWLOCK_PLAIN_EXPIRY_ADD, values);
    if (!rowlock__work_is_duplicate(work, code))
        return code;
    return move_expiry(work, name, until_ms, &known); /* another session was faster */
}

/* name -> 1, or 0: unknown */
int rowlock__emulate_subject_expire(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    const char *key = rowlock__work_key(work, 0);
    struct subject_row unread = {.key = key};
    bool busy;
    int code = look_at_subject(work, key, &rows, &busy);
    int64_t known = busy || rows.n > 0;

    if (!code && busy) /* the refresh under way began before now */
        code = rowlock__work_now(work, &unread.now_ms);
    if (!code && known)
        code = expire(work, busy ? &unread : rows.row);
    rowlock__rows_clear(&rows);
    return code ? code : rowlock__work_number(work, known);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int list_subject(struct rowlock_work *work, const struct subject_row *row)
{
    struct rowlock_value token = rowlock__int_value(row->token);
    struct rowlock_beat beat = {0};
    const char *error = row->error;
    int64_t expired_ms = -1;
    bool died, counts;
    char name[256];
    int code = read_expiry(work, row->key, &expired_ms);

    if (!code && is(row, "PROCESSING") && row->token)
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_HEARTBEAT, &token, rowlock__take_beat, &beat);
    died = is(row, "PROCESSING") && beat.expires_ms <= beat.now_ms;
    if (died)
        error = row->token ? "its holder died" : "its transaction was committed before it finished";
    counts = row->has_data && row->basis_ms > expired_ms && row->was_updated;
    rowlock__key_name(work, rowlock__text_value(row->key), name);
    if (!code)
        rowlock__work_answer(
            work,
            (struct rowlock_value[]){
                rowlock__text_value(name), rowlock__text_value(row->description),
                rowlock__text_value(died ? "ERROR" : row->status),
                rowlock__optional_value(row->has_began, row->began_ms),
                rowlock__optional_value(row->has_ended, row->ended_ms),
                rowlock__optional_value(counts, row->updated_ms),
                rowlock__optional_value(counts, age_of(row)), rowlock__text_value(row->program),
                rowlock__text_value(row->host), rowlock__optional_value(row->has_pid, row->pid),
                rowlock__text_value(error), rowlock__optional_value(row->has_exit, row->exit),
                rowlock__int_value(row->has_data)},
            13);
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct subject_row *)a)->key, ((const struct subject_row *)b)->key);
}

/* name or NULL -> see dialect.h */
int rowlock__emulate_subject_list(struct rowlock_work *work)
{
    struct rowlock_rows rows = {.size = sizeof(struct subject_row)};
    int code = rowlock__work_value(work, 0).type == ROWLOCK_NULL
                   ? rowlock__work_ask(work, ROWLOCK_PLAIN_SUBJECTS, NULL, subject_row, &rows)
                   : read_subject(work, rowlock__work_key(work, 0), &rows);

    rowlock__rows_sort(&rows, by_name);
    for (size_t i = 0; !code && i < rows.n; i++)
        code = list_subject(work, (struct subject_row *)rows.row + i);
    rowlock__rows_clear(&rows);
    return code;
}
