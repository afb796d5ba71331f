/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java virtual machine of the process, and the helper class in it (RowlockSession.java).
 * The first session starts the JVM, or uses the one that the process has. It is never ended,
 * because a process can start only one. It does not survive fork().
 */
#ifndef ROWLOCK_JDBC_JVM_H
#define ROWLOCK_JDBC_JVM_H

#include <stdbool.h>
#include <stdio.h>

#include "driver/driver.h"
#include "rowlock.h"

/*
 * Requests to the helper class and its replies. Numbers are big-endian; `text` is its length in
 * four bytes, and UTF-8.
 *
 * open     'o' text URL, text class of the driver or "", int4 n, n * (text key, text value)
 *          reply: '+' text product; '?' failure: no driver accepts the URL; '-' failure
 * request  'x' text SQL, int1 n, n * ('i' int8 | 't' text | 'I' | 'T'): a prepared statement; I, T
 *              are typed NULLs. Reply: '+' int8 affected; if there are rows: int4 columns, then the
 *              columns of all rows: 'i' int8 | 't' text | '0' NULL
 *          's' text SQL: a statement that is not kept. 'c' commit. 'r' rollback. Reply: '+'
 *          'v' reply: '+' int1: whether the session is alive
 *          reply to all: '-' failure
 * failure  text SQLSTATE, int4 native number, text message
 */

/* A request, and then the reply in its place. Zeroed at first; its owner frees `bytes`. */
struct rowlock__jdbc_message {
    unsigned char *bytes; /* malloc'd, kept for the next message */
    size_t length, size;  /* of the message; of the memory */
    size_t at;            /* of the next byte to read */
    bool broken;          /* no memory, or the reply ended early; until the next message */
};

/* Writing: rowlock__jdbc_put begins a message with its first byte. Without memory the message
   becomes `broken`, and the call that sends it fails. */
void rowlock__jdbc_put(struct rowlock__jdbc_message *message, char kind);
void rowlock__jdbc_put_byte(struct rowlock__jdbc_message *message, int byte);
void rowlock__jdbc_put_int(struct rowlock__jdbc_message *message, int32_t number);
void rowlock__jdbc_put_text(struct rowlock__jdbc_message *message, const char *text, size_t length);
/* Begins a message, and writes an 'x' request for the call: its statement and its parameters. */
void rowlock__jdbc_put_call(struct rowlock__jdbc_message *message, const struct rowlock_call *call);
/* Makes room for a reply of that size. False: out of memory. */
bool rowlock__jdbc_room(struct rowlock__jdbc_message *message, size_t size);

/* Reading. Numbers are signed and have that many bytes. Texts stay in the message and have no
   terminator. After a reply that ended early, `broken` is set and the results are 0 or "". */
int rowlock__jdbc_get_byte(struct rowlock__jdbc_message *message);
int64_t rowlock__jdbc_get_number(struct rowlock__jdbc_message *message, unsigned bytes);
const char *rowlock__jdbc_get_text(struct rowlock__jdbc_message *message, size_t *length);
/* A text as a string, cut to the buffer's size. */
void rowlock__jdbc_get_string(struct rowlock__jdbc_message *message, char *out, size_t size);
/* Passes the rows of a reply to an 'x' request to call->row, if it is not NULL. */
void rowlock__jdbc_get_rows(struct rowlock__jdbc_message *message, struct rowlock_call *call);

/* The compiled helper class, embedded by tools/embed-class. */
extern const unsigned char rowlock__jdbc_class[];
extern const int rowlock__jdbc_class_size;

/* find.c: loads libjvm: the copy that the process has, that of ROWLOCK_LIBJVM, of JAVA_HOME, or of
   the usual directories. EDRIVER: there is none, or that of ROWLOCK_LIBJVM cannot be loaded. */
int rowlock__jdbc_find_jvm(void **library, struct rowlock_error *error);
/* ROWLOCK_CLASSPATH, or the known jars of JDBC drivers in /usr/share/java. malloc'd; NULL: no
   memory. */
char *rowlock__jdbc_class_path(void);
/* `describe` of struct rowlock_driver; also lists the jars. Loads libjvm without starting it. */
void rowlock__jdbc_describe(FILE *out);

/* The first call starts the JVM and defines the helper class. The caller must block all signals,
   because the threads of the JVM inherit the mask of its thread. All signal handlers stay as they
   were, except those of errors of the processor (SIGSEGV and others), which the JVM needs. Fails
   with EDRIVER or ENOMEM. */
int rowlock__jdbc_start(struct rowlock_error *error);

/*
 * Calls of the helper, after rowlock__jdbc_start. Any thread: it is attached to the JVM until it
 * ends. The reply replaces the bytes of `message`. ENOMEM if Java did not reply, or the message is
 * broken; a failure of the database is a reply.
 */

/* Sends one request of the session. If `session` is NULL, opens one: `*opened`, which the caller
   closes; NULL if the reply is a failure. Blocks until the JDBC driver returns: the caller watches
   it (watch.h). */
int rowlock__jdbc_call(void *session, struct rowlock__jdbc_message *message, void **opened,
                       struct rowlock_error *error);
/* Cancels the statement that another thread executes in the session. May block, as Statement.cancel
   does. */
void rowlock__jdbc_call_cancel(void *session);
/* Closes the connection, and frees the session. May block. */
void rowlock__jdbc_call_close(void *session);

#endif
