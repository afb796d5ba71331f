/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated database that has tables only: rows, locks on rows that last until the transaction
 * ends, and READ COMMITTED. It executes the statements of the plain dialects by their texts, so the
 * product's src/emulate/ runs on it as on a server. The clients interleave between statements.
 *
 *   table_sql.c      parses and evaluates the statements
 *   table_store.c    rows with a committed and a pending version, and their locks
 *   table_driver.c   sessions: waits, deadlocks, time limits, faults
 *   table_rows.c     the tables as an observer reads them
 *   table_wrong.c    deliberate mistakes in decisions and in the order of statements
 */
#ifndef TABLE_H
#define TABLE_H

#include "dialect/plain.h"
#include "driver/driver.h"
#include "simulation/sim.h"

#define TABLE_COLUMNS 16
#define TABLE_TOKENS 160
#define TABLE_NOBODY (-1)
#define TABLE_MARIADB 4 /* an engine whose refused lock leaves the transaction as it is */

/* ---- table_sql.c */
struct table_token {
    char kind; /* 'w'ord, 'n'umber, 's'tring, '?', 'N'ow, 'L' <=, 'G' >=, else the character */
    const char *at;
    size_t length;
    int64_t number; /* of a number, or of a parameter from 0 */
    int column;     /* of a word, -1: no column */
};
struct table_sql {
    enum { TABLE_SELECT, TABLE_INSERT, TABLE_UPDATE, TABLE_DELETE } verb;
    struct table *table;
    struct table_token token[TABLE_TOKENS];
    size_t tokens, list, where; /* where the list of SELECT, SET or VALUES begins; 0: no WHERE */
    int into[TABLE_COLUMNS];    /* the columns of an INSERT */
    unsigned n_into;
    char lock; /* of a SELECT: 'x', 's' or 0 */
    bool nowait;
};
/* `now`: the text of the database's clock. false: there is no such table. Ends the program if it
   does not understand the text. */
bool table_parse(const char *text, const char *now, struct table_sql *out);
/* The columns of a SELECT or INSERT, or those of an UPDATE put into the row's columns. */
unsigned table_evaluate(const struct table_sql *sql, const struct rowlock_value *values,
                        const struct rowlock_value *row, struct rowlock_value *out);
bool table_matches(const struct table_sql *sql, const struct rowlock_value *values,
                   const struct rowlock_value *row);

/* ---- table_store.c */
struct table_version {
    struct rowlock_value column[TABLE_COLUMNS];
};
struct table_row {
    struct table_version *committed, *pending;
    int writer;       /* the session with an exclusive lock */
    bool written;     /* the writer has changed it: to `pending`, NULL: deleted */
    uint64_t sharers; /* the sessions with a shared lock */
};
struct table {
    char name[32], column[TABLE_COLUMNS][24];
    unsigned columns, key; /* key: a bit for each column of the primary key */
    struct table_row *row;
    size_t n, room;
    struct table *next;
};
struct table *table_find(const char *name, size_t length);
struct table *table_of(const char *name); /* the same */
int table_column(const struct table *table, const char *name, size_t length);
void table_create(const char *text); /* CREATE TABLE ... */
void table_empty(const char *name);  /* deletes all rows, in no transaction */
void table_free(void);

enum table_result { TABLE_DONE, TABLE_BLOCKED, TABLE_DUPLICATE };
/* One execution of a statement. `blockers`: the sessions whose locks it must wait for. */
struct table_run {
    const struct table_sql *sql;
    const struct rowlock_value *values;
    int session;
    bool reads_wait; /* a read waits for a row that another session has changed */
    rowlock_row *row;
    void *data;
    int64_t affected;
    uint64_t blockers;
};
enum table_result table_execute(struct table_run *run);
/* Ends the session's transaction; whether it had changed a row. */
bool table_end(int session, bool commits);

/* ---- table_driver.c */
extern const struct rowlock_driver table_driver;
struct table_link {
    struct sim_client *client;
    int session;
    enum rowlock_state state;
    int64_t limit_ms;   /* for a lock; < 0: none */
    uint64_t waits_for; /* sessions */
    bool victim;        /* of a deadlock */
    int64_t drawn;      /* table_wrong.c */
    struct rowlock_call late[SIM_NAMES];
    struct rowlock_value late_name[SIM_NAMES];
    unsigned n_late;
};
void table_cut(struct sim_client *client);
void table_choose(unsigned dice); /* the engine of the next history */
const char *table_url(void);
const char *table_engine(void);
/* Sends one statement in a session, waiting for its locks. */
int table_ask(struct table_link *link, struct rowlock_call *call,
              const struct rowlock_budget *budget, struct rowlock_error *error);

/* ---- table_rows.c */
extern const struct sim_store table_store;
struct rowlock_value *table_drawn(void); /* the last number */
int64_t table_number(const struct table *table, const struct table_version *version,
                     const char *column);

/* ---- functions.c */
extern const struct rowlock_driver functions_driver;
const char *functions_url(void);
bool functions_locked(int64_t number); /* some session holds the session lock */
void functions_wake(void);             /* waiters whose session lock is free now */
bool functions_ignore_queue(void);     /* by a deliberate mistake */

/* ---- driver.c */
int sim_gone(struct rowlock_error *error); /* the call's session was cut */
/* No simulated session has these. */
int sim_no_socket(const struct rowlock_link *link);
int64_t sim_no_backend_id(const struct rowlock_link *link);
void *sim_no_handle(const struct rowlock_link *link);

/* ---- table_wrong.c */
/* Carries out the statement with the mistake in it; false: the mistake does not concern it. */
bool table_mistake(struct table_link *link, enum rowlock_plain_id id, struct rowlock_call *call,
                   const struct rowlock_budget *budget, struct rowlock_error *error, int *code);

#endif
