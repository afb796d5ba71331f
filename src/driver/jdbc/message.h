/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef ROWLOCK_JDBC_MESSAGE_H
#define ROWLOCK_JDBC_MESSAGE_H

#include <stdbool.h>

#include "driver/driver.h"

struct rowlock__jdbc_message {
    unsigned char *bytes; /* malloc'd, kept for the next message */
    size_t length, size;
    size_t at;   /* of the next byte to read */
    bool broken; /* no memory, or the reply ended early */
};

/* Writing: rowlock__jdbc_put begins a message with its first byte. */
void rowlock__jdbc_put(struct rowlock__jdbc_message *message, char kind);
void rowlock__jdbc_put_byte(struct rowlock__jdbc_message *message, int byte);
void rowlock__jdbc_put_int(struct rowlock__jdbc_message *message, int32_t number);
void rowlock__jdbc_put_text(struct rowlock__jdbc_message *message, const char *text, size_t length);
/* An 'x' request for the call. */
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
/* The rows of a reply to an 'x' request, for call->row. */
void rowlock__jdbc_get_rows(struct rowlock__jdbc_message *message, struct rowlock_call *call);

#endif
