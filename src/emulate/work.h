/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function under way: its inner statements, its locks, its answer. link.c makes a work for each
 * batch and calls the function of each statement; the functions are in the other files. They return
 * 0, or a code, with work->error filled and the state of the transaction in work->outcome.
 */
#ifndef ROWLOCK_EMULATE_WORK_H
#define ROWLOCK_EMULATE_WORK_H

#include "emulate/emulate.h"
#include "util/clock.h"
#include "util/rows.h"

#define ROWLOCK_KEY_SIZE 511 /* the hexadecimal digits of 255 bytes */

#define ANY_LIMIT INT64_MAX /* of a session's lock waits: unknown, so it must be set first */

/* A session of rowlock__emulate_driver: the inner session, and the state of its lock waits. */
struct rowlock_link {
    const struct rowlock_driver *driver; /* the inner one */
    struct rowlock_link *inner;          /* NULL: it was lost, and could not be replaced */
    const struct rowlock_dialect *dialect;
    char *url;         /* NULL: the caller's own handle */
    int64_t limit_ms;  /* of the session, for lock waits; -1: none; ANY_LIMIT: unknown */
    bool former;       /* the schema is of the former version */
    bool asked, lacks; /* whether the database's encoding lacks characters, once that was asked */
};

/* The batch under way, and the call of it that a function carries out. The first five members are
   those of run() in driver.h; `error` is never NULL here. */
struct rowlock_work {
    struct rowlock_link *link;
    const struct rowlock_call *call;
    const struct rowlock_budget *budget;
    struct rowlock_outcome *outcome;
    struct rowlock_error *error;
    unsigned begins; /* ROWLOCK_BEGIN until the first inner statement was sent */
    bool own;        /* this call began the transaction, and may roll it back */
    bool undone;     /* and did */
    /* A row of the history could not be written: the call is repeated without one. */
    bool log_failed, no_log;
    int64_t affected;           /* by the last inner statement: rows changed, or returned */
    char key[ROWLOCK_KEY_SIZE]; /* of rowlock__work_key */
};

/* Carries out one statement of dialect.h: reads work->call's parameters, answers with its rows. */
typedef int rowlock_procedure(struct rowlock_work *work);

/* rowlock__emulate_grant and the others, each in the file of its subject. */
#define ROWLOCK_XX(id, name) rowlock_procedure rowlock__emulate_##name;
ROWLOCK_PROCEDURES(ROWLOCK_XX)
#undef ROWLOCK_XX

/* ---- inner statements (work.c) --------------------------------------------------------------- */

/* The inner session; without one it is DEAD, and a call fails with ECONN. `call` may be NULL. */
enum rowlock_state rowlock__inner_state(const struct rowlock_link *link);
int rowlock__inner_run(struct rowlock_work *work, unsigned flags, struct rowlock_call *call,
                       const struct rowlock_budget *budget);

/* Parameters as the database can store them. */
struct rowlock_storable {
    const struct rowlock_value *values;
    struct rowlock_value *memory; /* the caller frees it; NULL: `values` are the given ones */
};

bool rowlock__are_ascii(const struct rowlock_value *values, unsigned n);
/* In texts for people replaces all characters but ASCII's, if the database lacks some, and cuts
   what is longer than the column (plain.h, longest). ENOMEM. */
int rowlock__storable(const struct rowlock_value *values, unsigned n, bool lacks, int longest,
                      struct rowlock_storable *out);

/* Whether the engine has that statement: some of them are optional (plain.h). */
bool rowlock__work_can(const struct rowlock_work *work, enum rowlock_plain_id id);

/* Sends one, within the call's budget; the first begins the transaction. `values` are its
   parameters in order. `row` may be NULL; rowlock__work_do sends one without a row. work->affected
   counts. */
int rowlock__work_do(struct rowlock_work *work, enum rowlock_plain_id id,
                     const struct rowlock_value *values);
int rowlock__work_ask(struct rowlock_work *work, enum rowlock_plain_id id,
                      const struct rowlock_value *values, rowlock_row *row, void *data);

/*
 * Sends one that may wait for a lock, for limit_ms at most (< 0: no limit). 0 tries; a try takes up
 * to 3 s where the server cannot limit a wait. `*busy`: the limit has passed; then the transaction
 * continues if the engine keeps it, else it is undone if it is our own one (work->undone);
 * otherwise the call fails with ETIMEDOUT.
 */
int rowlock__work_ask_within(struct rowlock_work *work, enum rowlock_plain_id id,
                             const struct rowlock_value *values, int64_t limit_ms, bool *busy);

/* The same for a query: where readers wait for writers, that wait is limited too. */
int rowlock__work_read_within(struct rowlock_work *work, enum rowlock_plain_id id,
                              const struct rowlock_value *values, rowlock_row *row, void *data,
                              int64_t limit_ms, bool *busy);

/* Commits our own transaction in the middle of a function; the next statement begins another. */
int rowlock__work_commit(struct rowlock_work *work);
/* Whether one lock of the whole database is every name's lock (plain.h, whole). */
bool rowlock__work_is_whole(const struct rowlock_work *work);
/* There: takes that lock by beginning our transaction, unless it has begun. limit_ms < 0: no limit
   of its own. ETIMEDOUT: another transaction has it; nothing has begun. Elsewhere it does
   nothing. */
int rowlock__work_begin_within(struct rowlock_work *work, int64_t limit_ms);
/* Rolls our own transaction back, within 2 s even if the budget has ended; the next statement
   begins another. Fills outcome->left; cannot fail. */
void rowlock__work_undo(struct rowlock_work *work);

/* Whether the failure `code` is a duplicate key, or another violated constraint. If so, undoes our
   own transaction, and clears the error. */
bool rowlock__work_is_duplicate(struct rowlock_work *work, int code);

/* Runs one statement of a script, and commits it; after a failure rolls back. The caller has no
   transaction open. */
int rowlock__work_execute(struct rowlock_work *work, const char *text);
/* Whether a query of the table, or of its column, works; by rowlock__work_execute, repeated while
   other installers disturb it. Fails only if the query has no answer. */
int rowlock__work_has_column(struct rowlock_work *work, const char *table, const char *column,
                             bool *there);
int rowlock__work_has_table(struct rowlock_work *work, const char *table, bool *there);

/* The answer: hands one row to the caller of run(). */
void rowlock__work_answer(struct rowlock_work *work, const struct rowlock_value *columns,
                          unsigned n);
/* A row of one number. Returns 0, to end a function with. */
int rowlock__work_number(struct rowlock_work *work, int64_t number);

struct rowlock_key_row {
    char key[ROWLOCK_KEY_SIZE];
};
/* A row callback: the first column as a key; `data` is struct rowlock_rows of struct
   rowlock_key_row. */
void rowlock__take_key(void *data, const struct rowlock_value *columns, unsigned n);
/* A column's text, copied into the rows; NULL for NULL. */
const char *rowlock__copy_text(struct rowlock_rows *rows, const struct rowlock_value *column);
/* The number as a parameter, or SQL NULL. */
struct rowlock_value rowlock__optional_value(bool there, int64_t number);

/* The parameters of the call, from 0, in the order of dialect.h; a number is 0 for NULL. */
int64_t rowlock__work_int(const struct rowlock_work *work, unsigned i);
struct rowlock_value rowlock__work_value(const struct rowlock_work *work, unsigned i);
/* Whether the value, a parameter or a column, is that text. */
bool rowlock__work_is(const struct rowlock_value *value, const char *text);
/* Parameter `i`, a name, as the tables have it (key.c); until the next call for another one. */
const char *rowlock__work_key(struct rowlock_work *work, unsigned i);

/* ---- names (key.c) --------------------------------------------------------------------------- */

/* A name as the tables have it: PREFIX and the name, as upper-case hexadecimal digits, or as it is
   (plain.h, bare_names). */
void rowlock__key(const struct rowlock_work *work, const char *prefix,
                  const struct rowlock_value *name, char out[ROWLOCK_KEY_SIZE]);
/* The name of a key; "" for NULL. */
void rowlock__key_name(const struct rowlock_work *work, struct rowlock_value key, char out[256]);

/* Reads the lease at `at` in the parameter of renew_all (dialect.h). `*owner` refers to its bytes.
   Returns the start of the next one, or `end`. */
const char *rowlock__read_lease(const struct rowlock_work *work, const char *at, const char *end,
                                struct rowlock_value *token, char key[ROWLOCK_KEY_SIZE],
                                struct rowlock_value *owner);

/* A want of the packed parameter (dialect.h): of a lock, with a token; of a lease, with a limit and
   a count, which is at least 1. */
struct rowlock_wish {
    char key[ROWLOCK_KEY_SIZE];
    char kind; /* 'x', 's', 'p' */
    int64_t token, limit, count;
};
/* Unpacks them, in their order, into an array that the caller frees; NULL after ENOMEM. */
int rowlock__wishes(struct rowlock_work *work, const struct rowlock_value *packed,
                    struct rowlock_wish **out, size_t *n);

/* ---- shared steps ---------------------------------------------------------------------------- */

/* Takes the name lock of one name until the transaction ends; waits limit_ms at most, < 0: no limit
   (lock.c). `*status`: OK, BUSY (limit_ms 0), TIMEDOUT, or UNPREPARED: the name has no row. */
int rowlock__name_lock(struct rowlock_work *work, const char *key, bool shared, int64_t limit_ms,
                       enum rowlock_status *status);
/* All of a request, in its order, which is that of the names; the index of the refused one in
   `*at`, or `n`. A wait in our own transaction may roll it back and begin it again. */
int rowlock__name_lock_all(struct rowlock_work *work, const struct rowlock_wish *wish, size_t n,
                           int64_t limit_ms, enum rowlock_status *status, size_t *at);

/* Answers with a grant row; `key`: of the refused name, NULL: none; `detail`: "" for none
   (grant.c). */
void rowlock__answer_grant(struct rowlock_work *work, enum rowlock_status status, const char *key,
                           struct rowlock_value token, int64_t number, const char *detail);
/* The next token or ticket, and the level of the history; `level` may be NULL (grant.c). */
int rowlock__draw(struct rowlock_work *work, int64_t *number, int64_t *level);
/* Ends an expired lease and sets `*ended`, unless it was renewed, or a fence or another session
   holds a row of it for longer than limit_ms (lock.c). */
int rowlock__end_expired(struct rowlock_work *work, int64_t token, int64_t limit_ms, bool *ended);
/* Ends a lease, alive or not, and writes its history; `*was` tells whether it existed (lease.c). */
int rowlock__end_lease_rows(struct rowlock_work *work, int64_t token, bool *was);
/* The history (ending.c). Deletes a heartbeat, and writes the rows of its lease if the level asks
   for them. */
int rowlock__end_heartbeat(struct rowlock_work *work, int64_t token);
/* Writes the rows of a lease that is released, where one statement can. The values are those of
   RELEASE_LOGGED. `*logged`: it has; otherwise rowlock__end_heartbeat decides. */
int rowlock__log_released(struct rowlock_work *work, const struct rowlock_value *values,
                          bool *logged);
/* Writes them for a lease that ends with that expiry, as by a sweep. */
int rowlock__log_end(struct rowlock_work *work, int64_t token, int64_t expires_ms, bool stopped);
/* Writes the rows of the tickets of a call that gives up; ticket 0: all. */
int rowlock__log_waiter(struct rowlock_work *work, int64_t ticket, struct rowlock_value owner);
/* Deletes rows of the history whose time has passed, about that many at most, in transactions of
   its own; it stops after the one that exceeds `most`. */
int rowlock__prune(struct rowlock_work *work, int64_t most, int64_t *removed);
/* The database's clock: milliseconds since 1970. */
int rowlock__work_now(struct rowlock_work *work, int64_t *now_ms);

#endif
