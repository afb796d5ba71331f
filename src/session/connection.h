/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: a driver's link, the server's dialect, and the installed schema. The rooms above
 * (schema, lock, lease, job, refresh) send their statements through the functions below. A
 * connection belongs to one thread at a time, and to the process that opened it.
 */
#ifndef ROWLOCK_CONNECTION_H
#define ROWLOCK_CONNECTION_H

#include <sys/types.h>

#include "driver/driver.h"
#include "util/clock.h"
#include "util/rows.h"

/* The version of the schema that this library installs. It also works with the versions before and
   after that. tools/embed-sql and install.mk read this line, too. */
#define ROWLOCK_SCHEMA_VERSION 1

/* The contents of rowlock_meta. */
struct rowlock_installed {
    int version; /* 0: nothing is installed */
    bool plain;  /* by a plain dialect: tables without functions */
    enum rowlock_technique technique;
    char object[200]; /* technique insert: its table, as in statements */
    int id_width;     /* maximum length of a name there in characters; 0: no limit */
    int owned;        /* rowlock created that table; set only where the library uninstalls */
};

struct rowlock_connection {
    const struct rowlock_driver *driver;
    const struct rowlock_driver *transport; /* the URL's driver; `driver` may be that of emulate/ */
    const struct rowlock_dialect *dialect;
    struct rowlock_link *link;
    pid_t pid; /* the process that opened it: a session must not be used on both sides of a fork */
    int wrapped; /* the link's handle is the application's: its owner closes it */
    char *url;   /* for a second connection; NULL: none; another one after a change of the login */
    char *database;                 /* options->database */
    rowlock_reread_url *reread_url; /* options */
    void *reread_data;
    char user[64];                             /* options; "": that of the environment */
    rowlock_duration connect_ms, statement_ms; /* options; < 0: no limit */
    int interrupt_fd;                          /* options; -1: none */
    int64_t deadline_ms;               /* of the current wait; 0: none that limits statements */
    struct rowlock_connection *second; /* opened when first needed */
    int checked;                       /* `installed` was read and fits this library */
    bool former;                       /* sends what the former version of the schema needs */
    bool logs_releases;                /* the history keeps even the briefest lease */
    struct rowlock_installed installed;
    /* The server's own id of the session, with its start, by which another session can end it. 0:
       not asked yet, < 0: unknowable. */
    int64_t session;
    char session_start[64];
    /* 1: the session has the answer of VERIFY; 0: not asked yet; -1: the statements ..._FREE are
       not for this session. */
    int verified;
    struct rowlock_value verification[4]; /* numbers, or texts in: */
    char verification_text[4][48];
    int64_t mark[40]; /* the leases whose session locks this session has: their tokens; 0: none */
    /* Statements with another table name; text NULL: as in the dialect. */
    struct rowlock_statement renamed[ROWLOCK_SQL_COUNT];
};

/* Makes a connection from a URL, or from a native handle (`driver` is then its driver's name); for
   a URL blocks up to connect_ms. Does not look at the schema, nor whether the server can keep
   locks. rowlock_close frees it. Errors as rowlock_open. */
int rowlock__connect(const char *driver, void *handle, const char *url,
                     const struct rowlock_options *options, struct rowlock_connection **out,
                     struct rowlock_error *error);

/* The options for another connection like this one; they refer to its texts. */
struct rowlock_options rowlock__options_of(const struct rowlock_connection *connection);

/* The driver's state. */
enum rowlock_state rowlock__state(const struct rowlock_connection *connection);
/* ELOST if the opened database is gone for good (driver.h, replaced): every lease in it is lost.
   Sends nothing. */
int rowlock__check_replaced(struct rowlock_connection *connection, struct rowlock_error *error);

/* Asks the server. ESERVER if it cannot keep locks: a standby, a read-only server, a Galera node,
   or one that may forget commits. Where a setting of the session is the reason, and this account
   may change it, changes it and asks again. */
int rowlock__check_server(struct rowlock_connection *connection, struct rowlock_error *error);

/* The second connection, which `connection` owns; opened when first needed, and again if the server
   has closed it. NULL and no error: no URL is known, and the caller decides what to do without a
   second connection. */
int rowlock__second(struct rowlock_connection *connection, struct rowlock_connection **out,
                    struct rowlock_error *error);

/* Makes this connection send the statements that the former version of the schema needs, or those
   of this version again. */
void rowlock__use_former(struct rowlock_connection *connection, bool former);

/* The statement as this connection sends it, with the installer's table name; NULL: the dialect has
   none. It stays as long as the connection. */
const struct rowlock_statement *rowlock__sql(const struct rowlock_connection *connection,
                                             enum rowlock_statement_id id);

/* The time limit of a statement that is not a wait, and begins now: statement_ms, but not long
   after the deadline of rowlock__wait_begins. */
struct rowlock_budget rowlock__budget(const struct rowlock_connection *connection);

/* Until rowlock__wait_ends, statements end soon after `deadline_ms`, so that a silent server does
   not delay a caller with a time limit. No effect on a wrapped connection, which its owner would
   lose, nor for ROWLOCK_NEVER. */
void rowlock__wait_begins(struct rowlock_connection *connection, int64_t deadline_ms);
void rowlock__wait_ends(struct rowlock_connection *connection);

#define ROWLOCK_LATE_MS 2000 /* a busy server may answer this late, and is not lost */

/* Limits the budget of a statement by that deadline: to `late_ms` from now, or to ROWLOCK_LATE_MS
   after the deadline, whichever is later; then a moment is left for cancelling it. */
struct rowlock_budget rowlock__in_time(const struct rowlock_connection *connection,
                                       struct rowlock_budget budget, int64_t late_ms);

/* Replaces ETIMEDOUT by ECONN, also in `error`, if the session was given up at a deadline: then the
   server did not answer, and the lock was not the cause. Returns the code. */
int rowlock__given_up(const struct rowlock_connection *connection, int code,
                      struct rowlock_error *error);

/* Checks a connection before a call, and clears `error`. Fails with EINVAL for NULL, and in another
   process than the one that opened it; with ECONN if it is lost; with EINTX or ENOTX if the
   transaction's state is not `wanted` (IDLE or OPEN; ASK: any), and with EABORTED in an aborted
   transaction, whatever is wanted. It sends nothing, except that for IDLE it asks a server whose
   state libmariadb does not know. */
int rowlock__ready(struct rowlock_connection *connection, enum rowlock_state wanted,
                   struct rowlock_error *error);

/* A call of a statement; `.statement` is NULL if the dialect has none. */
struct rowlock_call rowlock__call(const struct rowlock_connection *connection,
                                  enum rowlock_statement_id id, const struct rowlock_value *values,
                                  rowlock_row *row, void *data);

/* Sends one statement over the session as it is, once, within `budget` (NULL: the usual one). Does
   nothing for a call without a statement, except to commit (COMMIT alone). `flags` as driver->run:
   BEGIN and COMMIT, or INSIDE where no transaction is open, leave none open; COMMIT alone leaves
   none after a failure. */
int rowlock__send(struct rowlock_connection *connection, unsigned flags, struct rowlock_call *call,
                  const struct rowlock_budget *budget, struct rowlock_error *error);

/* One statement without a transaction of ours, within the usual time limit: in the caller's
   transaction, or by itself. Errors as driver->run (driver.h). */
int rowlock__ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                 const struct rowlock_value *values, rowlock_row *row, void *data,
                 struct rowlock_error *error);

/* Rolls back a transaction that a failure left open, even after an interrupt; keeps `error`. A
   failure to roll back is not reported; driver->state tells the session's state. */
void rowlock__clean_up(struct rowlock_connection *connection,
                       const struct rowlock_outcome *outcome);

/* The same for a transaction of ours: `error` then reports that no transaction is open, or that the
   connection is dead. Returns `code`. */
int rowlock__cleaned_up(struct rowlock_connection *connection,
                        const struct rowlock_outcome *outcome, int code,
                        struct rowlock_error *error);

/* Whether interrupt_fd is readable now. Takes nothing from it. */
int rowlock__was_interrupted(const struct rowlock_connection *connection);

/* Whether an operator (KILL QUERY, pg_cancel_backend) or a limit of the server ended the statement
   that failed with `code`, not our own `deadline_ms`, nor an interrupt. The session is usable. */
bool rowlock__was_cancelled(const struct rowlock_connection *connection, int code,
                            int64_t deadline_ms);

/* Whether the server did nothing because it had no memory, for locks or at all. The session is
   usable, but a transaction that was open is not. */
bool rowlock__had_no_room(const struct rowlock_connection *connection, int code,
                          const struct rowlock_error *error);

/* A row callback: stores a malloc'd copy of the first column, cut to 1023 bytes, in a char *, and
   frees the previous one. NULL in the column changes nothing. */
void rowlock__take_text(void *data, const struct rowlock_value *columns, unsigned n);

/* Copies a column as text to the caller's buffer, cut to its size; "" for NULL. */
void rowlock__column_text(const struct rowlock_value *column, char *out, size_t size);

/* The same, as a text that the rows own (util/rows.h). */
const char *rowlock__rows_text(struct rowlock_rows *rows, const struct rowlock_value *column);

/* Opens a session, and replaces a lost one by a new one in the same connection. */

/* driver->open(), with the connection's URL or an application's handle. A server without a free
   session is busy, not away: it is asked again with growing pauses until the budget's deadline.
   After a refused login the URL is read again, once (rowlock_open). */
int rowlock__open_session(struct rowlock_connection *connection, void *handle,
                          const struct rowlock_budget *budget, struct rowlock_link **out,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error);

/* Whether a lost session can be replaced: it was opened by URL. */
int rowlock__can_reconnect(const struct rowlock_connection *connection);
/* Whether, when its server becomes read-only, another session may find the new primary: on a server
   with rowlock's functions. In the place of a file another file may be, without its leases. */
bool rowlock__can_move(const struct rowlock_connection *connection);

/* Asks the server once for its id and start of this session, so that another session can end it.
   They stay unknown behind a pooler and on SQLite. Does not ask if the answer would be useless. */
int rowlock__learn_session(struct rowlock_connection *connection, struct rowlock_error *error);
/* Asks the server once in a session, and never on a wrapped connection, for the last parameters of
   the statement GRANT_FREE, and sets `verified`. */
int rowlock__verify(struct rowlock_connection *connection, const struct rowlock_budget *budget,
                    struct rowlock_error *error);
/* The place of that token in `mark`, or (0) a free place; NULL: there is none. */
int64_t *rowlock__mark_of(struct rowlock_connection *connection, int64_t token);
/* The id of the session, for a statement that takes a session lock; 0: the session has enough of
   them. The server has memory for 64 locks of each session, and refuses every lock without it. */
int64_t rowlock__marking_session(struct rowlock_connection *connection);
/* The same as an additional call of another batch; false if there is nothing to ask. After the
   answer the caller calls rowlock__session_answered. */
bool rowlock__session_question(struct rowlock_connection *connection, struct rowlock_call *call);
void rowlock__session_answered(struct rowlock_connection *connection);

/*
 * Opens a new session in place of the lost one: one attempt, until `deadline_ms` at the latest.
 * Ends the old session at the server if its id is known, because the server may not have noticed
 * the loss and may keep the session in a queue. Fails with EINVAL for a wrapped connection,
 * otherwise as rowlock_open; after a failure the connection is still lost.
 */
int rowlock__reconnect(struct rowlock_connection *connection, int64_t deadline_ms,
                       struct rowlock_error *error);

#endif
