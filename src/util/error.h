/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the caller's error. All take error == NULL. */
#ifndef ROWLOCK_ERROR_H
#define ROWLOCK_ERROR_H

#include "rowlock.h"

#if defined(__GNUC__)
#define ROWLOCK_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ROWLOCK_PRINTF(text, first)
#endif

/* Sets code and text, clears native, sqlstate and transaction. Returns `code`. Control characters
   in the text are shown as '?', so that no name can forge a line of a log. */
int rowlock__fail(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Puts "context: " before the text. Returns error's code, or `code` if error is NULL. */
int rowlock__wrap_error(struct rowlock_error *error, int code, const char *format, ...)
    ROWLOCK_PRINTF(3, 4);

/* Says what is left of the transaction. Returns `code`. */
int rowlock__left(struct rowlock_error *error, int code, enum rowlock_transaction left);

void rowlock__clear_error(struct rowlock_error *error);

#endif
