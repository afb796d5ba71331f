/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the one suite must know of the engine and technique it runs on: facts, which tests ask
 * instead of asking for an engine's name, and a few ways to speak to it past the library.
 * An engine's own file is lib/<engine>.c; the facts are in lib/facts.c.
 */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H

#include <stddef.h>

#include "rowlock.h"

enum shared { SHARED_TOGETHER, SHARED_EXCLUDES, SHARED_REFUSED };

struct facts {
    const char *engine, *technique;
    enum rowlock_technique code;
    enum shared shared;     /* what asking for a shared lock comes to */
    int names_independent;  /* two names do not meet */
    int neighbours_meet;    /* ... but such as stand side by side in an index sometimes do */
    int server;             /* there is a server: sessions can be killed, and it can be down */
    int first_come;         /* waiters of one name are served in the order of their arrival */
    int writer_queues;      /* a sharer who comes after a waiting writer waits behind it */
    int busy_keeps_row;     /* a row won before the failure stays locked until the end */
    int must_be_known;      /* a name must be prepared before it can be locked on a bare handle */
    int levels;             /* isolation levels above READ COMMITTED are to be refused */
    int deadlock_code;      /* of a victim; 0: the engine knows no deadlock here */
    enum rowlock_transaction deadlock_left;
    int begins_meet;        /* begin-and-lock alone may deadlock inside the engine (retried) */
    int installs_itself;    /* the schema is made on first use, with this technique */
    int an_error_aborts;    /* a failed statement leaves only ROLLBACK */
    int ddl_commits;        /* CREATE TABLE ends a transaction */
};

struct engine {
    const char *name;
    const char *begin[2];            /* an application's own BEGIN, as rowlock wants it */
    const char *begin_repeatable[2]; /* one that freezes a snapshot; NULL: there is none */
    const char *default_repeatable;  /* makes that the session's default; NULL likewise */
    const char *default_read_only;
    const char *settings;            /* a query: what of the session the library must not change */
    const char *meta;                /* where the schema's version is */
    const char *unreachable;         /* a URL where nothing is */
    const char *stranger;            /* printf of the port: a URL whose user is refused; NULL */
    const char *silent;              /* printf of the port: a server that may not answer; NULL */
    void *(*open)(const char *url);
    void (*close)(void *handle);
    int (*wrap)(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error);
    void *(*handle)(struct rowlock_connection *connection);
    /* 0 and the first value as text; 1 and the engine's message */
    int (*sql)(void *handle, const char *text, char *out, size_t size);
    int (*in_transaction)(void *handle);
    long (*session)(void *handle);              /* the server's number of it */
    int (*is_waiting)(void *admin, long session); /* for a lock; NULL: nobody can say */
    void (*kill)(void *admin, long session);      /* ends the session */
};

extern const struct engine t_engine_sqlite, t_engine_postgresql, t_engine_mariadb;

/* Of ROWLOCK_TEST_ENGINE and ROWLOCK_TEST_TECHNIQUE. */
const struct facts *t_find_facts(const char *engine, const char *technique);

#endif
