/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes, their texts, and the error that a failed call reports. */
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
#define ROWLOCK_XX(name, value, text) {value, #name, text},
    ROWLOCK_ERRORS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

const char *rowlock_strerror(int code)
{
    if (code == ROWLOCK_OK)
        return "success";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].text;
    return "unknown error";
}

const char *rowlock_error_name(int code)
{
    if (code == ROWLOCK_OK)
        return "OK";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "E?";
}

void rowlock__clear_error(struct rowlock_error *error)
{
    if (error)
        memset(error, 0, sizeof *error);
}

/* Replaces control characters, so that no name can forge a log line; keeps UTF-8 valid if cut. */
static void print_safely(char *out, size_t size, const char *format, va_list arguments)
{
    size_t length, step;

    vsnprintf(out, size, format, arguments);
    length = strlen(out);
    for (size_t i = 0; i < length; i += step) {
        unsigned char byte = (unsigned char)out[i];

        step = rowlock__utf8_character(out + i, length - i);
        if (byte == '\n' || byte == '\t')
            out[i] = ' ';
        else if (step == 0 || byte < 0x20 || byte == 0x7f)
            out[i] = '?';
        else if (rowlock__utf8_control(out + i, step))
            memset(out + i, '?', step);
        if (step == 0)
            step = 1;
    }
    while (length > 0 && out[length - 1] == ' ')
        out[--length] = '\0';
}

int rowlock__fail(struct rowlock_error *error, int code, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return code;
    rowlock__clear_error(error);
    error->code = code;
    va_start(arguments, format);
    print_safely(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return code;
}

int rowlock__no_memory(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
}

int rowlock__wrap_error(struct rowlock_error *error, int code, const char *format, ...)
{
    char before[sizeof error->text], whole[sizeof error->text * 2 + 2];
    va_list arguments;

    if (!error)
        return code;
    va_start(arguments, format);
    print_safely(before, sizeof before, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "%s: %s", before, error->text);
    whole[sizeof error->text - 1] = '\0';
    memcpy(error->text, whole, strlen(whole) + 1);
    return error->code;
}

int rowlock__left(struct rowlock_error *error, int code, enum rowlock_transaction left)
{
    if (error)
        error->transaction = left;
    return code;
}
