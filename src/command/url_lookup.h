/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the database: --db, ROWLOCK_URL, the file ROWLOCK_URL_FILE, $XDG_CONFIG_HOME/rowlock/url,
 * /etc/rowlock/url, else this user's own SQLite file on this machine. The first one that exists
 * counts. If it is unusable, the search ends with an error, because another database would be
 * another lock. ROWLOCK_REQUIRE_URL and /etc/rowlock/require-url forbid the last one.
 */
#ifndef ROWLOCK_URL_LOOKUP_H
#define ROWLOCK_URL_LOOKUP_H

#include "command/command.h"

/* The database that was found; url_free() frees the texts. */
struct url {
    char *text;     /* never to be printed: it may hold a password */
    char *source;   /* --db, ROWLOCK_URL or a file's path; NULL: none of them */
    int is_local;   /* "local", asked for or not */
    int by_default; /* nothing names a database */
};

/* An exit status; errors were printed. Always call url_free(). */
int url_lookup(const char *db, struct url *out);
void url_free(struct url *url);

/* The file whose URL counts without ROWLOCK_URL, if it names another database; malloc'd. NULL:
   none, or ROWLOCK_URL does not count. */
char *url_overridden(const struct url *url);

/* The place for messages: scheme, host, port and database, or the scheme alone if another part
   might be a piece of a password; of a SQLite file its path, of odbc: nothing else. */
void url_place(const struct url *url, char *out, size_t size);

/* For a verb that a whole farm calls: the default database would differ on every machine. Returns
   an exit status, with a message on stderr. */
int refuse_default(const struct command *command, const struct url *url);

/* A SQLite file that a person named must exist: opening the URL does not create it. Exit status. */
int url_must_exist(struct url *url);

/* For a program that changes its working directory, and opens a SQLite file again. The library
   refuses anything that is not a path. Exit status. */
int url_make_absolute(struct url *url);

/* Creates the folder of the local file, for this user alone. Exit status. */
int url_make_folder(const struct url *url);

/* Reads the file of a URL again, url->source. 0, and a malloc'd text; or -1, and why there is none:
   "" if the database is a file. */
int url_read_again(const struct url *url, char **out, char *why, size_t size);

/* The URL for a program that we execute, with its source: neither ps nor the environment shows it.
   url_send() returns the reading end of a pipe, which ends with exec, or -1. The other side reads
   it to its end; `text` NULL: out of memory. It calls url_free(). */
int url_send(const struct url *url);
struct url url_receive(int fd);

/* "sqlite", "postgresql", "mariadb", "mysql": the dialect of the URL's scheme, or NULL. */
const char *url_dialect(const struct url *url);
/* Whether it is a file, which no server serves. */
int url_is_file(const struct url *url);

/* ---- database.c --------------------------------------------------------------------------- */

/* From now on report() names this database, and open_database() opens it. Copies the texts. */
void note_database(const struct url *url);

/* rowlock_open() of the database of note_database(). If the server refuses the login, now or when
   the connection opens another session, the file that the URL came from is read again, and a new
   user, password and TLS settings count from then on, also for send_database(). Any thread. */
int open_database(const struct rowlock_options *options, struct rowlock_connection **out,
                  struct rowlock_error *error);
/* url_send() of that database. */
int send_database(void);

/* The database of note_database(), for an error: "ROWLOCK_URL, postgresql://db/shop";
   "": none yet. */
const char *database_asked_for(void);
/* Its second half alone, as url_place() writes it; "": none yet. */
const char *database_place(void);

/* From now on no core, and no other process of this user, can show the URL's password. Without
   effect for a file, which has none. */
void keep_url_secret(const struct url *url);

#endif
