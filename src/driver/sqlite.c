/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver for SQLite: a file with one writer at a time, and no server that could wait for us. So
 * this driver does the waiting: a statement that gets SQLITE_BUSY is retried with growing pauses
 * until the budget ends. A transaction that has read and cannot become a writer fails at once,
 * because waiting would not help.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/sqlite_link.h"
#include "util/clock.h"
#include "util/error.h"

#define S rowlock__sqlite

/* ---- the log --------------------------------------------------------------------------------- */

#define MANY_COMMITS 100
#define SHORT_LOG 250 /* pages, of 4 KiB */
#define LOG 1000      /* SQLite's default */
#define LONG_LOG 2000
#define CHECKPOINT_MS 50

/* A checkpoint waits for the disk three times. The first process to open the file reads the whole
   log, so many short-lived users need a short one; a connection that commits often checkpoints less
   often. While others write, a checkpoint cannot reach the end of the log, which then grows: if the
   log is long, the checkpoint waits for the others. */
static int checkpoint(void *data, sqlite3 *db, const char *name, int pages)
{
    const struct rowlock_link *link = data;

    if (pages >= LONG_LOG) {
        S.sqlite3_busy_timeout(db, CHECKPOINT_MS);
        S.sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        S.sqlite3_busy_timeout(db, 0);
    } else if (pages >= (link->commits < MANY_COMMITS ? SHORT_LOG : LOG)) {
        S.sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    return SQLITE_OK; /* the COMMIT is done, whatever became of the checkpoint */
}

/* ---- open and close ------------------------------------------------------------------------ */

#define MUST_EXIST "?mode=rw" /* as in SQLite's own URIs */

static int exec_retrying(struct rowlock_link *link, const char *text,
                         const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct rowlock_pause pause = ROWLOCK_PAUSE_SQLITE;
    int native, code;

    do {
        native = S.sqlite3_exec(link->db, text, NULL, NULL, NULL);
        if (native == SQLITE_OK) {
            rowlock__clear_error(error); /* of the wait */
            return ROWLOCK_OK;
        }
        code = rowlock__sqlite_failure(link, error);
    } while (((native & 0xff) == SQLITE_BUSY || (native & 0xff) == SQLITE_LOCKED) &&
             rowlock__sqlite_waits(&pause, budget, &code, error));
    return code;
}

static int open_path(struct rowlock_link *link, const char *path,
                     const struct rowlock_budget *budget, struct rowlock_error *error)
{
    int code =
        S.sqlite3_open_v2(path, &link->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        if (!link->db)
            return rowlock__no_memory(error);
        code = rowlock__sqlite_failure(link, error);
        return rowlock__wrap_error(error, code, "'%s'", path);
    }
    /* WAL survives a crash of the program at NORMAL, and a crash of the machine ends all holders.
       The last connection to close does not checkpoint: that waits for the disk, and many
       short-lived users of the file would all wait. */
    S.sqlite3_db_config(link->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    S.sqlite3_wal_hook(link->db, checkpoint, link);
    code = exec_retrying(link, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", budget,
                         error);
    if (code == ROWLOCK_ESERVER)
        return ROWLOCK_OK; /* a read-only file: the first lock reports it */
    if (code)
        return rowlock__wrap_error(error, code, "'%s'", path);
    link->replaced = rowlock__sqlite_replaced(link->db, false, &link->files);
    return ROWLOCK_OK;
}

static int open_file(struct rowlock_link *link, const char *url,
                     const struct rowlock_budget *budget, struct rowlock_error *error)
{
    const char *text = strchr(url, ':') + 1, *options;
    bool must_exist; /* the URL forbids creating the file */
    size_t length;
    char *path;
    int code;

    if (strncmp(text, "///", 3) == 0)
        text += 2;
    length = strcspn(text, "?");
    options = text + length;
    must_exist = strcmp(options, MUST_EXIST) == 0;
    if (length == 0 || (*options && !must_exist) || strcmp(text, ":memory:") == 0 ||
        strncmp(text, "file:", 5) == 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "sqlite: the URL must be the path of a file that all programs share, "
                             "without options other than " MUST_EXIST);
    path = strndup(text, length);
    if (!path)
        return rowlock__no_memory(error);
    code = rowlock__sqlite_check(path, !must_exist, error);
    if (!code)
        code = open_path(link, path, budget, error);
    free(path);
    return code;
}

static void sqlite_close(struct rowlock_link *link);

static int sqlite_open(const struct rowlock_source *source, const struct rowlock_budget *budget,
                       struct rowlock_link **out, const struct rowlock_dialect **dialect,
                       struct rowlock_error *error)
{
    struct rowlock_link *link;
    const char *path;
    int code = rowlock__load(&rowlock__sqlite_client, error);

    if (code)
        return code;
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__no_memory(error);
    link->borrowed = source->handle != NULL;
    link->db = source->handle;
    path = link->borrowed ? S.sqlite3_db_filename(link->db, "main") : NULL; /* "": in memory */
    if (!link->borrowed)
        code = open_file(link, source->url, budget, error);
    else if (path && *path)
        code = rowlock__sqlite_check_links(path, error);
    if (code) {
        sqlite_close(link);
        return code;
    }
    *out = link;
    *dialect = &rowlock__dialect_sqlite;
    return ROWLOCK_OK;
}

static void sqlite_close(struct rowlock_link *link)
{
    if (!link)
        return;
    rowlock__sqlite_forget(link);
    if (!link->borrowed && link->db)
        S.sqlite3_close_v2(link->db);
    free(link);
}

/* ---- batches ------------------------------------------------------------------------------- */

/* Our own pauses must decide, so the owner's busy_timeout is cleared and restored afterwards. A
   busy handler cannot be read, so it stays in place and waits as its owner programmed it. */
static void enter(struct rowlock_link *link)
{
    static const struct rowlock_statement ask = {"busy_timeout", "PRAGMA busy_timeout", 0, NULL,
                                                 NULL};
    struct rowlock_call call = {
        .statement = &ask, .row = rowlock__take_number, .data = &link->caller_timeout};
    struct rowlock_budget now = {0, -1, 0};

    link->caller_timeout = 0;
    if (!link->borrowed)
        return;
    rowlock__sqlite_execute(link, &ask, &call, &now, NULL);
    if (link->caller_timeout > 0)
        S.sqlite3_busy_timeout(link->db, 0);
}

static void leave(struct rowlock_link *link)
{
    if (!link->borrowed)
        return;
    rowlock__sqlite_forget(link);
    if (link->caller_timeout > 0)
        S.sqlite3_busy_timeout(link->db, (int)link->caller_timeout);
}

static enum rowlock_transaction left_of(struct rowlock_link *link, int was_open)
{
    if (!S.sqlite3_get_autocommit(link->db))
        return ROWLOCK_TX_KEPT;
    return was_open ? ROWLOCK_TX_GONE : ROWLOCK_TX_NONE;
}

static bool sqlite_replaced(struct rowlock_link *link)
{
    link->replaced =
        link->replaced || rowlock__sqlite_replaced(link->db, link->borrowed != 0, &link->files);
    return link->replaced;
}

/* A transaction of our own is checked when it begins, and before its COMMIT. If the file was
   replaced, an open transaction is left for the caller to roll back. */
static int sqlite_run(struct rowlock_link *link, unsigned transaction_flags,
                      struct rowlock_call *calls, size_t n, const struct rowlock_budget *budget,
                      struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    static const struct rowlock_statement commit = {"commit", "COMMIT", 0, NULL, NULL};
    int was_open = !S.sqlite3_get_autocommit(link->db), code = ROWLOCK_OK;
    bool checks = link->borrowed || !was_open || (transaction_flags & ROWLOCK_COMMIT);

    outcome->sent_commit = false;
    if (link->replaced || (checks && sqlite_replaced(link))) {
        code = rowlock__fail(error, ROWLOCK_ESERVER,
                             "'%.200s' (or its -wal or -shm file) was deleted or replaced while it "
                             "was open, so a lock in it excludes no other process: open it again",
                             S.sqlite3_db_filename(link->db, "main"));
        outcome->left = left_of(link, 0);
        return rowlock__left(error, code, outcome->left);
    }
    enter(link);
    if (transaction_flags & ROWLOCK_BEGIN)
        code = rowlock__sqlite_execute(link, &rowlock__dialect_sqlite.statements[ROWLOCK_SQL_BEGIN],
                                       NULL, budget, error);
    for (size_t i = 0; !code && i < n; i++)
        code = rowlock__sqlite_execute(link, calls[i].statement, &calls[i], budget, error);
    if (!code && transaction_flags & ROWLOCK_COMMIT) {
        code = rowlock__sqlite_execute(link, &commit, NULL, budget, error);
        link->commits += !code;
    }
    outcome->left = left_of(link, code && was_open);
    if (code)
        rowlock__left(error, code, outcome->left);
    leave(link);
    return code;
}

static int sqlite_rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                           struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    if (!S.sqlite3_get_autocommit(link->db)) {
        enter(link);
        code = exec_retrying(link, "ROLLBACK", budget, error); /* needs no memory of ours */
        leave(link);
    }
    return code;
}

static enum rowlock_state sqlite_state(const struct rowlock_link *link)
{
    return S.sqlite3_get_autocommit(link->db) ? ROWLOCK_STATE_IDLE : ROWLOCK_STATE_OPEN;
}

static int sqlite_script(struct rowlock_link *link, const char *text,
                         const struct rowlock_budget *budget, struct rowlock_error *error)
{
    int code;

    enter(link);
    code = exec_retrying(link, text, budget, error);
    leave(link);
    return code;
}

static void *sqlite_handle(const struct rowlock_link *link)
{
    return link->db;
}

static void sqlite_library(char *out, size_t size)
{
    snprintf(out, size, "libsqlite3 %s", S.sqlite3_libversion());
}

const struct rowlock_driver rowlock__driver_sqlite = {
    .name = "sqlite",
    .schemes = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .run = sqlite_run,
    .rollback = sqlite_rollback,
    .state = sqlite_state,
    .script = sqlite_script,
    .replaced = sqlite_replaced,
    .handle = sqlite_handle,
    .client = &rowlock__sqlite_client,
    .library = sqlite_library,
};
