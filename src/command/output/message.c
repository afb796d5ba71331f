/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to stderr, each as one whole line. Control characters are escaped, because a name or a
   note of another user may contain anything. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/output/output.h"
#include "util/calendar.h"
#include "util/utf8.h"

size_t escape_controls(const char *text, char *out, size_t size)
{
    int utf8 = rowlock__utf8_length(text, strlen(text)) >= 0;
    size_t n = 0;

    for (const unsigned char *at = (const unsigned char *)text; *at && n + 8 < size; at++) {
        size_t length = rowlock__utf8_character((const char *)at, 3);
        unsigned control = utf8 ? rowlock__utf8_control((const char *)at, length) : 0;
        /* Whether a backslash could be read as the beginning of an escape, and so must be doubled.
           Before another printable character it stays single, so that a printed GRANT on
           `some\_db` can be copied. */
        int is_ambiguous =
            *at == '\\' && (at[1] <= 0x20 || at[1] >= 0x7f || strchr("nxu\\", at[1]));

        if (control) {
            n += (size_t)snprintf(out + n, size - n, "\\u%04x", control);
            at += length - 1;
        } else if (*at == '\n' || is_ambiguous)
            n += (size_t)snprintf(out + n, size - n, *at == '\n' ? "\\n" : "\\\\");
        else if (*at < 0x20 || *at == 0x7f || (*at >= 0x80 && !utf8))
            n += (size_t)snprintf(out + n, size - n, "\\x%02x", *at);
        else
            out[n++] = (char)*at;
    }
    out[n] = '\0';
    return n;
}

static _Thread_local char *kept; /* a thread may read the URL again while others print */
static _Thread_local size_t kept_size;

void message_keep(char *out, size_t size)
{
    kept = out;
    kept_size = size;
}

static int is_timed;

void message_with_time(void)
{
    is_timed = 1;
}

size_t put_time_now(char *out, size_t size)
{
    char when[ROWLOCK_INSTANT_SIZE];

    rowlock__local_time(rowlock__wall_ms(), when, sizeof when);
    return (size_t)snprintf(out, size, "%s ", when);
}

static void say(int fd, const char *format, va_list arguments)
{
    char text[1024], line[4 * sizeof text];
    size_t length = is_timed ? put_time_now(line, sizeof line) : 0;

    vsnprintf(text, sizeof text, format, arguments);
    if (kept && fd == STDERR_FILENO) {
        snprintf(kept, kept_size, "%s", text);
        return;
    }
    length += (size_t)sprintf(line + length, "rowlock: ");
    length += escape_controls(text, line + length, sizeof line - length - 1);
    line[length++] = '\n';
    if (write(fd, line, length) < 0)
        return; /* the last channel for errors has failed */
}

void message(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    va_start(arguments, format);
    say(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

void message_to(int fd, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(fd, format, arguments);
    va_end(arguments);
}

const char *before_name(const char *name)
{
    return *name == '-' ? "--name " : "";
}

const char *shown(const char *argument)
{
    return strstr(argument, "://") ? "(a URL, not shown)" : argument;
}
