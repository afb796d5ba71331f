/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON values. */
#include "command/output/json.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "util/utf8.h"

/* Writes the character at `at`, and returns the number of its bytes. Escapes also the control
   characters that JSON allows, because the output may go to a terminal. */
static size_t put_character(FILE *out, const char *at, size_t left)
{
    unsigned char byte = (unsigned char)*at;
    size_t length = rowlock__utf8_character(at, left);
    unsigned control = rowlock__utf8_control(at, length);

    if (byte == '"' || byte == '\\')
        fprintf(out, "\\%c", byte);
    else if (byte == '\n')
        fputs("\\n", out);
    else if (byte < 0x20 || byte == 0x7f)
        fprintf(out, "\\u%04x", byte);
    else if (control)
        fprintf(out, "\\u%04x", control);
    else if (length > 0)
        fwrite(at, 1, length, out);
    else
        fputs("\\ufffd", out);
    return length > 0 ? length : 1;
}

void json_text(FILE *out, const char *text)
{
    size_t left = text ? strlen(text) : 0;

    if (left == 0) {
        fputs("null", out);
        return;
    }
    putc('"', out);
    while (left > 0) {
        size_t length = put_character(out, text, left);

        text += length;
        left -= length;
    }
    putc('"', out);
}

void json_count(FILE *out, int is, int64_t number)
{
    if (is)
        fprintf(out, "%" PRId64, number);
    else
        fputs("null", out);
}

void json_number(FILE *out, int64_t number)
{
    json_count(out, number != 0, number);
}

int utc_instant(int64_t ms, char *out, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char text[64];

    if (ms < 0 || !gmtime_r(&seconds, &utc) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return -1;
    snprintf(out, size, "%s.%03dZ", text, (int)(ms % 1000));
    return 0;
}

void json_instant(FILE *out, int64_t ms)
{
    char text[UTC_INSTANT_SIZE];

    if (ms == 0 || ms == INT64_MAX || utc_instant(ms, text, sizeof text))
        fputs("null", out);
    else
        fprintf(out, "\"%s\"", text);
}
