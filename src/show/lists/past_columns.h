/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the history as JSON, as rows of a table, as words. */
#ifndef ROWLOCK_PAST_COLUMNS_H
#define ROWLOCK_PAST_COLUMNS_H

#include <stdio.h>

#include "command/output/table.h"
#include "rowlock.h"

/* An object. */
void put_past(FILE *out, const struct rowlock_past *past);

struct table log_table(void);
/* Nonzero: out of memory. */
int log_table_add(const struct rowlock_past *past, struct table *table);

/* For people: "released", "broken", ...; of a run: "done", "failed", ... */
const char *ending_word(const struct rowlock_past *past);
/* Neither released nor done. */
int is_problem(const struct rowlock_past *past);
/* To the nearest second, from a second on: a wait of 1998 ms is shown as 2 s. */
int64_t rounded_ms(int64_t ms);
/* "web3:812 backup", as far as known; malloc'd, NULL: out of memory. Not escaped. */
char *past_holder(const struct rowlock_past *past);

#endif
