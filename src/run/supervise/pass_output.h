/* SPDX-License-Identifier: Apache-2.0 */
/* The command's output, passed on to ours; its end is kept for the record of a run. */
#ifndef ROWLOCK_PASS_OUTPUT_H
#define ROWLOCK_PASS_OUTPUT_H

#include <pthread.h>
#include <stddef.h>

#include "command/signals.h"
#include "system/system.h"

/* ---- prefix.c -------------------------------------------------------------------------------- */

#define PREFIX_NAME_MOST 1200 /* a name of 255 bytes, escaped */

/* The line of a stream that is being read. */
struct prefix {
    const char *name; /* NULL: bytes are passed on unchanged */
    char line[4096];  /* a pipe takes this much at once; a longer line is passed on in parts */
    size_t n;
    int in_line;
};

typedef int prefix_emit(void *data, const char *bytes, size_t n);

/* Calls `emit` for each complete line. Its result other than 0 ends the call, and is returned. */
int prefix_take(struct prefix *prefix, const char *bytes, size_t n, prefix_emit *emit, void *data);
/* Completes a last line that has no end. */
int prefix_end(struct prefix *prefix, prefix_emit *emit, void *data);

/* ---- pass_output.c --------------------------------------------------------------------------- */

#define OUTPUT_KEPT 2048

/* Threads pass the command's output to ours, so a reader of ours that stops reading does not stop
   our own work. */
struct output {
    struct stream {
        struct output *output;
        int from, into; /* the pipe; -1: closed */
        int to;
        pthread_t thread;
        int started, broken;
        struct prefix prefix;
    } streams[2];
    int n;                      /* streams; 1: both are one file, and one pipe keeps the order */
    int only_errors;            /* the command writes to standard output itself */
    struct rowlock_wakeup stop; /* sent: the command has ended */
    struct rowlock_wakeup done; /* sent for each stream that is passed on to its end */
    pthread_mutex_t lock;
    pthread_cond_t drained;
    int undrained; /* streams of which there may be more to read */
    char tail[OUTPUT_KEPT];
    size_t total; /* bytes that came */
    char text[OUTPUT_KEPT + 1];
};

/* only_errors: of standard output nothing is kept, unless it is the same file. `prefix` as in
   struct run. */
int output_open(struct output *output, int only_errors, const char *prefix);
/* In the command's process: its standard output and error are pipes. */
int output_become(const struct output *output);
/* After the fork. */
int output_start(struct output *output);
/* After the command's end: returns the end of its output, as UTF-8. Later output of its descendants
   is not read. */
const char *output_end(struct output *output);
/* Waits until all is passed on, one of our signals comes, or nothing was passed on for wait_ms (-1:
   no limit). */
void output_close(struct output *output, const struct signals *signals, int wait_ms);

#endif
