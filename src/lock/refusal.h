/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the status row of a locking statement into the error for the caller; and one attempt to
 * take transaction locks. lock/transaction.c makes the attempts; lease/ uses the errors, too.
 */
#ifndef ROWLOCK_REFUSAL_H
#define ROWLOCK_REFUSAL_H

#include "lock/wants.h"
#include "session/connection.h"
#include "util/clock.h"

/* The status row that decides; zeroed at first, which means OK. */
struct rowlock_answer {
    enum rowlock_status status;
    char name[ROWLOCK_NAME_MAX + 1]; /* the name in conflict */
    int stays;                       /* a requested row stays locked until the transaction ends */
    char detail[300];                /* for people; "" */
    const char *owner;               /* of the caller's ticket, which is not counted; or NULL */
};

/* A row callback (dialect.h, "status row"): keeps the first row that is not OK. `data` is a
   struct rowlock_answer. */
void rowlock__answer_row(void *data, const struct rowlock_value *columns, unsigned n);

/* Technique insert on SQLite: a committed row is a lock for the other programs that use the table.
   If a name has one, `answer` becomes its refusal. On other engines the functions check it. */
int rowlock__look_for_leftovers(struct rowlock_connection *connection,
                                const struct rowlock_want *want, size_t n,
                                struct rowlock_answer *answer, struct rowlock_error *error);

/*
 * Turns a status that is not OK into the caller's error. `wait_ms` is the caller's limit of the
 * wait: a held lock is EBUSY with 0, and for the status BUSY; else ETIMEDOUT. `informant` is a
 * connection to ask for the holder; NULL: none may be asked, and the text does not name it.
 * `interrupted`: the caller's interrupt_fd cancelled the statement, not a limit of the session.
 */
int rowlock__refuse(const struct rowlock_answer *answer, rowlock_duration wait_ms,
                    struct rowlock_connection *informant, int interrupted,
                    struct rowlock_error *error);

/* Finds which of the names is held, if the engine reports it, and puts it into answer->name; else
   the first name. Asks `informant` once or twice per name; NULL: asks nothing. */
void rowlock__find_held(struct rowlock_answer *answer, const struct rowlock_wants *wants,
                        struct rowlock_connection *informant);

/* One attempt to lock names, and the work outside the transaction before the next attempt. */

/* One call that locks: lock/transaction.c makes it, and repeats the attempt with it. */
struct rowlock_attempt {
    struct rowlock_connection *connection;
    struct rowlock_wants wants;
    rowlock_duration wait_ms; /* the caller's; 0: a try, < 0: no limit */
    int64_t deadline_ms;      /* the end of that wait, by clock.h */
    int in_transaction;       /* locks in the caller's transaction; else begin-and-lock */
    int unread;               /* the schema is checked after the first write: rowlock__check_late */
    bool swept;               /* the last sweep found an expired lease */
    int the_long_way;         /* not the fast path, which obeys the session's lock_timeout */
    int cleared;              /* obstacles were removed once; late attempts do not repeat that */
    struct rowlock_pause pause;
    struct rowlock_answer answer;
    struct rowlock_outcome outcome;
};

/* Sends the locking statements once. 0: attempt->answer has the result; else the call failed and
   attempt->outcome has the transaction's state. Blocks until the deadline, and for the answer of
   the server one statement_ms longer. */
int rowlock__try_once(struct rowlock_attempt *attempt, struct rowlock_error *error);

/* Sweeps the expired leases of the names that conflict, up to 64, in short transactions on
   `outside`: the caller's connection, or its second one while the first has a transaction open.
   ETIMEDOUT: not finished. */
int rowlock__sweep(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                   struct rowlock_error *error);

/* Creates the rows of technique row, committed, on `outside`. */
int rowlock__make_known(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                        struct rowlock_error *error);

/* The same over the attempt's connection, for names whose rows vacuum must keep. */
int rowlock__keep_known(struct rowlock_attempt *attempt, struct rowlock_error *error);

#endif
