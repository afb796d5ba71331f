/* SPDX-License-Identifier: Apache-2.0 */
/* A line is one write() to a descriptor in append mode, so that workers' lines never mix. */
#include "report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int report_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
}

static size_t escape(char *out, size_t room, const char *text)
{
    size_t n = 0;

    for (; *text && n + 5 < room; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 32 || c == 127)
            n += (size_t)snprintf(out + n, room - n, "\\x%02x", c);
        else
            out[n++] = (char)c;
    }
    out[n] = 0;
    return n;
}

static void write_line(int fd, const char *start, const char *path, uint64_t number,
                       const char *between, const char *reason)
{
    char line[REPORT_LINE];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", start);
    ssize_t written;

    if (*path)
        n += escape(line + n, sizeof line - 1024 - n, path);
    else
        n += (size_t)snprintf(line + n, sizeof line - n, "generated document %" PRIu64, number);
    n += (size_t)snprintf(line + n, sizeof line - n, "%s", between);
    n += escape(line + n, sizeof line - 1 - n, reason);
    line[n++] = '\n';
    written = write(fd, line, n);
    (void)written; /* a full disk under the report does not stop the loading */
}

void report_refused(int fd, const char *path, uint64_t number, const char *reason)
{
    write_line(fd, "", path, number, "\t", reason);
}

void report_undone(const char *path, uint64_t number, const char *reason)
{
    const char *start = isatty(STDERR_FILENO) ? "\r\033[Kdocuments: " : "documents: ";

    write_line(STDERR_FILENO, start, path, number, ": left undone: ", reason);
}
