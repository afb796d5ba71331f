/* SPDX-License-Identifier: Apache-2.0 */
/* The inner statements of a function, their waits, and its answer. */
#include "emulate/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "util/clock.h"
#include "util/error.h"

#define LONGEST_MS 86400000 /* beyond a day the engines' limits differ, and ours suffices */
#define TRIES 5             /* of a look that other installers disturb */
#define UNDO_MS 2000        /* time for ROLLBACK, also after the budget has ended */
#define OPEN_MS 5000        /* time for another session, also after the budget has ended */
#define REST_MS 100         /* with less time left, no statement is repeated */
#define FILE_TRY_MS 250     /* a try of a file: others hold the lock briefly */
#define TRY_MS 1000 /* a try where the server cannot limit a wait: it may be busy with other work */
#define TRY_MOST_MS 3000
#define TRY_STATEMENTS 20

static const struct rowlock_statement *statement(const struct rowlock_work *work,
                                                 enum rowlock_plain_id id)
{
    const struct rowlock_plain *plain = work->link->dialect->plain;

    if (work->link->former && plain->former && plain->former[id].text)
        return &plain->former[id];
    return &plain->statements[id];
}

bool rowlock__work_can(const struct rowlock_work *work, enum rowlock_plain_id id)
{
    return statement(work, id)->text != NULL;
}

/* ---- the inner session ----------------------------------------------------------------------- */

static int is_lost(struct rowlock_work *work)
{
    work->outcome->left = ROWLOCK_TX_DEAD;
    return rowlock__had_been_lost(work->error);
}

enum rowlock_state rowlock__inner_state(const struct rowlock_link *link)
{
    return link->inner ? link->driver->state(link->inner) : ROWLOCK_STATE_DEAD;
}

int rowlock__inner_run(struct rowlock_work *work, unsigned flags, struct rowlock_call *call,
                       const struct rowlock_budget *budget)
{
    if (!work->link->inner)
        return is_lost(work);
    return work->link->driver->run(work->link->inner, flags, call, call ? 1 : 0, budget,
                                   work->outcome, work->error);
}

static int inner_script(struct rowlock_work *work, const char *text)
{
    if (!work->link->inner)
        return is_lost(work);
    return work->link->driver->script(work->link->inner, text, work->budget, work->error);
}

/* ---- statements ------------------------------------------------------------------------------ */

struct counted {
    rowlock_row *row;
    void *data;
    int64_t rows;
};

static void counted_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct counted *counted = data;

    counted->rows++;
    if (counted->row)
        counted->row(counted->data, columns, n);
}

/* Asks once a session, before its first text with other characters than ASCII's. */
static int learn_encoding(struct rowlock_work *work, const struct rowlock_value *values, unsigned n,
                          const struct rowlock_budget *budget)
{
    const struct rowlock_statement *lacks = statement(work, ROWLOCK_PLAIN_LACKS);
    int64_t answer = 0;
    struct rowlock_call call = {.statement = lacks, .row = rowlock__take_number, .data = &answer};
    int code;

    if (work->link->asked || !lacks->text || rowlock__are_ascii(values, n))
        return ROWLOCK_OK;
    code = rowlock__inner_run(work, work->begins, &call, budget);
    work->begins = 0;
    work->link->asked = !code;
    work->link->lacks = answer != 0;
    return code;
}

static int send(struct rowlock_work *work, enum rowlock_plain_id id,
                const struct rowlock_value *values, rowlock_row *row, void *data,
                const struct rowlock_budget *budget)
{
    const struct rowlock_statement *text = statement(work, id);
    struct counted counted = {row, data, 0};
    struct rowlock_call call = {.statement = text, .row = counted_row, .data = &counted};
    struct rowlock_storable storable;
    int code = learn_encoding(work, values, text->parameters, budget);

    if (code)
        return code;
    if (rowlock__storable(values, text->parameters, work->link->lacks,
                          work->link->dialect->plain->longest, &storable))
        return rowlock__no_memory(work->error);
    call.values = storable.values;
    code = rowlock__inner_run(work, work->begins, &call, budget);
    free(storable.memory);
    work->begins = 0;
    work->affected = call.affected > counted.rows ? call.affected : counted.rows;
    return code;
}

static int set_limit(struct rowlock_work *work, int64_t limit_ms)
{
    const struct rowlock_plain *plain = work->link->dialect->plain;
    const char *pattern, *at; /* {ms} and {s} become the limit */
    int64_t number;
    char text[200];
    int code;

    if (limit_ms > LONGEST_MS)
        limit_ms = -1;
    if (!plain->wait || (limit_ms < 0 && work->link->limit_ms < 0))
        return ROWLOCK_OK;
    code = work->begins ? rowlock__inner_run(work, ROWLOCK_BEGIN, NULL, work->budget) : ROWLOCK_OK;
    work->begins = 0;
    pattern = limit_ms < 0 ? plain->no_wait_limit : plain->wait;
    at = strchr(pattern, '{');
    number = rowlock__most(limit_ms, 1);
    if (at && strncmp(at, "{s}", 3) == 0)
        number = (number + 999) / 1000;
    if (at)
        snprintf(text, sizeof text, "%.*s%" PRId64 "%s", (int)(at - pattern), pattern, number,
                 strchr(at, '}') + 1);
    else
        snprintf(text, sizeof text, "%s", pattern);
    if (!code)
        code = inner_script(work, text);
    work->link->limit_ms = limit_ms;
    if (code) { /* a script reports no outcome */
        enum rowlock_state state = rowlock__inner_state(work->link);
        bool is_idle = state == ROWLOCK_STATE_IDLE;

        work->outcome->left =
            rowlock__left_in(state, is_idle ? ROWLOCK_TX_NONE : ROWLOCK_TX_ABORTED);
    }
    return code;
}

/* The longest limit whose wait ends before the budget. On H2 the real wait takes up to twice as
   long. */
static int64_t longest_limit(const struct rowlock_work *work)
{
    int64_t left_ms;

    if (!work->link->dialect->plain->cancel_ends_session || work->budget->deadline_ms == INT64_MAX)
        return INT64_MAX;
    left_ms = work->budget->deadline_ms - rowlock__now_ms();
    return left_ms > 4 ? left_ms * 3 / 8 : 1;
}

/* The limit in force has passed, and the transaction is as it was. */
static bool ended_by_limit(const struct rowlock_work *work, int code)
{
    return code == ROWLOCK_ETIMEDOUT && work->link->dialect->plain->cancel_ends_session &&
           work->outcome->left == ROWLOCK_TX_KEPT;
}

int rowlock__work_ask(struct rowlock_work *work, enum rowlock_plain_id id,
                      const struct rowlock_value *values, rowlock_row *row, void *data)
{
    const struct rowlock_budget *budget = work->budget;
    int64_t limit_ms = work->link->limit_ms, longest_ms = longest_limit(work);
    bool too_long = longest_ms != INT64_MAX && (limit_ms < 0 || limit_ms > longest_ms);
    int code = too_long ? set_limit(work, longest_ms) : ROWLOCK_OK;

    if (!code)
        code = send(work, id, values, row, data, budget);
    while (ended_by_limit(work, code) && rowlock__now_ms() + REST_MS < budget->deadline_ms) {
        code = set_limit(work, longest_limit(work));
        if (!code)
            code = send(work, id, values, row, data, budget);
    }
    if (ended_by_limit(work, code)) /* the caller takes an early ETIMEDOUT for a cancel */
        rowlock__wait_fd(-1, 0, budget->interrupt_fd, budget->deadline_ms);
    return code;
}

int rowlock__work_do(struct rowlock_work *work, enum rowlock_plain_id id,
                     const struct rowlock_value *values)
{
    return rowlock__work_ask(work, id, values, NULL, NULL);
}

bool rowlock__work_is_whole(const struct rowlock_work *work)
{
    return work->link->dialect->plain->whole;
}

int rowlock__work_begin_within(struct rowlock_work *work, int64_t limit_ms)
{
    struct rowlock_budget budget = *work->budget;
    int64_t until = rowlock__after(rowlock__now_ms(), limit_ms);
    int code;

    if (!work->begins || !rowlock__work_is_whole(work))
        return ROWLOCK_OK;
    if (until < budget.deadline_ms)
        budget.deadline_ms = until;
    code = rowlock__inner_run(work, ROWLOCK_BEGIN, NULL, &budget);
    if (!code)
        work->begins = 0;
    return code;
}

int rowlock__work_commit(struct rowlock_work *work)
{
    int code = ROWLOCK_OK;

    if (!work->begins && rowlock__inner_state(work->link) != ROWLOCK_STATE_IDLE)
        code = rowlock__inner_run(work, ROWLOCK_COMMIT, NULL, work->budget);
    work->begins = ROWLOCK_BEGIN;
    return code;
}

void rowlock__work_undo(struct rowlock_work *work)
{
    struct rowlock_budget budget = {rowlock__after(rowlock__now_ms(), UNDO_MS), -1, 0};

    if (!work->begins && work->link->inner)
        work->link->driver->rollback(work->link->inner, &budget, NULL);
    work->begins = ROWLOCK_BEGIN;
    work->outcome->left =
        rowlock__inner_state(work->link) == ROWLOCK_STATE_DEAD ? ROWLOCK_TX_DEAD : ROWLOCK_TX_NONE;
    if (!work->link->dialect->plain->wait_stays)
        work->link->limit_ms = -1;
}

bool rowlock__work_is_duplicate(struct rowlock_work *work, int code)
{
    bool by_state = strncmp(work->error->sqlstate, "23", 2) == 0;
    bool by_number = !work->error->sqlstate[0] && (work->error->native & 0xff) == 19; /* SQLite */

    if (!code || !(by_state || by_number))
        return false;
    if (work->own)
        rowlock__work_undo(work);
    rowlock__clear_error(work->error);
    return true;
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The session was cut off to end the wait: another one takes its place. A busy server may have
   used up the budget, but a wait that ended is not a lost connection. */
static int open_another(struct rowlock_work *work)
{
    struct rowlock_link *link = work->link;
    struct rowlock_source source = {.url = link->url, .interrupt_fd = work->budget->interrupt_fd};
    struct rowlock_budget budget = *work->budget;
    int64_t least_ms = rowlock__now_ms() + OPEN_MS;
    struct rowlock_link *fresh = NULL;
    const struct rowlock_dialect *dialect = NULL;
    int code;

    link->driver->close(link->inner);
    link->inner = NULL;
    work->begins = ROWLOCK_BEGIN;
    work->outcome->left = ROWLOCK_TX_DEAD;
    link->limit_ms = link->dialect->plain->wait_stays ? ANY_LIMIT : -1;
    if (budget.deadline_ms < least_ms)
        budget.deadline_ms = budget.give_up_ms = least_ms;
    code = link->driver->open(&source, &budget, &fresh, &dialect, work->error);
    if (!code && dialect != link->dialect) {
        link->driver->close(fresh);
        code = rowlock__fail(work->error, ROWLOCK_ECONN,
                             "another kind of server now answers at this URL");
    }
    if (code)
        return rowlock__left(work->error, code, ROWLOCK_TX_DEAD);
    link->inner = fresh;
    work->outcome->left = ROWLOCK_TX_NONE;
    return ROWLOCK_OK;
}

/* The wait has ended without the lock. */
static int give_up(struct rowlock_work *work, int code)
{
    bool dead = rowlock__inner_state(work->link) == ROWLOCK_STATE_DEAD;

    if (!work->own && (dead || work->outcome->left != ROWLOCK_TX_KEPT))
        return code;
    if (dead && !work->link->url)
        return code;
    if (work->outcome->left != ROWLOCK_TX_KEPT || dead)
        work->undone = true;
    rowlock__clear_error(work->error);
    if (dead)
        return open_another(work);
    if (work->undone)
        rowlock__work_undo(work);
    return ROWLOCK_OK;
}

int rowlock__work_ask_within(struct rowlock_work *work, enum rowlock_plain_id id,
                             const struct rowlock_value *values, int64_t limit_ms, bool *busy)
{
    return rowlock__work_read_within(work, id, values, NULL, NULL, limit_ms, busy);
}

int rowlock__work_read_within(struct rowlock_work *work, enum rowlock_plain_id id,
                              const struct rowlock_value *values, rowlock_row *row, void *data,
                              int64_t limit_ms, bool *busy)
{
    struct rowlock_budget budget = *work->budget;
    bool server_limits = work->link->dialect->plain->wait != NULL;
    bool fails_at_once = id == ROWLOCK_PLAIN_NAME_TRY || id == ROWLOCK_PLAIN_NAME_TRY_SHARE;
    int64_t longest_ms = longest_limit(work);
    int code = ROWLOCK_OK;

    if (!fails_at_once)
        code = set_limit(work, limit_ms < 0 || limit_ms > longest_ms ? longest_ms : limit_ms);

    *busy = false;
    if (!code && !server_limits && !fails_at_once && limit_ms >= 0) {
        int64_t until, began_ms = rowlock__now_ms(), now_ms;
        int64_t least_ms = work->link->dialect->plain->whole ? FILE_TRY_MS : 0;

        /* The time of a try that our own clock ends. On a slow machine even a free lock takes long,
           so a try gets the time of several statements; another statement measures it. */
        if (!least_ms && limit_ms <= TRY_MS) {
            code = rowlock__work_now(work, &now_ms);
            least_ms = (rowlock__now_ms() - began_ms) * TRY_STATEMENTS;
            least_ms = rowlock__most(rowlock__least(least_ms, TRY_MOST_MS), TRY_MS);
        }
        until = rowlock__after(rowlock__now_ms(), limit_ms > least_ms ? limit_ms : least_ms);
        if (until < budget.deadline_ms)
            budget.deadline_ms = until;
    }
    if (!code)
        code = send(work, id, values, row, data, &budget);
    if (code != ROWLOCK_ETIMEDOUT ||
        (limit_ms < 0 && budget.deadline_ms == work->budget->deadline_ms &&
         rowlock__now_ms() >= budget.deadline_ms))
        return code;
    *busy = true;
    return give_up(work, code);
}

/* ---- scripts --------------------------------------------------------------------------------- */

int rowlock__work_execute(struct rowlock_work *work, const char *text)
{
    int code = inner_script(work, text);

    work->begins = 0;
    if (code)
        rowlock__work_undo(work);
    else
        code = rowlock__work_commit(work);
    return code;
}

/* An engine may end a reader of its catalog when another session creates tables. */
int rowlock__work_has_column(struct rowlock_work *work, const char *table, const char *column,
                             bool *there)
{
    struct rowlock_error error = *work->error;
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    char text[200];
    int code;

    snprintf(text, sizeof text, "SELECT COUNT(%s) FROM %s WHERE 1 = 0", column, table);
    code = rowlock__work_execute(work, text);
    for (int i = 0; i < TRIES && (code == ROWLOCK_EROLLEDBACK || code == ROWLOCK_ETIMEDOUT); i++) {
        if (rowlock__pause(&pause, work->budget->interrupt_fd, work->budget->deadline_ms) !=
            ROWLOCK_WAKE_READY)
            break;
        code = rowlock__work_execute(work, text);
    }
    if (code == ROWLOCK_EUNKNOWN) /* the lost COMMIT changed nothing */
        code = work->error->code = ROWLOCK_ECONN;
    if (code == ROWLOCK_ECONN || code == ROWLOCK_ECANCELED || code == ROWLOCK_ETIMEDOUT)
        return rowlock__left(work->error, code, work->outcome->left);
    *work->error = error;
    *there = code == ROWLOCK_OK;
    return ROWLOCK_OK;
}

int rowlock__work_has_table(struct rowlock_work *work, const char *table, bool *there)
{
    return rowlock__work_has_column(work, table, "*", there);
}

/* ---- the call -------------------------------------------------------------------------------- */

void rowlock__work_answer(struct rowlock_work *work, const struct rowlock_value *columns,
                          unsigned n)
{
    if (work->call->row)
        work->call->row(work->call->data, columns, n);
}

int rowlock__work_number(struct rowlock_work *work, int64_t number)
{
    struct rowlock_value column = rowlock__int_value(number);

    rowlock__work_answer(work, &column, 1);
    return ROWLOCK_OK;
}

int64_t rowlock__work_int(const struct rowlock_work *work, unsigned i)
{
    return rowlock__value_number(&work->call->values[i]);
}

struct rowlock_value rowlock__work_value(const struct rowlock_work *work, unsigned i)
{
    return work->call->values[i];
}

bool rowlock__work_is(const struct rowlock_value *value, const char *text)
{
    return value->type == ROWLOCK_BYTES && value->length == strlen(text) &&
           memcmp(value->bytes, text, value->length) == 0;
}

void rowlock__take_key(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_key_row *row = n > 0 ? rowlock__rows_add(data) : NULL;

    if (row && columns[0].type == ROWLOCK_BYTES && columns[0].length < sizeof row->key)
        memcpy(row->key, columns[0].bytes, columns[0].length);
}

const char *rowlock__copy_text(struct rowlock_rows *rows, const struct rowlock_value *column)
{
    return column->type == ROWLOCK_BYTES ? rowlock__rows_copy(rows, column->bytes, column->length)
                                         : NULL;
}

struct rowlock_value rowlock__optional_value(bool there, int64_t number)
{
    return there ? rowlock__int_value(number) : rowlock__text_value(NULL);
}

int rowlock__work_now(struct rowlock_work *work, int64_t *now_ms)
{
    *now_ms = 0;
    return rowlock__work_ask(work, ROWLOCK_PLAIN_NOW, NULL, rowlock__take_number, now_ms);
}
