/* SPDX-License-Identifier: Apache-2.0 */
/* The existing and missing objects of the schema: its text compared with the catalog. */
#ifndef ROWLOCK_PARTS_H
#define ROWLOCK_PARTS_H

#include "session/connection.h"

struct rowlock_parts {
    /* For people: "table waiter, view waiters"; NULL: nothing is missing; malloc'd. */
    char *missing;
    bool any;      /* an object exists other than the table of technique insert */
    bool others;   /* a table, view or sequence other than meta exists */
    bool relation; /* a table or view is missing */
    bool unsafe;   /* a missing object is one that locks need: not of the history alone */
    /* An existing table lacks a column or key: install cannot create that. */
    bool hopeless;
};

/* `object`: the table of technique insert, as in statements. After an error there is nothing to
   free. */
int rowlock__read_parts(struct rowlock_connection *connection, enum rowlock_technique technique,
                        const char *object, struct rowlock_parts *out, struct rowlock_error *error);

/* The same for the installed technique, as rowlock_missing reports them. */
int rowlock__missing(struct rowlock_connection *connection, struct rowlock_parts *out,
                     struct rowlock_error *error);

#endif
