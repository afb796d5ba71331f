/* SPDX-License-Identifier: Apache-2.0 */
#include "command/output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/exit_status.h"

static int file_failed(const char *action, const char *path)
{
    message("cannot %s %s: %s", action, path, strerror(errno));
    return STATUS_FAILED;
}

/* Creates a new file beside the old one. Its reader may be another account, so only the umask
   restricts the file. */
static FILE *open_beside(char *path)
{
    mode_t mask = umask(077);
    int fd = mkstemp(path);

    umask(mask);
    if (fd < 0)
        return NULL;
    if (fchmod(fd, 0666 & ~mask) == 0) {
        FILE *out = fdopen(fd, "w");

        if (out)
            return out;
    }
    close(fd);
    unlink(path);
    return NULL;
}

static int replace_target(const char *path, int (*write)(FILE *out, void *data), void *data)
{
    char *beside;
    FILE *out;
    int status, failed;

    if (asprintf(&beside, "%s.XXXXXX", path) < 0)
        return out_of_memory();
    out = open_beside(beside);
    if (!out) {
        status = file_failed("create", beside);
    } else {
        status = write(out, data);
        failed = fflush(out) || ferror(out) || fsync(fileno(out));
        if (fclose(out) || failed || rename(beside, path)) {
            failed = file_failed("write", path);
            status = status ? status : failed;
            unlink(beside);
        }
    }
    free(beside);
    return status;
}

int replace_file(const char *path, int (*write)(FILE *out, void *data), void *data)
{
    char *target = realpath(path, NULL); /* NULL: a new file */
    struct stat is;
    int status;

    if (target && stat(target, &is) == 0 && !S_ISREG(is.st_mode)) {
        message("cannot replace %s: it is not a regular file", path);
        status = STATUS_USAGE;
    } else {
        status = replace_target(target ? target : path, write, data);
    }
    free(target);
    return status;
}
