/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and columns of a statement. */
#include <stdlib.h>
#include <string.h>

#include "dialect/outcome.h"
#include "driver/driver.h"

int64_t rowlock__value_number(const struct rowlock_value *value)
{
    char text[32] = "";

    if (value->type == ROWLOCK_INT)
        return value->number;
    if (value->type == ROWLOCK_BYTES && value->length < sizeof text)
        memcpy(text, value->bytes, value->length);
    return strtoll(text, NULL, 10);
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
