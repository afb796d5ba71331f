/* SPDX-License-Identifier: Apache-2.0 */
/* Detects a SQLite file that was deleted or replaced while it is open. */
#include "driver/sqlite_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define S rowlock__sqlite
#define PATH_SIZE 4200
#define SUFFIX_SIZE 5

/* After a failed stat(): a file that is inaccessible, for want of permission or because the disk
   does not answer, is not gone. */
static bool is_gone(void)
{
    return errno == ENOENT || errno == ENOTDIR;
}

static bool is_another(struct rowlock_sqlite_files *files, int which, const char *path)
{
    struct stat now;

    if (stat(path, &now))
        return files->file[which].inode && is_gone();
    if (!files->file[which].inode) {
        files->file[which].device = now.st_dev;
        files->file[which].inode = now.st_ino;
    }
    return files->file[which].inode != now.st_ino || files->file[which].device != now.st_dev;
}

/* SQLite compares the inode with that of the file that it opened, however long ago. It reports
   every inaccessible file as moved. */
static bool has_moved(sqlite3 *db, const char *database)
{
    struct stat now;
    int moved = 0;

    return S.sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved && (stat(database, &now) == 0 || is_gone());
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
    char path[PATH_SIZE];
    int n = borrowed ? 1 : ROWLOCK_SQLITE_FILES;

    if (length == 0 || length + SUFFIX_SIZE > sizeof path)
        return false; /* in memory */
    memcpy(path, database, length);
    for (int i = 0; i < n; i++) {
        memcpy(path + length, suffixes[i], SUFFIX_SIZE);
        if (is_another(files, i, path))
            return true;
    }
    return !is_known && has_moved(db, database);
}
