/* SPDX-License-Identifier: Apache-2.0 */
/* Detects a SQLite file that was deleted or replaced while it is open. */
#include "driver/sqlite_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rowlock.h"
#include "system/system.h"
#include "util/error.h"

#define S rowlock__sqlite
#define PATH_SIZE 4200
#define SUFFIX_SIZE 5

/* After a failed stat(): a file that is inaccessible, for want of permission or because the disk
   does not answer, is not gone. */
static bool is_gone(void)
{
    return errno == ENOENT || errno == ENOTDIR;
}

/* While we have the log open, no other program may remove it or its index: programs that open a new
   log do not see our locks. SQLite is asked once, after the inode was recorded: when both agree,
   our own comparison suffices from then on. */
bool rowlock__sqlite_replaced(sqlite3 *db, bool borrowed, struct rowlock_sqlite_files *files)
{
    static const char suffixes[ROWLOCK_SQLITE_FILES][SUFFIX_SIZE] = {"", "-wal", "-shm"};
    const char *database = S.sqlite3_db_filename(db, "main");
    size_t length = database ? strlen(database) : 0;
    bool is_known = files->file[0].inode != 0;
    struct stat now;
    char path[PATH_SIZE];
    int n = borrowed ? 1 : ROWLOCK_SQLITE_FILES, moved = 0;

    if (length == 0 || length + SUFFIX_SIZE > sizeof path)
        return false; /* in memory */
    memcpy(path, database, length);
    for (int i = 0; i < n; i++) {
        bool seen = files->file[i].inode != 0;

        memcpy(path + length, suffixes[i], SUFFIX_SIZE);
        if (stat(path, &now) != 0) {
            if (seen && is_gone())
                return true;
            continue;
        }
        if (!seen) {
            files->file[i].device = now.st_dev;
            files->file[i].inode = now.st_ino;
        }
        if (files->file[i].inode != now.st_ino || files->file[i].device != now.st_dev)
            return true;
    }
    /* SQLite compares the inode with that of the file that it opened, however long ago. It reports
       every inaccessible file as moved. */
    return !is_known &&
           S.sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved && (stat(database, &now) == 0 || is_gone());
}

/* Creates a SQLite file with the right mode, and explains why a path cannot be used. */

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

int rowlock__sqlite_check(const char *path, bool creates, struct rowlock_error *error)
{
    struct stat is;
    int fd, why = 0;

    if (creates) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            close(fd);
            return ROWLOCK_OK;
        }
        if (errno != EEXIST)
            return refuse_path(path, "created", errno, error);
    }
    /* Does not open it: closing it again would drop the locks that another connection of this
       process has on it. */
    if (stat(path, &is))
        why = errno;
    else if (S_ISDIR(is.st_mode))
        why = EISDIR;
    else if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
        why = errno;
    if (!creates && why == ENOENT)
        return rowlock__fail(error, ROWLOCK_ESERVER,
                             "'%s' does not exist: no lock was ever taken there; correct the URL, "
                             "or create the file: "
                             "rowlock --db 'sqlite:%s' schema install",
                             path, path);
    return why ? refuse_path(path, "opened", why, error) : rowlock__sqlite_check_links(path, error);
}

/* Loads libsqlite3 and its functions. */

struct rowlock_sqlite_library rowlock__sqlite;

static const char *const names[] = {ROWLOCK_SQLITE_FUNCTIONS(ROWLOCK_LIBRARY_NAME) NULL};

struct rowlock_library rowlock__sqlite_client = {
    .file = "libsqlite3.so.0",
    .package = "libsqlite3-0 (3.34 or later)",
    .names = names,
    .table = &rowlock__sqlite,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};
