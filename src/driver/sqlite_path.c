/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a SQLite file with the right mode, and explains why a path cannot be used. */
#include "driver/sqlite_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rowlock.h"
#include "system/file.h"
#include "util/error.h"

/* Fails with ESERVER or EDENIED, because a wrong path stays wrong until its user corrects it. ECONN
   would mean an outage, and callers would wait for its end. */
static int refuse_path(const char *path, const char *verb, int number, struct rowlock_error *error)
{
    static const struct {
        int number, code;
        const char *advice;
    } lasting[] = {
        {ENOENT, ROWLOCK_ESERVER, "; its folder must exist: create it, or correct the path"},
        {ENOTDIR, ROWLOCK_ESERVER, "; correct the path"},
        {EISDIR, ROWLOCK_ESERVER, "; name a file in it: sqlite:FOLDER/rowlock.db"},
        {ELOOP, ROWLOCK_ESERVER, "; correct the path"},
        {ENAMETOOLONG, ROWLOCK_ESERVER, "; choose a shorter path"},
        {EROFS, ROWLOCK_ESERVER, "; rowlock needs a file that it can write to"},
        {EACCES, ROWLOCK_EDENIED, "; this user must be able to write to the file and its folder"},
        {EPERM, ROWLOCK_EDENIED, "; this user must be able to write to the file and its folder"},
    };

    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        if (lasting[i].number == number)
            return rowlock__fail(error, lasting[i].code, "'%s' cannot be %s: %s%s", path, verb,
                                 strerror(number), lasting[i].advice);
    return rowlock__fail(error, ROWLOCK_ECONN, "'%s' cannot be %s: %s", path, verb,
                         strerror(number));
}

/* 0, or why the file cannot be read. Does not open it: closing it again would drop the locks that
   another connection of this process has on it. */
static int what_forbids(const char *path)
{
    struct stat is;

    if (stat(path, &is))
        return errno;
    if (S_ISDIR(is.st_mode))
        return EISDIR;
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) ? errno : 0;
}

int rowlock__sqlite_check_links(const char *path, struct rowlock_error *error)
{
    struct stat is;

    if (stat(path, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink > 1)
        return rowlock__fail(
            error, ROWLOCK_ESERVER,
            "'%s' has %llu hard links, and locks taken by one of these paths do not exclude those "
            "taken by another: keep one path and delete the others; to find them: "
            "find / -xdev -samefile '%s'",
            path, (unsigned long long)is.st_nlink, path);
    if (rowlock__is_mounted_alone(path))
        return rowlock__fail(
            error, ROWLOCK_ESERVER,
            "'%s' is mounted without its folder, and locks taken by this path do not exclude those "
            "taken by the file's other path: mount its folder instead",
            path);
    return ROWLOCK_OK;
}

int rowlock__sqlite_create(const char *path, struct rowlock_error *error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), why;

    if (fd >= 0) {
        close(fd);
        return ROWLOCK_OK;
    }
    if (errno != EEXIST)
        return refuse_path(path, "created", errno, error);
    why = what_forbids(path);
    return why ? refuse_path(path, "opened", why, error) : rowlock__sqlite_check_links(path, error);
}

int rowlock__sqlite_check(const char *path, struct rowlock_error *error)
{
    int why = what_forbids(path);

    if (why == ENOENT)
        return rowlock__fail(error, ROWLOCK_ESERVER,
                             "'%s' does not exist: no lock was ever taken there; correct the URL, "
                             "or create the file: "
                             "rowlock --db 'sqlite:%s' schema install",
                             path, path);
    return why ? refuse_path(path, "opened", why, error) : rowlock__sqlite_check_links(path, error);
}
