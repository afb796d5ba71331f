/* SPDX-License-Identifier: Apache-2.0 */
/* --report: writes how the run ended, for the program that started rowlock. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/output/json.h"
#include "run/supervise/execute.h"

/* Reopening a log would truncate it. */
static int is_standard_error(const struct stat *file)
{
    struct stat error;

    return fstat(STDERR_FILENO, &error) == 0 && file->st_dev == error.st_dev &&
           file->st_ino == error.st_ino;
}

/* Truncates it at once: while the command runs, or if we are killed, it has no line of an earlier
   run. */
int report_open(const char *path)
{
    struct stat file;
    int fd = stat(path, &file) == 0 && is_standard_error(&file)
                 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        message("--report: '%s' cannot be written: %s", path, strerror(errno));
    return fd;
}

static void put_line(FILE *out, const struct outcome *outcome, const struct lock_options *lock)
{
    int status = outcome->status < 0 ? 128 - outcome->status : outcome->status;

    fprintf(out, "{\"acquired\":%s,\"waited_ms\":%" PRId64 ",\"token\":",
            outcome->acquired ? "true" : "false", outcome->waited_ms);
    json_number(out, outcome->token);
    fprintf(out, ",\"lost\":%s,\"exit\":%d,\"names\":", outcome->lost ? "true" : "false", status);
    for (size_t i = 0; i < lock->n; i++) {
        fputs(i ? "," : "[", out);
        json_text(out, lock->wants[i].name);
    }
    fputs("]}\n", out);
}

/* One write, so that no reader gets half of it. Another run may have written to the file since it
   was opened: the last one replaces it as a whole. */
void report_write(int fd, const struct outcome *outcome, const struct lock_options *lock)
{
    struct stat file;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int failed;

    if (out)
        put_line(out, outcome, lock);
    failed = !out || fclose(out);
    if (!failed && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && !is_standard_error(&file))
        failed = ftruncate(fd, 0);
    if (failed || write(fd, text, size) != (ssize_t)size)
        message("--report: cannot write: %s", strerror(errno));
    free(text);
}
