/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `top`: its data (data.c), the thread that reads them (reader.c), a frame as text
 * (frame.c), and the terminal (screen.c), which plain ANSI sequences control.
 */
#ifndef ROWLOCK_TOP_H
#define ROWLOCK_TOP_H

#include <stdio.h>

#include "command/command.h"
#include "command/output/list.h"
#include "command/output/words.h"
#include "show/tree/lock_tree.h"

/* ---- data.c ---------------------------------------------------------------------------------- */

/* The user's choice: each query asks for no more. */
struct top_choice {
    char glob[512]; /* a pattern of names and jobs; "": all */
    enum rowlock_list_order order;
    int most_jobs, most_rows, most_waiters; /* 0: all */
};

/* The rows of one reading; zeroed: none yet. */
struct top_data {
    struct top_choice choice; /* for which they were read */
    struct lock_tree tree;
    struct table jobs; /* those that are not fine, the worst first */
    struct rowlock_job_counts job_counts;
    int64_t read_ms; /* by this node's monotonic clock; 0: never */
};

/* Reads the data by two queries, each limited by the choice. Returns the library's code. */
int top_read(struct rowlock_connection *connection, const struct top_choice *choice,
             struct top_data *data, struct rowlock_error *error);
void top_data_free(struct top_data *data);

/* ---- reader.c -------------------------------------------------------------------------------- */

struct reader;

/* Starts a thread that reads every `interval_ms` by a session of its own, and that opens a lost
   session again. NULL: no memory or thread. */
struct reader *reader_open(int64_t interval_ms, const struct top_choice *choice);
/* A descriptor that is readable when reader_take() has something new. */
int reader_fd(const struct reader *reader);
/* Moves new data to `data`, whose former content it frees; without new data that stays. The text of
   the last failure to `why`, "" after a success. */
void reader_take(struct reader *reader, struct top_data *data, char *why, size_t size);
/* Changes the choice, and reads at once. */
void reader_choose(struct reader *reader, const struct top_choice *choice);
/* Pauses reading, or continues, which reads at once. */
void reader_pause(struct reader *reader, int is_paused);
/* Interrupts a query, ends the thread and frees the reader. */
void reader_close(struct reader *reader);

/* ---- frame.c --------------------------------------------------------------------------------- */

/* How the frame is shown. */
struct top_view {
    size_t lines, columns; /* the terminal's; 0: no terminal */
    int coloured, is_paused, shows_help;
    const char *typing; /* the filter that is being typed; NULL: none */
    const char *why;    /* why the database cannot be read; "": it can */
    int64_t interval_ms;
};

/* The frame's lines, each cut to the columns; malloc'd. NULL: out of memory. */
char *top_frame(const struct top_data *data, const struct top_view *view);

/* ---- screen.c -------------------------------------------------------------------------------- */

/* Whether both standard input and output are a terminal that understands ANSI sequences. */
int screen_is_there(void);
/* Prepares the terminal: keys arrive at once, and without an echo. screen_close() restores it, as
   does exit(). 0, or -1 with errno. */
int screen_open(void);
void screen_close(void);
/* Its size; 24 and 80 if unknown. */
void screen_size(size_t *lines, size_t *columns);
/* Draws the frame over the previous one. */
void screen_draw(const char *frame);

#endif
