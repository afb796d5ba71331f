/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that all verbs that acquire a lock share. Such a verb starts with
 * lock_options_default(), gives scan_options() the tables below that it needs, and calls
 * finish_lock_options(): the operands are the names.
 */
#ifndef ROWLOCK_LOCK_OPTIONS_H
#define ROWLOCK_LOCK_OPTIONS_H

#include "command/command.h"

/* finish_lock_options() sets wants, n and deadline_ms; the tables below the rest. */
struct lock_options {
    struct rowlock_want *wants; /* yours to free; the names are the operands */
    size_t n;
    int64_t wait_ms;     /* 0: try, < 0: no limit */
    int64_t deadline_ms; /* of the wait, by rowlock__now_ms(); 0: none, or a try */
    int tries, waits;    /* -n, -w was given */
    int quiet;           /* prints nothing about a busy lock */
    int conflict;        /* exit status if the lock was not acquired */
    int64_t ttl_ms;      /* 0: not set */
    const char *note;    /* NULL: none */
    enum rowlock_mode mode;
    int mode_said; /* -x, -e or -s was given */
    int limit;     /* of permits; 0: none */
};

/* Rows for a struct lock_options: the table's `into` in scan_options(). */
extern const struct option_row lock_exclusive_options[]; /* -x -e */
extern const struct option_row lock_mode_options[];      /* -s --limit */
extern const struct option_row lock_wait_options[];      /* -n -w -E */
extern const struct option_row lock_note_options[];      /* -q --note */
extern const struct option_row lock_ttl_options[];       /* --ttl */
/* As elements of a list of tables: LOCK_TABLES has all of them, LOCK_WAIT_TABLES those of a verb
   that chooses mode and ttl itself. */
#define LOCK_WAIT_TABLES(lock)  \
    {lock_wait_options, lock},  \
    {                           \
        lock_note_options, lock \
    }
#define LOCK_TABLES(lock)                                                              \
    {lock_exclusive_options, lock}, {lock_mode_options, lock}, LOCK_WAIT_TABLES(lock), \
    {                                                                                  \
        lock_ttl_options, lock                                                         \
    }

/* Exclusive, no time limit, STATUS_NOT_ACQUIRED. */
struct lock_options lock_options_default(void);

/* Of the duration of a lease, an int64_t in ms: from one second to 100 years. */
option_taker take_lasting;

/* Makes the requests from the operands, and the deadline. Ends the program on wrong usage. */
void finish_lock_options(const struct command *command, struct lock_options *options);

/* NAME, the single operand, also after --. Ends the program if it is missing or not a name, or if
   there are more. */
const char *one_name(struct command *command);

/* The remaining wait, as rowlock_acquire and rowlock_begin expect it: 0: a try, also after the
   deadline; < 0: no limit. */
int64_t lock_wait_left(const struct lock_options *options);

#endif
