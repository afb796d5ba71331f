/* SPDX-License-Identifier: Apache-2.0 */
/* The history of leases, waiters and runs, and its rules. */
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/outcome.h"
#include "driver/failure.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/glob.h"
#include "util/utf8.h"

#define DEFAULT_LIMIT 100
#define PRUNE_BATCH 10000
#define KEEP_LEAST_MS 60000
#define KEEP_MOST_MS 3155760000000 /* a hundred years */

/* ---- the list -------------------------------------------------------------------------------- */

struct breaker { /* who broke a lease */
    int64_t token;
    char text[400];
};

struct pasts {
    struct rowlock_rows rows, breakers;
    bool only_breakers; /* other rows are not wanted */
};

/* USER@HOST:PID */
static void write_who(char *out, size_t size, const struct rowlock_value *columns)
{
    char host[256], user[64];

    rowlock__column_text(&columns[4], host, sizeof host);
    rowlock__column_text(&columns[6], user, sizeof user);
    snprintf(out, size, "%s%s%s:%" PRId64, user, *user ? "@" : "", host,
             rowlock__value_number(&columns[5]));
}

/* A user made a job due. */
static void request_row(struct rowlock_rows *rows, const struct rowlock_value *columns)
{
    struct rowlock_past *past = rowlock__rows_add(rows);
    char who[400];

    if (!past)
        return;
    write_who(who, sizeof who, columns);
    *past = (struct rowlock_past){.name = rowlock__rows_text(rows, &columns[0]),
                                  .ending = ROWLOCK_ENDED_DUE_NOW,
                                  .count = 1,
                                  .host = rowlock__rows_text(rows, &columns[4]),
                                  .command = "",
                                  .note = "",
                                  .pid = rowlock__value_number(&columns[5]),
                                  .ended_ms = rowlock__value_number(&columns[10]),
                                  .broken_by = rowlock__rows_keep(rows, who)};
}

/* name, mode, permits, token, host, pid, command, note, acquired, waited, ended, how, exit,
   is_run */
static void past_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct pasts *pasts = data;
    struct rowlock_rows *rows = &pasts->rows;
    bool is_breaker = n >= 14 && rowlock__value_number(&columns[3]) < 0;
    bool is_request = is_breaker && !pasts->only_breakers &&
                      rowlock__value_number(&columns[3]) == -ROWLOCK_LOG_DUE_NOW;
    struct breaker *breaker =
        is_breaker && !is_request ? rowlock__rows_add(&pasts->breakers) : NULL;
    struct rowlock_past *past = n < 14 || is_breaker ? NULL : rowlock__rows_add(rows);
    bool is_run = past && rowlock__value_number(&columns[13]) != 0;
    char how[16];

    if (is_request)
        request_row(rows, columns);
    if (breaker) {
        breaker->token = -rowlock__value_number(&columns[3]);
        write_who(breaker->text, sizeof breaker->text, columns);
    }
    if (!past)
        return;
    rowlock__column_text(&columns[11], how, sizeof how);
    *past = (struct rowlock_past){.name = rowlock__rows_text(rows, &columns[0]),
                                  .mode = rowlock__mode_column(&columns[1]),
                                  .count = (int)rowlock__value_number(&columns[2]),
                                  .token = rowlock__value_number(&columns[3]),
                                  .host = rowlock__rows_text(rows, &columns[4]),
                                  .pid = rowlock__value_number(&columns[5]),
                                  .command = rowlock__rows_text(rows, &columns[6]),
                                  .note = rowlock__rows_text(rows, &columns[7]),
                                  .acquired_ms = rowlock__value_number(&columns[8]),
                                  .waited_ms = rowlock__value_number(&columns[9]),
                                  .ended_ms = rowlock__value_number(&columns[10]),
                                  .exit = (int)rowlock__value_number(&columns[12]),
                                  .broken_by = ""};
    past->ending = is_run ? ROWLOCK_ENDED_RUN : rowlock__ending_of(how, strlen(how));
    if (is_run)
        past->outcome = rowlock__outcome_of(how, strlen(how));
    if (past->acquired_ms && past->ended_ms > past->acquired_ms)
        past->held_ms = rowlock__between(past->acquired_ms, past->ended_ms);
}

static int read_pasts(struct rowlock_connection *connection,
                      const struct rowlock_past_filter *filter, const char *like, bool exact,
                      struct pasts *pasts, struct rowlock_error *error)
{
    /* each lease may have a row that tells who broke it */
    int64_t limit = 2 * rowlock__least(filter->limit ? filter->limit : DEFAULT_LIMIT, INT_MAX / 2);
    struct rowlock_value values[] = {
        rowlock__text_value(like), rowlock__int_value(filter->since_ms),
        rowlock__int_value(filter->problems != 0), rowlock__int_value(filter->waited_ms),
        rowlock__int_value(exact ? limit : INT_MAX)};
    int code = rowlock__ask(connection, ROWLOCK_SQL_HISTORY, values, past_row, pasts, error);

    code = rowlock__rows_complete(&pasts->rows, code, error);
    return code ? code : rowlock__rows_complete(&pasts->breakers, code, error);
}

static int by_token(const void *a, const void *b)
{
    return rowlock__order(((const struct breaker *)a)->token, ((const struct breaker *)b)->token);
}

/* Returns the earliest acquisition of a broken lease whose breaker is not in the list; INT64_MAX:
   none. */
static int64_t put_breakers(struct pasts *pasts)
{
    struct rowlock_past *past = pasts->rows.row;
    const struct breaker *breaker;
    int64_t first_ms = INT64_MAX;

    rowlock__rows_sort(&pasts->breakers, by_token);
    for (size_t i = 0; i < pasts->rows.n; i++) {
        struct breaker wanted = {.token = past[i].token};

        if (past[i].ending != ROWLOCK_ENDED_REVOKED &&
            (past[i].ending != ROWLOCK_ENDED_RUN || past[i].outcome != ROWLOCK_RUN_BROKEN))
            continue;
        breaker = pasts->breakers.n ? bsearch(&wanted, pasts->breakers.row, pasts->breakers.n,
                                              pasts->breakers.size, by_token)
                                    : NULL;
        if (breaker)
            past[i].broken_by = breaker->text;
        else
            first_ms = rowlock__least(first_ms, past[i].acquired_ms);
    }
    return first_ms;
}

/* Reads the rows of breakers that the list lacks: a lease may be broken long before it ends, so
   that such a row is beyond the limit, or before filter->since_ms. With an infinite waited_ms the
   answer has no other rows. */
static int find_breakers(struct rowlock_connection *connection, struct pasts *pasts,
                         struct rowlock_error *error)
{
    int64_t first_ms = put_breakers(pasts);
    struct rowlock_value values[] = {rowlock__text_value(NULL), rowlock__int_value(first_ms),
                                     rowlock__int_value(1), rowlock__int_value(INT64_MAX),
                                     rowlock__int_value(INT_MAX)};
    int code = ROWLOCK_OK;

    if (first_ms == INT64_MAX)
        return ROWLOCK_OK;
    pasts->only_breakers = true;
    code = rowlock__ask(connection, ROWLOCK_SQL_HISTORY, values, past_row, pasts, error);
    code = rowlock__rows_complete(&pasts->breakers, code, error);
    if (!code)
        put_breakers(pasts);
    return code;
}

static int latest_first(const void *a, const void *b)
{
    const struct rowlock_past *left = a, *right = b;
    int order = rowlock__order(right->ended_ms, left->ended_ms);

    return order ? order : rowlock__order(right->token, left->token);
}

static bool is_match(const struct rowlock_past_filter *filter, const char *name)
{
    return fnmatch(filter->name, name, 0) == 0;
}

/* Reads the names that match after "job:" as a second list, which the server limits like the first
   one. It adds no row that the first one has. */
static int read_jobs(struct rowlock_connection *connection,
                     const struct rowlock_past_filter *filter, const char *like, bool exact,
                     struct pasts *pasts, struct rowlock_error *error)
{
    struct rowlock_rows *rows = &pasts->rows;
    size_t size = strlen(ROWLOCK_JOB_PREFIX) + strlen(like) + 1, n = rows->n;
    char *of_job = malloc(size);
    struct rowlock_past *past;
    int code;

    if (!of_job)
        return rowlock__no_memory(error);
    snprintf(of_job, size, ROWLOCK_JOB_PREFIX "%s", like);
    code = read_pasts(connection, filter, of_job, exact, pasts, error);
    free(of_job);
    past = rows->row;
    for (size_t i = n; i < rows->n; i++)
        if (!is_match(filter, past[i].name))
            past[n++] = past[i];
    rows->n = n;
    rowlock__rows_sort(rows, latest_first);
    return code;
}

static void show(const struct rowlock_rows *rows, const struct rowlock_past_filter *filter,
                 bool exact, rowlock_visit_past visit, void *data)
{
    const struct rowlock_past *past = rows->row;
    size_t prefix = strlen(ROWLOCK_JOB_PREFIX);
    int left = filter->limit ? filter->limit : DEFAULT_LIMIT;

    for (size_t i = 0; i < rows->n && left > 0; i++) {
        const char *name = past[i].name;
        bool is_of_job = filter->jobs && strncmp(name, ROWLOCK_JOB_PREFIX, prefix) == 0;

        if (!exact && !is_match(filter, name) && !(is_of_job && is_match(filter, name + prefix)))
            continue;
        if (past[i].ending == ROWLOCK_ENDED_DUE_NOW && (filter->problems || filter->waited_ms))
            continue;
        left--;
        if (visit(&past[i], data))
            return;
    }
}

int rowlock_history(struct rowlock_connection *connection, const struct rowlock_past_filter *filter,
                    rowlock_visit_past visit, void *data, struct rowlock_error *error)
{
    static const struct rowlock_past_filter all;
    struct pasts pasts = {
        {.size = sizeof(struct rowlock_past)}, {.size = sizeof(struct breaker)}, false};
    const char *name;
    char *like = NULL;
    bool exact = true;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    filter = filter ? filter : &all;
    name = filter->name;
    if (!code)
        code = rowlock__list_check(connection, visit != NULL, error);
    if (!code && (filter->since_ms < 0 || filter->waited_ms < 0 || filter->limit < 0))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "since_ms, waited_ms and limit must not be negative");
    if (!code && name && (!*name || rowlock__utf8_length(name, strlen(name)) <= 0))
        code = rowlock__fail(error, ROWLOCK_EINVAL, "the pattern is empty, or not UTF-8");
    if (!code && name)
        code = rowlock__glob_check(name, error);
    if (!code && name && !(like = rowlock__glob_to_like(name, &exact)))
        code = rowlock__no_memory(error);
    if (!code)
        code = read_pasts(connection, filter, like, exact, &pasts, error);
    if (!code && filter->jobs && like)
        code = read_jobs(connection, filter, like, exact, &pasts, error);
    if (!code)
        code = find_breakers(connection, &pasts, error);
    if (!code)
        show(&pasts.rows, filter, exact, visit, data);
    rowlock__rows_clear(&pasts.rows);
    rowlock__rows_clear(&pasts.breakers);
    free(like);
    return code;
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void rules_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_history_rules *rules = data;

    if (n < 3)
        return;
    rules->level = (enum rowlock_history_level)rowlock__value_number(&columns[0]);
    rules->keep_good_ms = rowlock__value_number(&columns[1]);
    rules->keep_bad_ms = rowlock__value_number(&columns[2]);
}

int rowlock_history_rules(struct rowlock_connection *connection, struct rowlock_history_rules *out,
                          struct rowlock_error *error)
{
    struct rowlock_history_rules rules = {.level = ROWLOCK_HISTORY_SLOW};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        code = rowlock__check_present(connection, error);
    if (!code)
        code = rowlock__ask(connection, ROWLOCK_SQL_HISTORY_RULES, NULL, rules_row, &rules, error);
    if (!code)
        *out = rules;
    return code;
}

static bool may_keep(rowlock_duration ms)
{
    return ms >= KEEP_LEAST_MS && ms <= KEEP_MOST_MS;
}

int rowlock_set_history(struct rowlock_connection *connection,
                        const struct rowlock_history_rules *rules, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code &&
        (!rules || (int)rules->level < ROWLOCK_HISTORY_OFF || rules->level > ROWLOCK_HISTORY_ALL))
        code = rowlock__fail(error, ROWLOCK_EINVAL, "unknown level of the history");
    if (!code && (!may_keep(rules->keep_good_ms) || !may_keep(rules->keep_bad_ms)))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the history keeps its rows for 1 minute to 100 years");
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code) {
        struct rowlock_value values[] = {rowlock__int_value(rules->level),
                                         rowlock__int_value(rules->keep_good_ms),
                                         rowlock__int_value(rules->keep_bad_ms)};

        code = rowlock__ask_alone(connection, ROWLOCK_SQL_HISTORY_SET, values, false, NULL, NULL,
                                  error);
        if (code == ROWLOCK_EDENIED) /* the GRANTs of a role that locks do not allow it */
            rowlock__advise(error, "use the account that installed rowlock");
    }
    return code;
}

int rowlock_prune_history(struct rowlock_connection *connection, int64_t *removed,
                          struct rowlock_error *error)
{
    struct rowlock_value batch = rowlock__int_value(PRUNE_BATCH);
    int64_t count = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__ask_alone(connection, ROWLOCK_SQL_PRUNE, &batch, false,
                                  rowlock__take_number, &count, error);
    if (!code && removed)
        *removed = count;
    return code;
}
