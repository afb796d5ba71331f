/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on standard error, and the state of the standard descriptors. */
#ifndef ROWLOCK_OUTPUT_H
#define ROWLOCK_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

/* ---- message.c ---------------------------------------------------------------- */

/* "rowlock: ..." on stderr, as one line in one write(), control characters and ambiguous
   backslashes escaped, cut to about a thousand bytes. Flushes standard output before. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same to another descriptor; message_keep() and standard output have no effect on it. */
void message_to(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From now on message() stores its text in `out`, for a caller that reports it in another way; a
   later message replaces an earlier one. NULL: it prints to stderr again. */
void message_keep(char *out, size_t size);

/* From now on each message of this process begins with put_time_now(). */
void message_with_time(void);
/* "2026-11-21 02:00:01 +0100 ", by the node's clock; its length. */
size_t put_time_now(char *out, size_t size);

/* The text, with control characters and ambiguous backslashes escaped, cut to fit; its length. A
   byte may become six, and eight bytes of `out` stay free. Bytes that are not UTF-8 are escaped,
   too. */
size_t escape_controls(const char *text, char *out, size_t size);

/* The prefix of a name in a recommended command line: "--name " if the name begins with "-". */
const char *before_name(const char *name);

/* An argument for a message; a URL is hidden, because it might contain a password. Returns the
   argument itself, or a constant. */
const char *shown(const char *argument);

/* ---- standard.c --------------------------------------------------------------- */

/* Keeps closed standard descriptors occupied, so that no socket gets their numbers. main() calls it
   first. exec closes them again. */
void keep_standard_places(void);
/* For a verb whose result is lost if it cannot be printed. Returns an exit status, after a message
   if standard output is closed or has no reader. From then on, losing the reader is an error. */
int check_output(void);
/* Flushes standard output: STATUS_OK, or STATUS_FAILED after a message if any write to it
   failed. */
int finish_output(void);
/* Prints a message, and returns STATUS_FAILED for the caller to return. */
int out_of_memory(void);

/* Whether standard output is a terminal, and NO_COLOR and TERM=dumb do not forbid colours. */
int terminal_is_coloured(void);
/* The columns of the terminal; 0: unknown, or standard output is not a terminal. */
size_t terminal_columns(void);

/* ---- width.c ------------------------------------------------------------------ */

/* The columns that UTF-8 text takes on a terminal; colours take none. The thread's LC_CTYPE must be
   C.UTF-8: begin_width() sets it, whatever the user's locale is. */

void begin_width(void);

/* Of the whole text. */
size_t text_width(const char *text);
/* The number of bytes of `text` that fit into `columns`. */
size_t text_within(const char *text, size_t columns);
/* Cuts a text that is wider, and ends it with an ellipsis; `text` has room for three bytes more. */
void cut_text(char *text, size_t columns);

/* ---- file.c ------------------------------------------------------------------- */

/* Replaces a file as a whole by the output of `write`: a reader sees either the old file or the
   new one. Returns the exit status that `write` returns, or that of a failure to write, after a
   message. The umask decides who can read the file. Follows a symbolic link; refuses a device, a
   pipe or a folder (STATUS_USAGE). */
int replace_file(const char *path, int (*write)(FILE *out, void *data), void *data);

#endif
