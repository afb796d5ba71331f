/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the error that the caller passed to a public function. All functions accept error == NULL.
 *
 * The room util has what every other room uses and no database needs: errors, clocks, texts, random
 * bits, threads, and when a lease is renewed. The command uses it, too.
 */
#ifndef ROWLOCK_ERROR_H
#define ROWLOCK_ERROR_H

#include "rowlock.h"

#if defined(__GNUC__)
#define ROWLOCK_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ROWLOCK_PRINTF(text, first)
#endif

/* Sets code and text, clears native, sqlstate and transaction. Returns `code`. Line feeds and tabs
   in the text become spaces, other control characters and bytes that are not UTF-8 '?', so that no
   name can forge a log line. A text that is too long is cut. */
int rowlock__fail(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Fails with ENOMEM, and the text "out of memory". Allocates nothing. */
int rowlock__no_memory(struct rowlock_error *error);

/* Puts "context: " before the text, of which the end may be cut then, and changes nothing else.
   Returns error's code, or `code` if error is NULL. */
int rowlock__wrap_error(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Records the state of the transaction after the failure. Returns `code`. */
int rowlock__left(struct rowlock_error *error, int code, enum rowlock_transaction left);

/* No error: code 0 and empty texts. */
void rowlock__clear_error(struct rowlock_error *error);

#endif
