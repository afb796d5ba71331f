/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that all verbs share which acquire a lock. Such a verb puts LOCK_SHORT_OPTIONS and
 * LOCK_LONG_OPTIONS into its own lists (or only the LOCK_WAIT_ ones, if the caller cannot choose
 * the mode), starts with lock_options_default(), passes each option to take_lock_option(), and
 * calls finish_lock_options() when all are read: the operands are the names.
 */
#ifndef ROWLOCK_LOCK_OPTIONS_H
#define ROWLOCK_LOCK_OPTIONS_H

#include "command/command.h"

struct lock_options {
    struct rowlock_want *wants; /* yours to free */
    size_t n;
    int64_t wait_ms;     /* 0: try, < 0: no limit */
    int64_t deadline_ms; /* of the wait, by rowlock__now_ms(); 0: none, or a try */
    int tries, waits;    /* -n, -w was given */
    int quiet;           /* prints nothing about a busy lock */
    int conflict;        /* exit status if the lock was not acquired */
    int64_t ttl_ms;      /* 0: not set */
    const char *note;    /* NULL: none */
    enum rowlock_mode mode;
    int mode_said;
    int limit; /* 0: none */
};

/* Values of long options without a letter; a verb's own start at OPTION_OWN, well below. */
enum { OPTION_LIMIT = OPTION_DB - 32, OPTION_TTL, OPTION_NOTE };

#define LOCK_MODE_SHORT_OPTIONS "xes"
#define LOCK_WAITING_SHORT_OPTIONS "nw:E:"
#define LOCK_WAIT_SHORT_OPTIONS LOCK_WAITING_SHORT_OPTIONS "q"
#define LOCK_SHORT_OPTIONS LOCK_MODE_SHORT_OPTIONS LOCK_WAIT_SHORT_OPTIONS

#define LOCK_MODE_LONG_OPTIONS                                                 \
    {"exclusive", no_argument, NULL, 'x'}, {"shared", no_argument, NULL, 's'}, \
    {                                                                          \
        "limit", required_argument, NULL, OPTION_LIMIT                         \
    }
#define LOCK_WAITING_LONG_OPTIONS                                                          \
    {"nb", no_argument, NULL, 'n'}, {"nonblock", no_argument, NULL, 'n'},                  \
        {"wait", required_argument, NULL, 'w'}, {"timeout", required_argument, NULL, 'w'}, \
    {                                                                                      \
        "conflict-exit-code", required_argument, NULL, 'E'                                 \
    }
#define LOCK_WAIT_LONG_OPTIONS                                    \
    LOCK_WAITING_LONG_OPTIONS, {"quiet", no_argument, NULL, 'q'}, \
    {                                                             \
        "note", required_argument, NULL, OPTION_NOTE              \
    }
#define LOCK_TTL_LONG_OPTION                       \
    {                                              \
        "ttl", required_argument, NULL, OPTION_TTL \
    }
#define LOCK_LONG_OPTIONS LOCK_MODE_LONG_OPTIONS, LOCK_WAIT_LONG_OPTIONS, LOCK_TTL_LONG_OPTION

/* Exclusive, no time limit, STATUS_NOT_ACQUIRED. */
struct lock_options lock_options_default(void);

/* 1: it was one of these options. Ends the program on a wrong value. */
int take_lock_option(const struct command *command, int option, struct lock_options *options);

/* The value of an option for the duration of a lease; ends the program on a wrong value. */
int64_t option_lasting(const struct command *command, const char *option);

/* Makes the requests from the operands, and the deadline. Ends the program on wrong usage. */
void finish_lock_options(const struct command *command, struct lock_options *options);

/* The remaining wait, as rowlock_acquire and rowlock_begin expect it. */
int64_t lock_wait_left(const struct lock_options *options);

#endif
