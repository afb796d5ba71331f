/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a script into statements. */
#include "driver/script.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/outcome.h"
#include "driver/driver.h"

/* The end of the comment or the quoted text at `at`; `at` if there is neither. */
static const char *skip_opaque(const char *at)
{
    const char *end = NULL;

    if (at[0] == '-' && at[1] == '-')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*')
        end = strstr(at + 2, "*/");
    else if (at[0] == '\'' || at[0] == '"') /* a doubled quote is two quoted texts */
        end = strchr(at + 1, at[0]);
    else
        return at;
    if (!end)
        return at + strlen(at);
    return end + (at[0] == '/' ? 2 : 1);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool rowlock__script_next(const char **at, const char **statement, size_t *length)
{
    const char *start = *at, *end, *last;

    for (;;) { /* skips blanks and comments */
        end = start[0] == '-' || start[0] == '/' ? skip_opaque(start) : start;
        if (end == start && !is_blank(*start) && *start != ';')
            break;
        start = end == start ? start + 1 : end;
    }
    end = last = start;
    while (*end && *end != ';') {
        const char *next = skip_opaque(end);
        bool comment = next > end && (*end == '-' || *end == '/');

        if (next == end)
            next++;
        if (!comment && !is_blank(*end))
            last = next;
        end = next;
    }
    *at = *end ? end + 1 : end;
    *statement = start;
    *length = (size_t)(last - start);
    return last > start;
}

/* Transactions, budgets, parameters and columns of a statement. */

enum rowlock_transaction rowlock__left_in(enum rowlock_state state,
                                          enum rowlock_transaction otherwise)
{
    switch (state) {
    case ROWLOCK_STATE_OPEN:
        return ROWLOCK_TX_KEPT;
    case ROWLOCK_STATE_ABORTED:
        return ROWLOCK_TX_ABORTED;
    case ROWLOCK_STATE_DEAD:
        return ROWLOCK_TX_DEAD;
    default:
        return otherwise;
    }
}

int64_t rowlock__give_up_ms(const struct rowlock_budget *budget, int64_t now_ms)
{
    int64_t usual_ms = now_ms + ROWLOCK_GRACE_MS;

    return budget->give_up_ms && budget->give_up_ms < usual_ms ? budget->give_up_ms : usual_ms;
}

int64_t rowlock__value_number(const struct rowlock_value *value)
{
    char text[32] = "";

    if (value->type == ROWLOCK_INT)
        return value->number;
    if (value->type == ROWLOCK_BYTES && value->length < sizeof text)
        memcpy(text, value->bytes, value->length);
    return strtoll(text, NULL, 10);
}

void rowlock__take_number(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 0)
        *(int64_t *)data = rowlock__value_number(&columns[0]);
}

enum rowlock_run_outcome rowlock__value_outcome(const struct rowlock_value *value)
{
    return rowlock__outcome_of(value->bytes, value->type == ROWLOCK_BYTES ? value->length : 0);
}

struct rowlock_value rowlock__int_value(int64_t number)
{
    return (struct rowlock_value){.type = ROWLOCK_INT, .number = number};
}

struct rowlock_value rowlock__text_value(const char *text)
{
    if (!text)
        return (struct rowlock_value){.type = ROWLOCK_NULL};
    return rowlock__bytes_value(text, strlen(text));
}

struct rowlock_value rowlock__bytes_value(const char *bytes, size_t length)
{
    return (struct rowlock_value){.type = ROWLOCK_BYTES, .bytes = bytes, .length = length};
}
