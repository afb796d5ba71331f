/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmariadb's functions, loaded on first use. Called as rowlock__mariadb.real_query(...): the
 * names are those of the library without mysql_, the types those of mysql.h.
 */
#ifndef ROWLOCK_MARIADB_LIBRARY_H
#define ROWLOCK_MARIADB_LIBRARY_H

#include <mysql.h>
#include <stdio.h>

#include "rowlock.h"

#define ROWLOCK_MARIADB_FUNCTIONS(XX)                          \
    XX(init, mysql_init)                                       \
    XX(close, mysql_close)                                     \
    XX(optionsv, mysql_optionsv)                               \
    XX(get_optionv, mysql_get_optionv)                         \
    XX(get_infov, mariadb_get_infov)                           \
    XX(client_version, mysql_get_client_version)               \
    XX(is_mariadb, mariadb_connection)                         \
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

/* Valid after rowlock__mariadb_load. */
extern struct rowlock__mariadb_functions rowlock__mariadb;

int rowlock__mariadb_load(struct rowlock_error *error);
/* Of struct rowlock_driver. */
void rowlock__mariadb_describe(FILE *out);

/* Clears OpenSSL's error queue of this thread: libmariadb mistakes the errors that a lost session
   left there for an error of the next session. Does nothing if libmariadb uses another TLS
   library. */
void rowlock__mariadb_forget_tls_errors(void);

#endif
