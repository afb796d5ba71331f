/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of SQLite alone: the file itself, and the statements of a handle.
 * Runs on: sqlite/native
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/test.h"

static struct rowlock_connection *open_new(const char *name, char *path, size_t size)
{
    struct rowlock_connection *connection = NULL;

    snprintf(path, size, "%s/%s", getenv("ROWLOCK_TEST_TEMP"), name);
    t_ok(rowlock_open(t_say("sqlite:%s", path), NULL, &connection, &t_error));
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
    FILE *file;
    int code;
    const char *path = t_say("%s/letter.txt", getenv("ROWLOCK_TEST_TEMP"));

    file = fopen(path, "w");
    t_true(file != NULL);
    fprintf(file, "%5000s", "Dear database,");
    fclose(file);
    code = rowlock_open(t_say("sqlite:%s", path), NULL, &connection, &t_error);
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

/* ---- the file is replaced -------------------------------------------------------------------- */

static struct rowlock_lease *held_in(struct rowlock_connection *connection)
{
    struct rowlock_want want = t_x("held");
    struct rowlock_terms terms = {.ttl_ms = HOUR};
    struct rowlock_lease *lease = NULL;

    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    t_ok(rowlock_renew(lease, 0, &t_error));
    return lease;
}

/* Every call for a lease in a replaced file reports that the lease is lost, and nothing is
   locked in that file. */
static void nothing_holds(struct rowlock_connection *connection, struct rowlock_lease *lease)
{
    struct rowlock_want want = t_x("other");
    struct rowlock_lease *none = NULL;

    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_true(strstr(t_error.text, "deleted or replaced") != NULL);
    t_int(rowlock_remaining(lease), 0);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    t_fails(rowlock_acquire(connection, &want, 1, NULL, &none, &t_error), ESERVER);
    t_true(strstr(t_error.text, "deleted or replaced") != NULL);
    t_fails(t_begin(connection, t_x("other"), 0), ESERVER);
    rowlock_lease_free(lease);
}

TEST(p1_the_file_is_deleted_and_its_leases_are_lost)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char path[400];
        struct rowlock_connection *connection;
        struct rowlock_lease *lease;

        connection = open_new(t_say("deleted%zu.db", i), path, sizeof path);
        lease = held_in(connection);
        t_int(unlink(t_say("%s%s", path, suffixes[i])), 0);
        nothing_holds(connection, lease);
    }
}

TEST(p1_the_file_is_replaced_and_its_leases_are_lost)
{
    char path[400], fresh[400];
    struct rowlock_connection *connection = open_new("replaced.db", path, sizeof path);
    struct rowlock_lease *lease = held_in(connection), *second;

    second = held_in(open_new("fresh.db", fresh, sizeof fresh));
    rowlock_lease_free(second);
    t_int(rename(fresh, path), 0);
    nothing_holds(connection, lease);
}

/* Opens and acquires, then loses the permission to read the folder. Returns 0: the lease can
   still be renewed. */
static int renew_unseen(const void *data, int to)
{
    struct rowlock_want want = t_x("unseen");
    struct rowlock_terms terms = {.ttl_ms = HOUR};
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct stat file;
    const char *url = t_say("sqlite:%s/unseen.db", (const char *)data);

    (void)to;
    if (rowlock_open(url, NULL, &connection, NULL) ||
        rowlock_acquire(connection, &want, 1, &terms, &lease, NULL))
        return 1;
    if (chmod(data, 0) || (geteuid() == 0 && setuid(65534)))
        return 2;
    if (stat(url + strlen("sqlite:"), &file) == 0 || errno != EACCES)
        return 3;
    if (rowlock_renew(lease, 0, NULL))
        return 4;
    return rowlock_release(lease, NULL) ? 5 : 0;
}

TEST(a_file_that_may_not_be_looked_at_has_not_gone)
{
    struct child child;
    const char *folder = t_say("%s/unseen", getenv("ROWLOCK_TEST_TEMP"));

    t_int(mkdir(folder, 0700), 0);
    child = t_child(renew_unseen, folder);
    t_int(t_await_child(&child), 0);
    t_int(chmod(folder, 0700), 0);
}

static void note_loss(struct rowlock_lease *lease, const struct rowlock_error *why, void *data)
{
    (void)lease;
    t_int(write(*(int *)data, &why->code, sizeof why->code), sizeof why->code);
}

TEST(p5_the_file_is_deleted_while_a_thread_keeps_the_lease)
{
    char path[400];
    struct rowlock_connection *connection = open_new("kept.db", path, sizeof path);
    struct rowlock_want want = t_x("kept");
    struct rowlock_terms terms = {.ttl_ms = 3000};
    struct rowlock_lease *lease = NULL;
    int fds[2], code = 0;

    t_int(pipe(fds), 0);
    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    t_ok(rowlock_auto_renew(lease, note_loss, &fds[1], &t_error));
    t_int(unlink(path), 0);
    t_int(read(fds[0], &code, sizeof code), sizeof code);
    t_int(code, ROWLOCK_ELOST);
    rowlock_lease_free(lease);
    close(fds[0]);
    close(fds[1]);
}

TEST(p4_the_fence_sees_that_the_file_was_replaced)
{
    char path[400];
    struct rowlock_connection *connection = open_new("fenced.db", path, sizeof path), *writer;
    struct rowlock_lease *lease = held_in(connection);

    writer = open_new("fenced.db", path, sizeof path);
    t_ok(t_begin(writer, t_x("data"), 0));
    t_ok(rowlock_fence(writer, "held", rowlock_token(lease), &t_error));
    t_int(unlink(path), 0);
    t_fails(rowlock_fence(writer, "held", rowlock_token(lease), &t_error), ELOST);
    t_true(rowlock_commit(writer, &t_error) != ROWLOCK_OK);
    t_ok(rowlock_rollback(writer, &t_error));
    rowlock_lease_free(lease);
}

TEST(nothing_of_ours_is_left_compiled_on_a_borrowed_handle)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_ok(t_begin(own, t_x("x"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_true(sqlite3_next_stmt(handle, NULL) == NULL);
}
