/* SPDX-License-Identifier: Apache-2.0 */
/* The command's output, passed on to ours; its end is kept for the record of a run. In order:
   output_open(), the fork, output_become() in the child, output_start(), output_end(),
   output_close(). */
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

/* Receives bytes to write. Not 0: it failed. */
typedef int prefix_emit(void *data, const char *bytes, size_t n);

/* Calls `emit` for each complete line, with the time and the name before it. Its result other than
   0 ends the call, and is returned. An incomplete line waits for the next call. */
int prefix_take(struct prefix *prefix, const char *bytes, size_t n, prefix_emit *emit, void *data);
/* Emits the last line, if it has no line feed, with one. */
int prefix_end(struct prefix *prefix, prefix_emit *emit, void *data);

/* ---- pass_output.c --------------------------------------------------------------------------- */

#define OUTPUT_KEPT 2048 /* bytes of the end of the output */

/* Threads pass the command's output to ours, so a reader of ours that stops reading does not stop
   our own work. */
struct output {
    struct stream {
        struct output *output;
        int from, into; /* the pipe; -1: closed */
        int to;         /* our own standard output or error */
        pthread_t thread;
        int started; /* the thread */
        int broken;  /* our reader has gone: the output is only kept */
        struct prefix prefix;
    } streams[2];
    int n;                      /* streams; 1: both are one file, and one pipe keeps the order */
    int only_errors;            /* the command writes to standard output itself */
    struct rowlock_wakeup stop; /* sent: the command has ended */
    struct rowlock_wakeup done; /* sent for each stream that is passed on to its end */
    pthread_mutex_t lock;       /* of the members below, which the threads write */
    pthread_cond_t drained;
    int undrained;              /* streams of which there may be more to read */
    char tail[OUTPUT_KEPT];     /* a ring */
    size_t total;               /* bytes that came */
    char text[OUTPUT_KEPT + 1]; /* the result of output_end() */
};

/* Makes the pipes. only_errors: of standard output nothing is kept, unless it is the same file.
   `prefix` as in struct run. Not 0, as of the two below: it failed, and nothing is passed on. */
int output_open(struct output *output, int only_errors, const char *prefix);
/* In the command's process: its standard output and error are pipes. */
int output_become(const struct output *output);
/* After the fork: closes the command's ends, and starts the threads. */
int output_start(struct output *output);
/* After the command's end: returns the end of its output, as UTF-8. Later output of its descendants
   is not read. */
const char *output_end(struct output *output);
/* Waits until all is passed on, one of our signals comes, or nothing was passed on for wait_ms (-1:
   no limit). */
void output_close(struct output *output, const struct signals *signals, int wait_ms);

#endif
