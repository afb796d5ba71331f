/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's text: the pieces of sql/<dialect>/schema, with this installation's names. */
#ifndef ROWLOCK_SCHEMA_TEXT_H
#define ROWLOCK_SCHEMA_TEXT_H

#include <stdbool.h>

#include "dialect/dialect.h"
#include "rowlock.h"

struct rowlock_names {
    const char *object; /* technique insert: its table, as in statements */
    const char *role;   /* the role that gets the GRANTs */
    bool again;         /* repeatable: keeps existing tables and replaces the other objects */
};

#define ROWLOCK_PIECES 19

/* The pieces that an install, or an upgrade, runs, in order. Some dialects lack some pieces.
   Returns their number. */
size_t rowlock__install_pieces(enum rowlock_technique technique, bool upgrades,
                               const char *out[ROWLOCK_PIECES]);

/* All objects that these create, one per line (see dialect.h, parts); malloc'd. */
int rowlock__parts_text(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                        const char *object, char **out, struct rowlock_error *error);

/* Whether a line of parts is an object that only the history needs: locks hold without it.
   A function is not one, because locks call it; a procedure is, because a failing call of it is
   ignored. On SQLite no object is, because the statements of locks name the table. */
bool rowlock__is_of_history(const struct rowlock_dialect *dialect, const char *line);

/* The technique that `plan` (may be NULL) means in this dialect; EMODE if it lacks the technique.
   EINVAL for a table that is not a plain identifier, or that is given with another technique. */
int rowlock__plan_technique(const struct rowlock_dialect *dialect, const struct rowlock_plan *plan,
                            enum rowlock_technique *out, struct rowlock_error *error);

/* The text of a piece, malloc'd. `names` replaces the tokens rowlock_object and application. */
int rowlock__piece(const struct rowlock_dialect *dialect, const char *name,
                   const struct rowlock_names *names, char **out, struct rowlock_error *error);

/* Whether the text is [A-Za-z_][A-Za-z0-9_]*, at most 63 bytes. */
int rowlock__is_identifier(const char *text);

#endif
