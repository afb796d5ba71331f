/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on standard error, and the state of the standard descriptors. */
#ifndef ROWLOCK_OUTPUT_H
#define ROWLOCK_OUTPUT_H

#include <stddef.h>

/* ---- message.c ---------------------------------------------------------------- */

/* "rowlock: ..." on stderr, one line, control characters and backslashes escaped. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same to somebody else's descriptor. */
void message_to(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text, with control characters and backslashes escaped, cut to fit; its length. A byte may become
   six. */
size_t escape_controls(const char *text, char *out, size_t size);

/* What stands before a name in a command line that a message recommends: "--name " where it must. */
const char *before_name(const char *name);

/* An argument as a message may show it: what looks like a URL might hold a password. */
const char *shown(const char *argument);

/* ---- standard.c --------------------------------------------------------------- */

/* No socket of ours takes the place of a standard descriptor that the caller closed. */
void keep_standard_places(void);
/* For a verb that would lose what it took if its result cannot be printed: an exit status, with a message
   if standard output is closed, or its reader has gone. From then on a reader that goes is an error. */
int check_output(void);
/* Writes what is buffered; an exit status, with a message. */
int finish_output(void);

/* ---- terminal.c --------------------------------------------------------------- */

/* Standard output is a terminal, and nobody asked for no colours (NO_COLOR, TERM=dumb). */
int terminal_is_coloured(void);
/* Of the terminal; 0: it is none, or does not know. */
size_t terminal_columns(void);

#endif
