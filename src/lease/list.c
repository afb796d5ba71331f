/* SPDX-License-Identifier: Apache-2.0 */
/* Lists holders and waiters. Reads all rows first, so that the callback may use the connection. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/query.h"
#include "lock/wants.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/glob.h"
#include "util/random.h"

enum { PROBES = 4 };

/* state, name, mode, token, ticket, owner, host, pid, command, note, since_ms, expires_ms, left_ms,
   limit, count, stop, of list_longest also queue */
static void list_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_holder *holder = n < 16 ? NULL : rowlock__rows_add(rows);
    char state[16];

    if (!holder)
        return;
    rowlock__column_text(&columns[0], state, sizeof state);
    *holder = (struct rowlock_holder){
        .holding = state[0] == 'w'   ? ROWLOCK_WAITS
                   : state[0] == 't' ? ROWLOCK_HOLDS_TX
                                     : ROWLOCK_HOLDS,
        .mode = rowlock__mode_column(&columns[2]),
        .token = rowlock__value_number(&columns[3]),
        .ticket = rowlock__value_number(&columns[4]),
        .pid = rowlock__value_number(&columns[7]),
        .since_ms = rowlock__value_number(&columns[10]),
        .expires_ms = rowlock__value_number(&columns[11]),
        .remaining_ms = rowlock__value_number(&columns[12]),
        .limit = (int)rowlock__value_number(&columns[13]),
        .count = (int)rowlock__value_number(&columns[14]),
        .stop = rowlock__value_number(&columns[15]) != 0,
        .name = rowlock__rows_text(rows, &columns[1]),
        .owner = rowlock__rows_text(rows, &columns[5]),
        .host = rowlock__rows_text(rows, &columns[6]),
        .command = rowlock__rows_text(rows, &columns[8]),
        .note = rowlock__rows_text(rows, &columns[9]),
    };
    if (n > 16)
        holder->queue = rowlock__value_number(&columns[16]);
    if (holder->mode != ROWLOCK_PERMIT)
        holder->limit = holder->count = 0;
}

static void probe_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    char mode[16];

    if (n < 1)
        return;
    rowlock__column_text(&columns[0], mode, sizeof mode);
    snprintf(data, sizeof mode, "%s", mode);
}

/* A probe holds the name briefly, and two probes may conflict; a real holder is found
   repeatedly. */
static int ask_probes(struct rowlock_connection *connection, const struct rowlock_value *value,
                      char *mode, struct rowlock_error *error)
{
    struct rowlock_pause pause = {.next_ms = 30, .most_ms = 100, .seed = rowlock__dice()};
    int code;

    for (int left = PROBES; left > 0; left--) {
        mode[0] = '\0';
        code = rowlock__ask(connection, ROWLOCK_SQL_PROBE, value, probe_row, mode, error);
        if (code || !mode[0])
            return code;
        if (left > 1 && rowlock__pause(&pause, connection->interrupt_fd, ROWLOCK_NEVER) ==
                            ROWLOCK_WAKE_INTERRUPT)
            return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
    }
    return ROWLOCK_OK;
}

/* Sends probes if no holder was reported, on engines that do not report every transaction. A probe
   finds that the name is held, but not by which transaction. */
static int probe(struct rowlock_connection *connection, const char *name,
                 struct rowlock_value *value, struct rowlock_rows *list,
                 struct rowlock_error *error)
{
    char mode[16] = "";
    struct rowlock_holder *holder;
    int code = ROWLOCK_OK;

    if (rowlock__sql(connection, ROWLOCK_SQL_PROBE) &&
        rowlock__check_width(connection, name, NULL) == ROWLOCK_OK)
        code = ask_probes(connection, value, mode, error);
    if (code == ROWLOCK_EDENIED) { /* an account that may not lock sees the leases only */
        rowlock__clear_error(error);
        return ROWLOCK_OK;
    }
    if (code || !mode[0] || !(holder = rowlock__rows_add(list)))
        return code;
    *holder = (struct rowlock_holder){
        .holding = ROWLOCK_HOLDS_TX,
        .mode = mode[0] == 's' ? ROWLOCK_SHARED : ROWLOCK_EXCLUSIVE,
        .name = rowlock__rows_copy(list, name, strlen(name)),
        .owner = "",
        .host = "",
        .command = "",
        .note = "",
    };
    return ROWLOCK_OK;
}

/* Dialects sort by name first, or by state; the documented order is holders before waiters. */
static void show(const struct rowlock_rows *list, rowlock_visit visit, void *data)
{
    const struct rowlock_holder *holder = list->row;

    for (int waits = 0; waits < 2; waits++)
        for (size_t i = 0; i < list->n; i++)
            if ((holder[i].holding == ROWLOCK_WAITS) == waits && visit(&holder[i], data))
                return;
}

int rowlock_list(struct rowlock_connection *connection, const char *name, rowlock_visit visit,
                 void *data, struct rowlock_error *error)
{
    struct rowlock_value value = {.type = ROWLOCK_NULL};
    struct rowlock_rows list = {.size = sizeof(struct rowlock_holder)};
    const struct rowlock_holder *holder;
    bool held = false;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && name)
        code = rowlock__name_check(name, error);
    if (!code)
        code = rowlock__list_check(connection, visit != NULL, error);
    if (code)
        return code;
    if (name)
        value = rowlock__text_value(name);
    code = rowlock__ask(connection, ROWLOCK_SQL_LIST, &value, list_row, &list, error);
    holder = list.row;
    for (size_t i = 0; !held && i < list.n; i++)
        held = holder[i].holding != ROWLOCK_WAITS;
    if (!code && name && !held)
        code = probe(connection, name, &value, &list, error);
    code = rowlock__rows_complete(&list, code, error);
    if (!code)
        show(&list, visit, data);
    rowlock__rows_clear(&list);
    return code;
}

/* ---- a part of the list ---------------------------------------------------------------------- */

int rowlock_list_some(struct rowlock_connection *connection, const struct rowlock_choice *choice,
                      rowlock_visit visit, void *data, struct rowlock_error *error)
{
    struct rowlock_rows list = {.size = sizeof(struct rowlock_holder)};
    struct rowlock_holder *holder;
    struct rowlock_value values[5];
    const char *glob;
    char *pattern;
    bool exact;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && (!choice || choice->most_waiters < 0 || choice->most_rows < 0 ||
                  choice->order > ROWLOCK_BY_NAME || (choice->name && choice->glob)))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the choice of a list has an invalid limit or order, or a name as "
                             "well as a pattern");
    if (!code && choice->glob)
        code = rowlock__glob_check(choice->glob, error);
    else if (!code && choice->name)
        code = rowlock__name_check(choice->name, error);
    if (!code)
        code = rowlock__list_check(connection, visit != NULL, error);
    if (code)
        return code;
    if (choice->name) {
        values[0] = rowlock__text_value(choice->name);
        code = rowlock__ask(connection, ROWLOCK_SQL_LIST, values, list_row, &list, error);
    } else if (!(pattern = rowlock__glob_to_like(choice->glob ? choice->glob : "*", &exact))) {
        code = rowlock__no_memory(error);
    } else {
        values[0] = rowlock__text_value(pattern);
        values[1] = rowlock__int_value(choice->order);
        values[2] = rowlock__int_value(choice->most_waiters);
        values[3] = rowlock__int_value(choice->most_rows);
        values[4] = rowlock__int_value(choice->others != 0);
        code = rowlock__ask(connection, ROWLOCK_SQL_LIST_LONGEST, values, list_row, &list, error);
        free(pattern);
    }
    code = rowlock__rows_complete(&list, code, error);
    if (!code && choice->name) {
        show(&list, visit, data);
    } else if (!code) {
        holder = list.row;
        glob = choice->others ? NULL : choice->glob;
        for (size_t i = 0; i < list.n; i++)
            if ((!glob || fnmatch(glob, holder[i].name, 0) == 0) && visit(&holder[i], data))
                break;
    }
    rowlock__rows_clear(&list);
    return code;
}
