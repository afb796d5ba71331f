/* SPDX-License-Identifier: Apache-2.0 */
/* What only SQLite has: the file itself, and the busy time-out of a handle. Runs on: sqlite/native */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/test.h"
#include "rowlock/sqlite.h"

static struct rowlock_connection *open_new(const char *name, char *path, size_t size)
{
    struct rowlock_connection *connection = NULL;
    char url[500];

    snprintf(path, size, "%s/%s", getenv("ROWLOCK_TEST_TEMP"), name);
    snprintf(url, sizeof url, "sqlite:%s", path);
    t_ok(rowlock_open(url, NULL, &connection, &t_error));
    return t_adopt(connection);
}

TEST(a_new_file_is_for_its_owner_only_whatever_the_umask)
{
    char path[400];
    struct stat file;
    mode_t mask = umask(0);

    open_new("private.db", path, sizeof path);
    umask(mask);
    t_int(stat(path, &file), 0);
    t_int(file.st_mode & 0777, 0600);
}

TEST(a_file_that_is_there_keeps_its_mode_and_its_tables)
{
    char path[400];
    struct stat file;

    snprintf(path, sizeof path, "%s/shared.db", getenv("ROWLOCK_TEST_TEMP"));
    t_int(creat(path, 0640) >= 0, 1);
    t_int(chmod(path, 0640), 0);
    open_new("shared.db", path, sizeof path);
    t_int(stat(path, &file), 0);
    t_int(file.st_mode & 0777, 0640);
}

TEST(a_file_that_is_no_database_is_refused)
{
    struct rowlock_connection *connection = NULL;
    char path[400], url[500];
    FILE *file;
    int code;

    snprintf(path, sizeof path, "%s/letter.txt", getenv("ROWLOCK_TEST_TEMP"));
    file = fopen(path, "w");
    t_true(file != NULL);
    fprintf(file, "%5000s", "Dear database,");
    fclose(file);
    snprintf(url, sizeof url, "sqlite:%s", path);
    code = rowlock_open(url, NULL, &connection, &t_error);
    if (!code)
        code = t_begin(t_adopt(connection), t_x("x"), 0);
    t_int(code, ROWLOCK_EINVAL);
}

TEST(memory_is_no_database_that_programs_share)
{
    struct rowlock_connection *connection = NULL;

    t_fails(rowlock_open("sqlite::memory:", NULL, &connection, &t_error), EINVAL);
    t_fails(rowlock_open("sqlite:", NULL, &connection, &t_error), EINVAL);
}

TEST(p11_the_busy_timeout_of_the_handle_is_put_back)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *other = t_open();

    sqlite3_busy_timeout(handle, 4321);
    t_ok(t_begin(other, t_x("x"), 0));
    t_fails(t_begin(own, t_x("x"), 0), EBUSY);
    t_fails(t_begin(own, t_x("x"), 30), ETIMEDOUT);
    t_text(t_native_sql(handle, "PRAGMA busy_timeout"), "4321");
    t_ok(rowlock_commit(other, &t_error));
    t_ok(t_begin(own, t_x("x"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_text(t_native_sql(handle, "PRAGMA busy_timeout"), "4321");
}

TEST(nothing_of_ours_is_left_compiled_on_a_borrowed_handle)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_ok(t_begin(own, t_x("x"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_true(sqlite3_next_stmt(handle, NULL) == NULL);
}
