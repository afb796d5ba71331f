/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database under test, reached through its ODBC driver. The driver of rowlock is called
 * directly, without locks.
 */
#ifndef TEST_ODBC_H
#define TEST_ODBC_H

#include "driver/driver.h"

#define T_ODBC_LATER_MS 60000 /* does not come in a test */

extern const struct rowlock_driver *const t_odbc;

/* The URL "odbc:Driver=...;..." of the database under test, at that port of 127.0.0.1; `more` is
   appended. */
const char *t_odbc_url(int port, const char *more);

/* A budget of that time, without an interrupt_fd. */
struct rowlock_budget t_odbc_within(int64_t ms);

/* Opens a session, which t_odbc_close or the next t_odbc_table closes. A budget of NULL is a
   minute. */
int t_odbc_open_at(const char *url, const struct rowlock_budget *budget, struct rowlock_link **out);
struct rowlock_link *t_odbc_open(void);
void t_odbc_close(struct rowlock_link *link);

/* A session of the engine's own client library, after executing `sql` (may be NULL). */
void *t_odbc_native(const char *sql);

/* Creates the table odbc_test (id, n, t) with the rows (1, 10, 'one') and (2, 20, 'two'). */
void t_odbc_table(void);
/* Creates it, and opens a session. */
struct rowlock_link *t_odbc_prepare(void);
/* Asserts the value that others see. */
void t_odbc_n_is(int id, const char *wanted);

extern const struct rowlock_statement t_odbc_insert, t_odbc_read_one, t_odbc_read_all,
    t_odbc_update, t_odbc_delete_all, t_odbc_lock_row, t_odbc_mistake;

struct t_odbc_row {
    int64_t n, id;
    bool n_is_null, t_is_null;
    char *t; /* malloc'd */
    size_t length;
    int rows; /* how many there were; the others are of the last one */
};
void t_odbc_keep_row(void *data, const struct rowlock_value *columns, unsigned n);

/* Calls with the error t_error, whose text must not show a password. */
int t_odbc_run_within(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls,
                      size_t n, const struct rowlock_budget *budget,
                      struct rowlock_outcome *outcome);
int t_odbc_run(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls, size_t n);
/* A call with the parameter `id`; valid until the eighth call after it. */
struct rowlock_call t_odbc_with_id(const struct rowlock_statement *statement, int64_t id);
int t_odbc_set_n(struct rowlock_link *link, unsigned flags, int64_t id, int64_t n,
                 int64_t *affected);

#endif
