/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on the database under test through ODBC and JDBC. The application's statements are sent
 * by rowlock's own driver, because a JDBC session has no native handle, and a session of rowlock's
 * in ODBC is in manual commit. BEGIN, COMMIT and ROLLBACK become the calls of ODBC and JDBC.
 */
#ifndef TEST_TRANSPORT_H
#define TEST_TRANSPORT_H

#include "driver/driver.h"
#include "lib/engine.h"

/* A handle of these engines. */
struct transport {
    const struct rowlock_driver *driver;
    struct rowlock_link *link;
    long session;    /* the server's id of it, asked once on this port: it may be waiting later */
    int port;        /* of the client's end */
    void *env, *dbc; /* ODBC: to be wrapped; NULL: the session is rowlock's own */
};

/* NULL on failure. */
struct transport *transport_open(const char *driver, const struct rowlock_source *source);
void transport_close(struct transport *transport);
/* The connection that wraps it. */
void transport_is_of(struct transport *transport, const struct rowlock_connection *connection);

/* Sets the words of Oracle, SQL Server or DB2 (vendor_engines.c), but not how a session is opened.
   Returns 0 if the name is none of them. */
int t_vendor_engine(const char *name, int jdbc, struct engine *engine);

/* The file of an ODBC driver (psqlodbcw.so): no driver is registered on the machine. Fails the test
   if it is not installed. */
const char *t_odbc_driver(const char *file);

/* Functions of struct engine. */
int transport_sql(void *handle, const char *text, char *out, size_t size);
int transport_in_transaction(void *handle);
void *transport_handle(struct rowlock_connection *connection);

/* Hands out every row of a query; returns as `sql` of struct engine. */
int transport_rows(void *handle, const char *text, rowlock_row *row, void *data, char *out,
                   size_t size);
/* The server's id of the session, by own_id; NULL: the port of the client's end. */
long transport_session(void *handle);
/* Cuts the session with that id, as the loss of its server would. */
void transport_cut(long session);
/* Cuts all sessions of this process on the server of the handle, but not the handle's own. */
void transport_cut_others(void *handle);
/* Members of struct engine on PostgreSQL. */
#define T_POSTGRESQL_SESSIONS                                               \
    .own_id = "SELECT pg_backend_pid()", .is_waiting = t_query_waiting,     \
    .waiting = "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld AND " \
               "wait_event_type = 'Lock'",                                  \
    T_POSTGRESQL_KILLING

#endif
