/* SPDX-License-Identifier: Apache-2.0 */
/* The schema installed in the database, and whether this library can work with it: for install,
   upgrade, uninstall, examine and print. Before a lock check.h is enough. */
#ifndef ROWLOCK_SCHEMA_H
#define ROWLOCK_SCHEMA_H

#include <stdbool.h>

#include "dialect/dialect.h"
#include "rowlock.h"
#include "session/connection.h"

/* Refuses a database that has the tables of the other kind: plain, or with functions. EMODE. */
int rowlock__other_tables(const struct rowlock_connection *connection, struct rowlock_error *error);

/* Reads what is installed: one query, and a second one if there is something. Version 0: nothing;
   with a technique: an interrupted install or uninstall. Safe inside the caller's transaction.
   EMODE: the tables of the other kind; EINVAL: no database is chosen. `*out` only on success.
   `expected`: for a call that needs the schema. Then, on a server, it reads the table without a
   search for it first; if the table is missing, the server logs an error. */
int rowlock__read_installed(struct rowlock_connection *connection, bool expected,
                            struct rowlock_installed *out, struct rowlock_error *error);

/* As rowlock__read_installed, but a table meta of another shape counts as none: rowlock__read_parts
   reports that damage. */
int rowlock__read_found(struct rowlock_connection *connection, struct rowlock_installed *found,
                        struct rowlock_error *error);

/* EINVAL if the session has no current database: then nothing can be installed or locked there. */
int rowlock__has_database(struct rowlock_connection *connection, struct rowlock_error *error);

/* "native", "row", "insert"; "default" for DEFAULT. */
const char *rowlock__technique_name(enum rowlock_technique technique);

/* The schema's text: the pieces of sql/<dialect>/schema, with this installation's names. */

/* The names that a piece gets in place of its own words. */
struct rowlock_names {
    const char *object; /* technique insert: its table, as in statements */
    const char *role;   /* the role that gets the GRANTs */
    bool again;         /* repeatable: keeps existing tables and replaces the other objects */
};

#define ROWLOCK_PIECES 20 /* at most, of an install or an upgrade */

/* The names of the pieces that an install, or an upgrade, runs, in order. Some dialects lack some
   pieces. Returns their number. */
size_t rowlock__install_pieces(enum rowlock_technique technique, bool upgrades,
                               const char *out[ROWLOCK_PIECES]);

/* All objects that these create, one per line (see dialect.h, parts); malloc'd. */
int rowlock__parts_text(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                        const char *object, char **out, struct rowlock_error *error);

/* The lines of what the piece grants gives to its role, as dialect.h describes them; "" if the
   dialect has no accounts. Static. */
const char *rowlock__grants(const struct rowlock_dialect *dialect);

/* Whether a line of parts is an object that only the history needs: locks hold without it.
   A function is not one, because locks call it; a procedure is, because a failing call of it is
   ignored. On SQLite no object is, because the statements of locks name the table. */
bool rowlock__is_of_history(const struct rowlock_dialect *dialect, const char *line);

/* The technique that `plan` (may be NULL) means in this dialect; EMODE if it lacks the technique.
   EINVAL for a table that is not a plain identifier, or that is given with another technique. */
int rowlock__plan_technique(const struct rowlock_dialect *dialect, const struct rowlock_plan *plan,
                            enum rowlock_technique *out, struct rowlock_error *error);

/* The text of a piece, malloc'd; "" if the dialect lacks it. `names` replaces the words
   rowlock_object and application. ENOMEM. */
int rowlock__piece(const struct rowlock_dialect *dialect, const char *name,
                   const struct rowlock_names *names, char **out, struct rowlock_error *error);

/* Whether the text is [A-Za-z_][A-Za-z0-9_]*, at most 63 bytes. */
int rowlock__is_identifier(const char *text);

/* Changes of the schema, for install and uninstall. */

/* Between these two calls no other node changes the schema, except on the plain dialects
   (change.c). rowlock__enter_install waits for another installer, for six times statement_ms at
   most: ETIMEDOUT. After a failure there is nothing to leave. rowlock__leave_install commits, or
   rolls back if `code` is an error. It returns `code`, or the error of the COMMIT. */
int rowlock__enter_install(struct rowlock_connection *connection, struct rowlock_error *error);
int rowlock__leave_install(struct rowlock_connection *connection, int code,
                           struct rowlock_error *error);

/* Runs a piece of the schema's text, for six times statement_ms at most. Does nothing if the
   dialect lacks the piece. After a failure an engine whose DDL commits keeps the part that was
   executed. */
int rowlock__run_piece(struct rowlock_connection *connection, const char *name,
                       const struct rowlock_names *names, struct rowlock_error *error);

/* For EDENIED: replaces the advice in `error` by the GRANT that this account needs, where the
   server can name it. Returns `code`. */
int rowlock__say_needs(struct rowlock_connection *connection, enum rowlock_technique technique,
                       int code, struct rowlock_error *error);

/* PostgreSQL only: detects a schema that belongs to an extension, which only SQL may change. The
   check of a schema's version is here too, because its advice depends on that. */

/* The version of the extension, malloc'd; NULL: not an extension. Safe inside the caller's
   transaction. */
int rowlock__read_extension(struct rowlock_connection *connection, char **out,
                            struct rowlock_error *error);

/* The command that upgrades the schema, for a message; static text. It is rowlock's own command if
   the schema is not an extension, or if that cannot be detected. Asks the server on PostgreSQL. */
const char *rowlock__upgrade_command(struct rowlock_connection *connection);
/* ESCHEMA if this library works with other versions of the schema than this one; the text names
   them, and has the command that upgrades, or advises to update the library. */
int rowlock__check_version(struct rowlock_connection *connection, int version,
                           struct rowlock_error *error);
/* Returns that error. */
int rowlock__refuse_version(struct rowlock_connection *connection, int version,
                            struct rowlock_error *error);
/* The command that removes the schema, for a message, as rowlock__upgrade_command. */
const char *rowlock__uninstall_command(struct rowlock_connection *connection, bool force);

/* As rowlock_install without a plan; upgrades an older version too. */
int rowlock__upgrade_installed(struct rowlock_connection *connection, struct rowlock_error *error);

/* The existing and missing objects of the schema: its text compared with the catalog. */

/* The caller frees `missing`. */
struct rowlock_parts {
    /* For people: "table waiter, view waiters"; NULL: nothing is missing; malloc'd. */
    char *missing;
    bool any;      /* an object exists other than the table of technique insert */
    bool others;   /* a table, view or sequence other than meta exists */
    bool relation; /* a table or view is missing */
    bool unsafe;   /* a missing object is one that locks need: not of the history alone */
    /* An existing table lacks a column or key: install cannot create that. */
    bool hopeless;
};

/* `object`: the table of technique insert, as in statements. After an error there is nothing to
   free. */
int rowlock__read_parts(struct rowlock_connection *connection, enum rowlock_technique technique,
                        const char *object, struct rowlock_parts *out, struct rowlock_error *error);

/* The same for the installed technique, as rowlock_missing reports them. */
int rowlock__missing(struct rowlock_connection *connection, struct rowlock_parts *out,
                     struct rowlock_error *error);

/* The privileges that the schema's GRANTs give and this account lacks. */

/* Receives a missing privilege. `what`: "SELECT on rowlock.meta"; `grant`: the statement that gives
   it; `of_history`: only the history needs it. */
typedef void rowlock_lacks(void *data, const char *what, const char *grant, bool of_history);

/* Calls `lacks` once per object, with texts that are valid during the call. `account` receives the
   account's name, malloc'd; NULL if the dialect has no accounts, or nothing is installed. */
int rowlock__read_privileges(struct rowlock_connection *connection,
                             const struct rowlock_installed *installed, rowlock_lacks *lacks,
                             void *data, char **account, struct rowlock_error *error);

#endif
