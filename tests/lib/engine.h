/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the engine and technique under test, so that one conformance suite runs on all of them.
 * Tests ask for a fact ("is there a server?"), never for an engine's name. struct engine has the
 * few ways to reach the engine without the library. Each engine has a file lib/<engine>.c; the
 * facts are in lib/facts.c.
 */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H

#include <stddef.h>

#include "rowlock.h"

enum shared { SHARED_TOGETHER, SHARED_EXCLUDES, SHARED_REFUSED };

struct facts {
    const char *engine, *technique;
    enum rowlock_technique code;
    enum shared shared;    /* the result of asking for a shared lock */
    int names_independent; /* locks on two names never conflict */
    int neighbours_meet;   /* ... except that names adjacent in an index sometimes do */
    int server;            /* there is a server: sessions can be killed, and it can be down */
    int first_come;        /* waiters of one name are served in the order of their arrival */
    int writer_queues;     /* a sharer that arrives after a waiting writer waits behind it */
    int busy_keeps_row;    /* a row locked before the failure stays locked until the end */
    int must_be_known;     /* a name must be prepared before it can be locked on a bare handle */
    int levels;            /* isolation levels above READ COMMITTED are refused */
    int deadlock_code;     /* of the victim; 0: no deadlock is possible here */
    enum rowlock_transaction deadlock_left;
    int begins_meet;      /* begin-and-lock alone may deadlock inside the engine (retried) */
    int installs_itself;  /* the schema is created on first use, with this technique */
    int an_error_aborts;  /* after a failed statement only ROLLBACK is possible */
    int ddl_commits;      /* CREATE TABLE ends a transaction */
    int plain;            /* through ODBC or JDBC: the plain dialect, no functions on the server */
    int wraps;            /* an application's own handle can be wrapped */
    int installs_alone;   /* nodes that install at the same time deadlock in the catalog */
    int creates_database; /* a client that connects to an absent database creates it */
    int cancel_ends_session; /* a wait can be interrupted only at the cost of the session */
    /* A limited wait that ends costs the session and its transaction. The server keeps the locks of
       that session until the wait has ended there too. */
    int limit_aborts; /* a limited wait that ends, or an interrupt, aborts the transaction */
    int limit_ends_session;
    int readers_wait;   /* a SELECT waits for a writer of the row */
    int victim_keeps;   /* the victim of a deadlock keeps its locks until it rolls back */
    int own_savepoints; /* the driver's savepoints end those of the application */
    int keeps_limit;    /* the limit of rowlock's last wait stays until the transaction ends */
    int commits_unseen; /* a COMMIT of the caller's in the middle of a refresh is not detected */
};

struct engine {
    const char *name;
    const char *begin[2];            /* an application's own BEGIN, as rowlock requires it */
    const char *begin_repeatable[2]; /* one that freezes a snapshot; NULL: none */
    const char *default_repeatable;  /* makes that the session's default; NULL: none */
    const char *default_read_only;
    const char *one;         /* a query without a table; NULL: SELECT 1 */
    const char *settings;    /* a query for the session settings that the library must preserve */
    const char *meta;        /* the table that holds the schema's version */
    const char *now_ms;      /* the database's clock in ms since 1970 */
    const char *unreachable; /* a URL at which no database listens */
    const char *stranger;    /* printf format of the port: a URL whose user is refused; or NULL */
    const char *silent; /* printf format of the port: a server that may never answer; or NULL */
    void *(*open)(const char *url);
    void (*close)(void *handle);
    int (*wrap)(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error);
    void *(*handle)(struct rowlock_connection *connection);
    void *(*native)(void *handle); /* that the header of the client library knows; NULL: itself */
    /* returns 0 and the first value as text, or 1 and the engine's message */
    int (*sql)(void *handle, const char *text, char *out, size_t size);
    /* the same in steps, for lib/hand.h, on servers with functions: only sends the statement, and
       returns 0; reads the whole answer, and writes a row, or the message and the code of an error
       (else `failed` is ""); whether the answer has arrived */
    int (*send)(void *handle, const char *text);
    void (*receive)(void *handle, char *out, size_t size, char *failed, size_t failed_size);
    int (*has_answered)(void *handle);
    int (*in_transaction)(void *handle);
    long (*session)(void *handle); /* the server's id of the session */
    /* for a lock; NULL: the engine cannot report it */
    int (*is_waiting)(void *admin, long session);
    void (*kill)(void *admin, long session); /* returns when the session has ended */
    /* for transport_session, t_query_waiting and t_query_kill: a query for the session's id; with
       an id, a query that counts if the session waits, a statement that kills it, and a query that
       counts if it exists */
    const char *own_id, *waiting, *killing, *existing;
    /* a query, for a superuser: the id of the %zu-th of the sessions on the database under test,
       from 0, without its own; NULL: the sessions cannot be ended one by one */
    const char *numbered;
    /* queries, for a superuser: the number of the other sessions, and of sessions that wait for a
       lock; NULL: lib/grants.c knows them */
    const char *sessions, *waits;
    /* a query, for a superuser: how many other transactions may keep a row locked; NULL: none is
       needed, because the server ends a transaction whose client sends nothing, or none is known */
    const char *lockers;
    /* cuts all sessions of this process but the superuser's; NULL: kill does */
    void (*cut_all)(void *admin);
    /* after each test: the sessions that the server keeps; NULL: none */
    void (*end_forgotten)(void *admin);
};

/* Whether a session waits for a lock, by the text of MariaDB's SHOW ENGINE INNODB STATUS. Not by
   information_schema.innodb_trx: that is a cached snapshot, refreshed only when no session has read
   it for a tenth of a second. A poll would therefore never see a change. */
int t_innodb_waits(const char *status, long session);

#define T_MARIADB_KILLING                                                                       \
    .killing = "KILL %ld", .existing = "SELECT count(*) FROM " T_PROCESSLIST " WHERE id = %ld", \
    .numbered = "SELECT id FROM " T_PROCESSLIST " WHERE db = database() AND "                   \
                "id <> connection_id() ORDER BY id LIMIT 1 OFFSET %zu"

#define T_POSTGRESQL_KILLING                                                                \
    .kill = t_postgresql_kill,                                                              \
    .numbered = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "  \
                "pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY pid " \
                "LIMIT 1 OFFSET %zu"

/* Functions of struct engine (statements.c): by the engine's texts, and on PostgreSQL. */
int t_query_waiting(void *admin, long session);
void t_query_kill(void *admin, long session);
void t_postgresql_kill(void *admin, long session);

extern const struct engine t_engine_sqlite, t_engine_postgresql, t_engine_mariadb, t_engine_tidb;
/* The engine reached by ODBC or JDBC. */
const struct engine *t_odbc_engine(const char *name);
const struct engine *t_jdbc_engine(const char *name);

/* The row for ROWLOCK_TEST_ENGINE and ROWLOCK_TEST_TECHNIQUE. */
const struct facts *t_find_facts(const char *engine, const char *technique);

#endif
