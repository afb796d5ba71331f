/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the error that the caller passed to a public function. All functions accept
   error == NULL. */
#ifndef ROWLOCK_ERROR_H
#define ROWLOCK_ERROR_H

#include "rowlock.h"

#if defined(__GNUC__)
#define ROWLOCK_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ROWLOCK_PRINTF(text, first)
#endif

/* Sets code and text, clears native, sqlstate and transaction. Returns `code`. Control characters
   in the text become '?', so that no name can forge a log line. */
int rowlock__fail(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Fails with ENOMEM. */
int rowlock__no_memory(struct rowlock_error *error);

/* Puts "context: " before the text. Returns error's code, or `code` if error is NULL. */
int rowlock__wrap_error(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Records the state of the transaction after the failure. Returns `code`. */
int rowlock__left(struct rowlock_error *error, int code, enum rowlock_transaction left);

void rowlock__clear_error(struct rowlock_error *error);

#endif
