/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the MariaDB driver: the session, and its waiting.
 *
 * Every operation on a session of our own uses libmariadb's non-blocking calls (FOO_start, then
 * FOO_cont until it returns 0). rowlock__mariadb_pump runs between them and waits for socket,
 * deadline and interrupt. After a deadline or interrupt it sends KILL QUERY over a short second
 * connection, gives the server 2 s to answer, then shuts the socket down. A borrowed handle works
 * the same if there is a URL for the second connection; otherwise its calls block, and the server's
 * max_statement_time is the limit, which MySQL lacks.
 */
#ifndef ROWLOCK_MARIADB_LINK_H
#define ROWLOCK_MARIADB_LINK_H

#include <mysql.h>
#include <stdbool.h>
#include <stdio.h>

#include "driver/driver.h"
#include "driver/library.h"
#include "driver/mariadb_url.h"
#include "rowlock.h"
#include "util/clock.h"

/*
 * libmariadb's functions, loaded on first use. Called as rowlock__mariadb.real_query(...): the
 * names are those of the library without mysql_, the types those of mysql.h.
 */

#define ROWLOCK_MARIADB_FUNCTIONS(XX)                          \
    XX(init, mysql_init)                                       \
    XX(close, mysql_close)                                     \
    XX(optionsv, mysql_optionsv)                               \
    XX(get_optionv, mysql_get_optionv)                         \
    XX(get_infov, mariadb_get_infov)                           \
    XX(client_version, mysql_get_client_version)               \
    XX(is_mariadb, mariadb_connection)                         \
    XX(server_info, mysql_get_server_info)                     \
    XX(get_ssl_cipher, mysql_get_ssl_cipher)                   \
    XX(get_socket, mysql_get_socket)                           \
    XX(get_timeout_value_ms, mysql_get_timeout_value_ms)       \
    XX(thread_id, mysql_thread_id)                             \
    XX(more_results, mysql_more_results)                       \
    XX(number, mysql_errno)                                    \
    XX(text, mysql_error)                                      \
    XX(sqlstate, mysql_sqlstate)                               \
    XX(real_connect_start, mysql_real_connect_start)           \
    XX(real_connect_cont, mysql_real_connect_cont)             \
    XX(real_query, mysql_real_query)                           \
    XX(real_query_start, mysql_real_query_start)               \
    XX(real_query_cont, mysql_real_query_cont)                 \
    XX(store_result, mysql_store_result)                       \
    XX(store_result_start, mysql_store_result_start)           \
    XX(store_result_cont, mysql_store_result_cont)             \
    XX(free_result, mysql_free_result)                         \
    XX(next_result, mysql_next_result)                         \
    XX(next_result_start, mysql_next_result_start)             \
    XX(next_result_cont, mysql_next_result_cont)               \
    XX(stmt_init, mysql_stmt_init)                             \
    XX(stmt_close, mysql_stmt_close)                           \
    XX(stmt_attr_set, mysql_stmt_attr_set)                     \
    XX(stmt_bind_param, mysql_stmt_bind_param)                 \
    XX(stmt_bind_result, mysql_stmt_bind_result)               \
    XX(stmt_field_count, mysql_stmt_field_count)               \
    XX(stmt_result_metadata, mysql_stmt_result_metadata)       \
    XX(stmt_affected_rows, mysql_stmt_affected_rows)           \
    XX(stmt_insert_id, mysql_stmt_insert_id)                   \
    XX(stmt_more_results, mysql_stmt_more_results)             \
    XX(stmt_free_result, mysql_stmt_free_result)               \
    XX(stmt_fetch, mysql_stmt_fetch)                           \
    XX(stmt_number, mysql_stmt_errno)                          \
    XX(stmt_text, mysql_stmt_error)                            \
    XX(stmt_sqlstate, mysql_stmt_sqlstate)                     \
    XX(stmt_execute_direct, mariadb_stmt_execute_direct)       \
    XX(stmt_prepare_start, mysql_stmt_prepare_start)           \
    XX(stmt_prepare_cont, mysql_stmt_prepare_cont)             \
    XX(stmt_execute_start, mysql_stmt_execute_start)           \
    XX(stmt_execute_cont, mysql_stmt_execute_cont)             \
    XX(stmt_store_result, mysql_stmt_store_result)             \
    XX(stmt_store_result_start, mysql_stmt_store_result_start) \
    XX(stmt_store_result_cont, mysql_stmt_store_result_cont)   \
    XX(stmt_next_result, mysql_stmt_next_result)               \
    XX(stmt_next_result_start, mysql_stmt_next_result_start)   \
    XX(stmt_next_result_cont, mysql_stmt_next_result_cont)

struct rowlock__mariadb_functions {
#define ROWLOCK_XX(member, function) __typeof__(&function) member;
    ROWLOCK_MARIADB_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

#define ROWLOCK_TIDB "TiDB" /* in its version string, as in 8.0.11-TiDB-v8.5.4 */

/* Valid after rowlock__load. */
extern struct rowlock__mariadb_functions rowlock__mariadb;
extern struct rowlock_library rowlock__mariadb_client;

/* Clears OpenSSL's error queue of this thread: libmariadb mistakes the errors that a lost session
   left there for an error of the next session. Does nothing if libmariadb uses another TLS
   library. */
void rowlock__mariadb_forget_tls_errors(void);

/* Of an operation: its budget has not ended; KILL QUERY was sent; its session is dead. */
enum rowlock__mariadb_stage { STAGE_CALM, STAGE_CANCELED, STAGE_GIVEN_UP };

/* The time limit of the operation under way: rowlock__mariadb_arm fills it. Times are those of
   clock.h. */
struct rowlock__mariadb_wait {
    struct rowlock_budget budget;
    enum rowlock__mariadb_stage stage;
    enum rowlock_wake why; /* DEADLINE or INTERRUPT, after the stage is no longer CALM */
    int64_t grace_ms;      /* canceled: when to send KILL QUERY again */
    int64_t give_up_ms;    /* canceled: when to shut the session down */
    bool connecting;       /* there is no statement to cancel yet */
    bool pumped;           /* uses the non-blocking calls */
    int flags; /* of a borrowed TLS session's socket, to be restored; -1: nothing to do */
};

/* A statement that a session of our own keeps prepared; either form may be NULL. */
struct rowlock__mariadb_prepared {
    const struct rowlock_statement *statement;
    MYSQL_STMT *stmt[2]; /* plain; with a time limit around it */
};

/* A session; open() makes it. One thread uses it at a time. */
struct rowlock_link {
    MYSQL *mysql;
    bool own;  /* opened by URL; else the caller's handle, which is never closed */
    bool dead; /* the session is lost or was given up: no call is sent any more */
    bool tls;
    bool began;                       /* TiDB: run() began the open transaction */
    struct rowlock__mariadb_url *url; /* NULL: a borrowed handle without one */
    char *database;                   /* qualifies statements on a borrowed handle; or NULL */
    const struct rowlock_dialect *dialect;
    /* Stops the statement in the server, and returns by `deadline_ms`. Reports no failure. NULL:
       nothing can stop a statement. */
    void (*cancel)(struct rowlock_link *link, int64_t deadline_ms);
    struct rowlock__mariadb_wait wait;
    struct rowlock__mariadb_prepared prepared[ROWLOCK_SQL_COUNT];
};

/* mariadb_wait.c */

/* Begins an operation under `budget`. */
void rowlock__mariadb_arm(struct rowlock_link *link, const struct rowlock_budget *budget);
/* Ends the operation, and restores the flags of a borrowed handle's socket. */
void rowlock__mariadb_disarm(struct rowlock_link *link);
/* Between _start and _cont: waits for the events in `status` (MYSQL_WAIT_...) and returns those
   that happened. Acts on the end of the budget, as above; MYSQL_WAIT_TIMEOUT after the session was
   given up makes the call fail. */
int rowlock__mariadb_pump(struct rowlock_link *link, int status);
/* Calls a function by its _start, with these arguments, and its _cont. `out` gets the result. */
#define ROWLOCK_MARIADB_PUMPED(link, function, out, handle, arguments)      \
    for (int status = rowlock__mariadb.function##_start arguments; status;) \
    status = rowlock__mariadb.function##_cont(out, handle, rowlock__mariadb_pump(link, status))
/* Calls a function that way or, if the link does not use the non-blocking calls, directly. Its
   arguments follow, the handle first. */
#define ROWLOCK_MARIADB_CALL(link, out, function, ...)                                            \
    do {                                                                                          \
        if (!(link)->wait.pumped)                                                                 \
            (out) = rowlock__mariadb.function(__VA_ARGS__);                                       \
        else                                                                                      \
            ROWLOCK_MARIADB_PUMPED(link, function, &(out), ROWLOCK_MARIADB_FIRST(__VA_ARGS__, 0), \
                                   (&(out), __VA_ARGS__));                                        \
    } while (0)
#define ROWLOCK_MARIADB_FIRST(first, ...) first
/* Shuts the socket down: the server then ends the session and its transaction. */
void rowlock__mariadb_give_up(struct rowlock_link *link);
/* Runs a text without parameters and discards its results; the first column of the first row
   goes to `out` if that is not NULL (cut to size; "" for NULL). 0 or mysql_errno. */
unsigned rowlock__mariadb_query(struct rowlock_link *link, const char *text, char *out,
                                size_t size);
/* Fills `error` from the engine's error; detects a dead session and a spent budget. Returns the
   code: ETIMEDOUT or ECANCELED if the budget ended the statement, ECONN while connecting. */
int rowlock__mariadb_failure(struct rowlock_link *link, unsigned number, const char *sqlstate,
                             const char *text, struct rowlock_error *error);
/* The same for the last error of link->mysql. */
int rowlock__mariadb_query_failure(struct rowlock_link *link, struct rowlock_error *error);
/* Runs a text as rowlock__mariadb_query does, with that failure's code. */
int rowlock__mariadb_execute(struct rowlock_link *link, const char *text,
                             struct rowlock_error *error);
/* The transaction flag of the server's last answer that had one; the answer with an error has
   none. */
bool rowlock__mariadb_in_transaction(const struct rowlock_link *link);

/* mariadb_session.c */

/* Opens link->mysql, which must be NULL, by link->url, and sets the session up. link->wait must be
   armed. Blocks until the budget's end, except that a host's name is resolved with the resolver's
   own time limits, and that nothing interrupts a TLS handshake, whose limit is the budget's end
   rounded up to a second. After a failure the caller closes the handle. */
int rowlock__mariadb_connect(struct rowlock_link *link, struct rowlock_error *error);
/* A link's cancel: KILL QUERY over a second connection. Does nothing without link->url. */
void rowlock__mariadb_cancel(struct rowlock_link *link, int64_t deadline_ms);

/* mariadb_begin.c */

/* The dialect of a server, by its version and the client library's knowledge of it. */
const struct rowlock_dialect *rowlock__mariadb_dialect_of(const char *version, bool is_mariadb);
/* On an armed link, before `n` calls: sends the dialect's BEGIN for ROWLOCK_BEGIN. On TiDB it looks
   at a transaction that the caller has begun: ESNAPSHOT if that is optimistic, or above READ
   COMMITTED. */
int rowlock__mariadb_begin(struct rowlock_link *link, unsigned transaction_flags,
                           const struct rowlock_call *calls, size_t n, struct rowlock_error *error);

/* mariadb_statement.c */

/* Runs one call on an armed link, and passes its rows. After an error the caller asks the server
   for the state of the transaction. */
int rowlock__mariadb_call(struct rowlock_link *link, struct rowlock_call *call,
                          struct rowlock_error *error);
/* Closes the prepared statements of a session of our own, before the session is closed. */
void rowlock__mariadb_forget(struct rowlock_link *link);

/* mariadb_script.c */

/* `text` with every rowlock_ name qualified and DATABASE() replaced; malloc'd; NULL:
   out of memory. */
char *rowlock__mariadb_qualify(const char *text, const char *database);
/* Whether the name can be inserted between backquotes: 1 to 64 bytes, all of them letters, digits,
   _, $, - or non-ASCII. */
bool rowlock__mariadb_plain_database(const char *name);
/* Runs a script; mariadb_script.c describes how it is split. On a borrowed handle the script runs
   in link->database; then the handle's current database is restored, if its name is plain. */
int rowlock__mariadb_script(struct rowlock_link *link, const char *text,
                            struct rowlock_error *error);

#endif
