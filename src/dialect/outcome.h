/* SPDX-License-Identifier: Apache-2.0 */
/* How a run and a lease ended: their words, as the tables and the statements have them. */
#ifndef ROWLOCK_DIALECT_OUTCOME_H
#define ROWLOCK_DIALECT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include "rowlock.h"

/* The outcome, or the ending, that a text names; LOST or GAVE_UP for any other text, such as one of
   a later version. The text needs no NUL. Back: rowlock_outcome_text and rowlock_ending_text. */
enum rowlock_run_outcome rowlock__outcome_of(const char *text, size_t length);
enum rowlock_ending rowlock__ending_of(const char *text, size_t length);

/* Whether the caller that finishes a run may report this outcome; the database itself sets the
   others. */
bool rowlock__is_reported(int outcome);

#endif
