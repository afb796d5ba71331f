/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's text: pieces of sql/<dialect>/schema, with the names of this installation in them. */
#ifndef ROWLOCK_SCHEMA_TEXT_H
#define ROWLOCK_SCHEMA_TEXT_H

#include <stdbool.h>

#include "dialect/dialect.h"
#include "rowlock.h"

struct rowlock_names {
    const char *object; /* technique insert: its table, as it is to stand in statements */
    const char *role;   /* who is granted the use */
    bool again;         /* in the form that leaves tables as they are and replaces the rest */
};

#define ROWLOCK_PIECES 15

/* The pieces that install runs, in order; not every dialect has every piece. Returns how many. */
size_t rowlock__install_pieces(enum rowlock_technique technique, const char *out[ROWLOCK_PIECES]);

/* All that these create, a line each (see dialect.h, parts); malloc'd. */
int rowlock__parts_text(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                        const char *object, char **out, struct rowlock_error *error);

/* The technique that `plan` means in this dialect; EMODE if there is no such one. `plan` may be
   NULL. Also refuses a table that is no plain identifier (EINVAL), or goes with another technique. */
int rowlock__plan_technique(const struct rowlock_dialect *dialect, const struct rowlock_plan *plan,
                            enum rowlock_technique *out, struct rowlock_error *error);

/* A piece with `names` in the place of the tokens rowlock_object and application; malloc'd. */
int rowlock__piece(const struct rowlock_dialect *dialect, const char *name,
                   const struct rowlock_names *names, char **out, struct rowlock_error *error);

/* [A-Za-z_][A-Za-z0-9_]*, at most 63 bytes. */
int rowlock__is_identifier(const char *text);

#endif
