/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: a driver's link, what the server speaks, and what is installed there. */
#ifndef ROWLOCK_CONNECTION_H
#define ROWLOCK_CONNECTION_H

#include <sys/types.h>

#include "driver/driver.h"
#include "util/clock.h"
#include "util/rows.h"

#define ROWLOCK_SCHEMA_VERSION 1

/* What rowlock_meta says. */
struct rowlock_installed {
    int version; /* 0: nothing is installed */
    enum rowlock_technique technique;
    char object[200]; /* technique insert: its table, as it stands in statements */
    int id_width;     /* and how many characters a name may have there; 0: no limit of its own */
    int owned;        /* and we created it; told only where uninstall is left to the library */
};

struct rowlock_group; /* lease/group.h */

struct rowlock_connection {
    const struct rowlock_driver *driver;
    const struct rowlock_dialect *dialect;
    struct rowlock_link *link; /* NULL: a member of a group, whose own session was not needed yet */
    struct rowlock_group *group; /* NULL: none */
    pid_t pid; /* who opened it: a session must not be used on both sides of a fork */
    int wrapped;
    char *url;      /* where a second one may be opened; NULL: nowhere */
    char *database; /* options->database */
    rowlock_duration connect_ms, statement_ms;
    int interrupt_fd;
    int64_t deadline_ms; /* of the wait that is under way; 0: none that binds statements */
    struct rowlock_connection *second; /* opened when first needed */
    int checked;                       /* `installed` was read and fits this library */
    struct rowlock_installed installed;
    int64_t
        session; /* the server's own number and start of it; 0: not asked, < 0: not to be known */
    char session_start[64];
    /* With another table name; text NULL: as in the dialect. */
    struct rowlock_statement renamed[ROWLOCK_SQL_COUNT];
};

/* Makes a connection of a URL, or of a native handle (`driver` is then its driver's name). */
int rowlock__connect(const char *driver, void *handle, const char *url,
                     const struct rowlock_options *options, struct rowlock_connection **out,
                     struct rowlock_error *error);

/* One of the same kind as `like`, and to the same place, but without a session: rowlock__ready opens it.
   ENOMEM. */
int rowlock__connect_later(const struct rowlock_connection *like, struct rowlock_connection **out,
                           struct rowlock_error *error);

/* The driver's, and DEAD where there is no session. */
enum rowlock_state rowlock__state(const struct rowlock_connection *connection);
/* Is the database that was opened gone for good (driver.h, replaced)? Then every lease in it is lost: ELOST. */
int rowlock__check_replaced(struct rowlock_connection *connection, struct rowlock_error *error);

/* ESERVER where no lock can be kept: a standby, a read-only server, a Galera node. */
int rowlock__check_server(struct rowlock_connection *connection, struct rowlock_error *error);

/* The second connection; EUNPREPARED-like callers decide what to do without. NULL and no error: no
   URL is known. */
int rowlock__second(struct rowlock_connection *connection, struct rowlock_connection **out,
                    struct rowlock_error *error);

/* The statement as this connection sends it; NULL: the dialect has none. */
const struct rowlock_statement *rowlock__sql(const struct rowlock_connection *connection,
                                             enum rowlock_statement_id id);

/* The limit of a statement that is not a wait. */
struct rowlock_budget rowlock__budget(const struct rowlock_connection *connection);

/* From now until rowlock__wait_ends, statements go but little beyond `deadline_ms`: a server that does
   not answer must not hold who waits with a limit. Nothing changes on a wrapped connection, which would
   be lost to its owner, nor for ROWLOCK_NEVER. */
void rowlock__wait_begins(struct rowlock_connection *connection, int64_t deadline_ms);
void rowlock__wait_ends(struct rowlock_connection *connection);

#define ROWLOCK_LATE_MS 2000 /* a busy server is not a dead one */

/* The budget of a statement under that deadline: until `late_ms` after it was sent, or
   ROWLOCK_LATE_MS after the deadline, and a moment to be cancelled. */
struct rowlock_budget rowlock__in_time(const struct rowlock_connection *connection,
                                       struct rowlock_budget budget, int64_t late_ms);

/* A session given up at a deadline: what did not come was the server, not the lock. The code: ECONN, and
   in `error`, for ETIMEDOUT. */
int rowlock__given_up(const struct rowlock_connection *connection, int code,
                      struct rowlock_error *error);

/* EINVAL when used in another process; ECONN when lost; EINTX, ENOTX, EABORTED when the state of
   its transaction is not `wanted` (IDLE or OPEN), as far as the client library can tell. */
int rowlock__ready(struct rowlock_connection *connection, enum rowlock_state wanted,
                   struct rowlock_error *error);

/* The same, IDLE; but of a member of a group that has no session yet it says ECONN, as of one that was lost: for who
   opens another within a time limit of his own. */
int rowlock__ready_or_lost(struct rowlock_connection *connection, struct rowlock_error *error);

/* One statement without a transaction of ours around it, within the usual limit. */
int rowlock__ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                 const struct rowlock_value *values, rowlock_row *row, void *data,
                 struct rowlock_error *error);

/* Rolls back what a failure left open, keeping `error` as it is. */
void rowlock__clean_up(struct rowlock_connection *connection,
                       const struct rowlock_outcome *outcome);

/* The same for a transaction that was all ours: `error` says that none is open any more, or that the
   connection is dead. Returns `code`. */
int rowlock__cleaned_up(struct rowlock_connection *connection,
                        const struct rowlock_outcome *outcome, int code,
                        struct rowlock_error *error);

/* Is interrupt_fd readable now? */
int rowlock__was_interrupted(const struct rowlock_connection *connection);

/* Whether an operator (KILL QUERY, pg_cancel_backend) or a limit of the server's ended the statement that
   failed with `code`, not our own `deadline_ms`, nor an interrupt. The session can be used. */
bool rowlock__was_cancelled(const struct rowlock_connection *connection, int code,
                            int64_t deadline_ms);

/* Small row callbacks: the first column as a number; as malloc'd text (char *, freed first). */
void rowlock__take_number(void *data, const struct rowlock_value *columns, unsigned n);
void rowlock__take_text(void *data, const struct rowlock_value *columns, unsigned n);

/* A column as text in the caller's buffer; "" for NULL. */
void rowlock__column_text(const struct rowlock_value *column, char *out, size_t size);

/* The same as a text of the rows (util/rows.h). */
const char *rowlock__rows_text(struct rowlock_rows *rows, const struct rowlock_value *column);

#endif
