/* SPDX-License-Identifier: Apache-2.0 */
/* The history of leases that ended and of waiters that gave up: writing it, and its rules. */
#include <string.h>

#include "emulate/names.h"
#include "util/random.h"

#define SLICE_MS 172800000 /* old rows are deleted two days at a time */
#define PRUNES_EVERY 256   /* of this many leases or tickets, one prunes the history when it ends */

/* ---- the rules ------------------------------------------------------------------------------- */

struct rules {
    int64_t level, keep_good_ms, keep_bad_ms, now_ms;
};

static void rules_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 3)
        *(struct rules *)data =
            (struct rules){rowlock__value_number(&columns[0]), rowlock__value_number(&columns[1]),
                           rowlock__value_number(&columns[2]), rowlock__value_number(&columns[3])};
}

static int read_rules(struct rowlock_work *work, struct rules *rules)
{
    *rules = (struct rules){0};
    return rowlock__work_ask(work, ROWLOCK_PLAIN_RULES, NULL, rules_row, rules);
}

/* -> level, keep_good_ms, keep_bad_ms */
int rowlock__emulate_history_rules(struct rowlock_work *work)
{
    struct rules rules;
    int code = read_rules(work, &rules);

    if (!code)
        rowlock__work_answer(work,
                             (struct rowlock_value[]){rowlock__int_value(rules.level),
                                                      rowlock__int_value(rules.keep_good_ms),
                                                      rowlock__int_value(rules.keep_bad_ms)},
                             3);
    return code;
}

/* level, keep_good_ms, keep_bad_ms */
int rowlock__emulate_history_set(struct rowlock_work *work)
{
    return rowlock__work_do(work, ROWLOCK_PLAIN_RULES_SET, work->call->values);
}

/* ---- old rows -------------------------------------------------------------------------------- */

/* Deletes the oldest rows, those of SLICE_MS. `*removed` 0: nothing is left to delete. */
static int drop_slice(struct rowlock_work *work, bool problem, int64_t until_ms, int64_t *removed)
{
    struct rowlock_value values[] = {rowlock__int_value(problem), rowlock__int_value(until_ms)};
    int64_t first_ms = 0;
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_ENDING_FIRST, values, rowlock__take_number,
                                 &first_ms);

    *removed = 0;
    if (code || first_ms <= 0 || first_ms >= until_ms)
        return code;
    if (first_ms + SLICE_MS < until_ms)
        values[1] = rowlock__int_value(first_ms + SLICE_MS);
    code = rowlock__work_do(work, ROWLOCK_PLAIN_ENDINGS_DROP, values);
    *removed = code ? 0 : work->affected;
    return code;
}

int rowlock__prune(struct rowlock_work *work, int64_t most, int64_t *removed)
{
    struct rules rules;
    int code = read_rules(work, &rules);

    *removed = 0;
    for (int problem = 0; !code && problem < 2; problem++) {
        int64_t keep_ms = problem ? rules.keep_bad_ms : rules.keep_good_ms, dropped = 1;

        while (!code && dropped && *removed < most) {
            code = drop_slice(work, problem, rules.now_ms - keep_ms, &dropped);
            *removed += dropped;
            if (!code)
                code = rowlock__work_commit(work);
        }
    }
    return code;
}

/* batch -> number */
int rowlock__emulate_prune(struct rowlock_work *work)
{
    int64_t removed;
    int code = rowlock__prune(work, rowlock__work_int(work, 0), &removed);

    return code ? code : rowlock__work_number(work, removed);
}

/* ---- what ended ------------------------------------------------------------------------------ */

/* A row of a lease or of a ticket; the rows own its texts. */
struct ending {
    const char *key, *host, *command, *note;
    int64_t ticket, pid, permits, acquired_ms, waited_ms;
    char kind;
    bool has_pid;
};

/* host, pid, command, note */
static void take_holder(struct rowlock_rows *rows, const struct rowlock_value *columns,
                        struct ending *ending)
{
    ending->host = rowlock__copy_text(rows, &columns[0]);
    ending->has_pid = columns[1].type != ROWLOCK_NULL;
    ending->pid = rowlock__value_number(&columns[1]);
    ending->command = rowlock__copy_text(rows, &columns[2]);
    ending->note = rowlock__copy_text(rows, &columns[3]);
}

/* name, kind, host, pid, command, note, acquired, waited: the permits of a name are one ending */
static void lease_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct ending *ending = rows->row;

    if (n < 8)
        return;
    for (size_t i = 0; i < rows->n; i++)
        if (rowlock__work_is(&columns[0], ending[i].key)) {
            ending[i].permits++;
            return;
        }
    if (!(ending = rowlock__rows_add(rows)))
        return;
    ending->key = rowlock__copy_text(rows, &columns[0]);
    ending->kind = rowlock__kind_of(&columns[1]);
    take_holder(rows, &columns[2], ending);
    ending->acquired_ms = rowlock__value_number(&columns[6]);
    ending->waited_ms = rowlock__value_number(&columns[7]);
    ending->permits = 1;
}

/* ticket, name, kind, wanted, host, pid, command, note, since, now_ms */
static void waiter_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct ending *ending = n < 10 ? NULL : rowlock__rows_add(rows);

    if (!ending)
        return;
    ending->ticket = rowlock__value_number(&columns[0]);
    ending->key = rowlock__copy_text(rows, &columns[1]);
    ending->kind = rowlock__kind_of(&columns[2]);
    ending->permits = rowlock__value_number(&columns[3]);
    take_holder(rows, &columns[4], ending);
    ending->waited_ms = rowlock__value_number(&columns[9]) - rowlock__value_number(&columns[8]);
}

/* token 0: a waiter */
static int add(struct rowlock_work *work, const struct ending *ending, int64_t token,
               int64_t ended_ms, const char *how)
{
    int64_t id = (int64_t)rowlock__dice() << 31 | (rowlock__dice() >> 1);
    char kind[2] = {ending->kind, '\0'};
    struct rowlock_value values[] = {rowlock__text_value(ending->key),
                                     rowlock__text_value(kind),
                                     rowlock__int_value(ending->permits),
                                     rowlock__optional_value(token, token),
                                     rowlock__text_value(ending->host),
                                     rowlock__optional_value(ending->has_pid, ending->pid),
                                     rowlock__text_value(ending->command),
                                     rowlock__text_value(ending->note),
                                     rowlock__optional_value(token, ending->acquired_ms),
                                     rowlock__int_value(ending->waited_ms),
                                     rowlock__int_value(ended_ms),
                                     rowlock__text_value(how),
                                     rowlock__int_value(rowlock__is_problem(how)),
                                     rowlock__int_value(id)};

    return rowlock__work_do(work, ROWLOCK_PLAIN_ENDING_ADD, values);
}

/* The history of runs is in their own table. */
static int log_lease(struct rowlock_work *work, int64_t token, const struct rules *rules,
                     int64_t ended_ms, const char *how)
{
    struct rowlock_rows rows = {.size = sizeof(struct ending)};
    struct rowlock_value none = {.type = ROWLOCK_NULL}, value = rowlock__int_value(token);
    char of_jobs[ROWLOCK_KEY_SIZE];
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_LEASE_OF, &value, lease_row, &rows);
    const struct ending *ending = rows.row;

    rowlock__key(work, ROWLOCK_JOB_PREFIX, &none, of_jobs);
    for (size_t i = 0; !code && i < rows.n; i++) {
        int64_t held_ms = ended_ms - ending[i].acquired_ms, run = 0;

        if (!rowlock__judge_history(rules->level, how, ending[i].waited_ms, held_ms))
            continue;
        if (strncmp(ending[i].key, of_jobs, strlen(of_jobs)) == 0)
            code = rowlock__work_ask(work, ROWLOCK_PLAIN_RUN, &value, rowlock__take_number, &run);
        if (!code && !run)
            code =
                add(work, &ending[i], token, held_ms < 0 ? ending[i].acquired_ms : ended_ms, how);
    }
    rowlock__rows_clear(&rows);
    return code;
}

/* Whether a row may be written: in our own transaction, or on SQLite. Elsewhere a failed statement
   may abort the caller's transaction. */
static bool may_log(const struct rowlock_work *work)
{
    return !work->no_log && (work->own || rowlock__work_is_whole(work));
}

/* Deletes a slice of old rows if `number`, a token or a ticket, is due for it. */
static int prune_sometimes(struct rowlock_work *work, const struct rules *rules, int64_t number)
{
    int64_t dropped;
    int code = ROWLOCK_OK;

    if (number % PRUNES_EVERY == 0)
        code = drop_slice(work, false, rules->now_ms - rules->keep_good_ms, &dropped);
    if (!code && number % PRUNES_EVERY == 0)
        code = drop_slice(work, true, rules->now_ms - rules->keep_bad_ms, &dropped);
    return code;
}

int rowlock__log_end(struct rowlock_work *work, int64_t token, int64_t expires_ms, bool stopped)
{
    struct rules rules;
    const char *how;
    bool expired;
    int code;

    if (!may_log(work))
        return ROWLOCK_OK;
    code = read_rules(work, &rules);
    expired = expires_ms <= rules.now_ms;
    how = rowlock__judge_end(stopped, expired);
    if (!code && rowlock__judge_history(rules.level, how, INT64_MAX, INT64_MAX))
        code = log_lease(work, token, &rules, expired ? expires_ms : rules.now_ms, how);
    if (!code)
        code = prune_sometimes(work, &rules, token);
    work->log_failed = work->log_failed || code;
    return code;
}

int rowlock__end_heartbeat(struct rowlock_work *work, int64_t token)
{
    struct rowlock_value value = rowlock__int_value(token);
    struct rowlock_beat beat;
    bool found = false;
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_QUIET, &value);

    if (code || work->affected > 0)
        return code;
    if (may_log(work)) /* locks it first, so that no other session writes the same end */
        code = rowlock__lock_beat(work, token, &beat, &found);
    if (!code && found)
        code = rowlock__log_end(work, token, beat.expires_ms, beat.stopped);
    return code ? code : rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_END, &value);
}

int rowlock__log_released(struct rowlock_work *work, const struct rowlock_value *values,
                          bool *logged)
{
    int64_t token = rowlock__value_number(&values[0]);
    struct rules rules;
    int code;

    *logged = false;
    if (!may_log(work) || !rowlock__work_can(work, ROWLOCK_PLAIN_RELEASE_LOGGED))
        return ROWLOCK_OK;
    code = rowlock__work_do(work, ROWLOCK_PLAIN_RELEASE_LOGGED, values);
    *logged = !code && work->affected > 0;
    if (*logged && token % PRUNES_EVERY == 0) {
        code = read_rules(work, &rules);
        if (!code)
            code = prune_sometimes(work, &rules, token);
    }
    work->log_failed = work->log_failed || code;
    return code;
}

/* name, token, host, pid, user */
int rowlock__emulate_log_break(struct rowlock_work *work)
{
    const struct rowlock_value *values = work->call->values;
    struct rowlock_rows rows = {.size = 1};
    struct ending ending = {.key = rowlock__work_key(work, 0),
                            .kind = 'x',
                            .permits = 1,
                            .host = rowlock__copy_text(&rows, &values[2]),
                            .pid = rowlock__work_int(work, 3),
                            .has_pid = true,
                            .command = rowlock__copy_text(&rows, &values[4])};
    struct rules rules;
    int code = read_rules(work, &rules);

    if (!code && rules.level != ROWLOCK_HISTORY_OFF)
        code = add(work, &ending, -rowlock__work_int(work, 1), rules.now_ms,
                   rowlock__judge_end(true, false));
    rowlock__rows_clear(&rows);
    return code;
}

int rowlock__log_waiter(struct rowlock_work *work, int64_t ticket, struct rowlock_value owner)
{
    struct rowlock_rows rows = {.size = sizeof(struct ending)};
    struct rules rules = {0};
    const struct ending *ending;
    int code = ROWLOCK_OK;

    if (may_log(work))
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_OF, &owner, waiter_row, &rows);
    if (!code && rows.n)
        code = read_rules(work, &rules);
    ending = rows.row;
    for (size_t i = 0; !code && i < rows.n; i++) {
        if ((ticket && ending[i].ticket != ticket) ||
            !rowlock__judge_gave_up(rules.level, ending[i].waited_ms))
            continue;
        code = add(work, &ending[i], 0, rules.now_ms, "gave up");
        if (!code)
            code = prune_sometimes(work, &rules, ending[i].ticket);
    }
    rowlock__rows_clear(&rows);
    work->log_failed = work->log_failed || code;
    return code;
}
