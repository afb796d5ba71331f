/* SPDX-License-Identifier: Apache-2.0 */
/* schema set history: which ended leases the database keeps, and for how long. */
#ifndef ROWLOCK_HISTORY_RULES_H
#define ROWLOCK_HISTORY_RULES_H

#include "command/command.h"

/* The operands and options of schema set history. */
struct rules_request {
    const char *level;                 /* NULL: as it is */
    int64_t keep_good_ms, keep_bad_ms; /* 0: as they are */
};

/* Ends the program if the operands are wrong: set history [LEVEL]. */
void rules_read(const struct command *command, struct rules_request *request);
/* Sets what was requested, and prints the rules. An exit status. */
int rules_set(const struct command *command, struct rowlock_connection *connection,
              const struct rules_request *request);
/* Reports that no entry (of the name, if not NULL) matches, and which ones are recorded. */
void rules_explain(struct rowlock_connection *connection, const char *name);

#endif
