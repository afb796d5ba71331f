/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that several pages show. */
#ifndef ROWLOCK_SERVE_CELLS_H
#define ROWLOCK_SERVE_CELLS_H

#include <stdio.h>

#include "command/output/job_words.h"
#include "rowlock.h"

/* Writes host:pid and the command; for a transaction the server's number of the session. */
void cell_who(FILE *out, const struct rowlock_holder *holder);
void cell_mode(FILE *out, const struct rowlock_holder *holder);
/* The time until the lease expires. */
void cell_left(FILE *out, const struct rowlock_holder *holder, int64_t now_ms);
/* A text, or "-". */
void cell_or_none(FILE *out, const char *text);

void cell_node(FILE *out, const struct rowlock_run *run);
/* How the run ended, as a pill. */
void cell_result(FILE *out, const struct rowlock_run *run);
void cell_took(FILE *out, const struct rowlock_run *run);
void cell_health(FILE *out, enum rowlock_health health);

void cell_subject_status(FILE *out, enum rowlock_subject_status status);

#endif
