/* SPDX-License-Identifier: Apache-2.0 */
/* A list that a verb prints: a table for people, or an array of JSON. It is collected first, so
   that a list that fails half-way prints nothing. */
#ifndef ROWLOCK_LISTING_H
#define ROWLOCK_LISTING_H

#include <stdio.h>

#include "command/output/table.h"

struct listing {
    int json;
    int failed; /* no memory for a row */
    size_t n;   /* items so far */
    struct table table;
    FILE *out; /* collects the text */
    char *text;
    size_t size;
};

/* Both return an exit status, after a message. */
int listing_open(struct listing *listing);
/* Prints the JSON, or the table. */
int listing_print(struct listing *listing);

/* Begins the next item of the array: the caller writes its "{" next. */
FILE *listing_next(struct listing *listing);
/* Ends the array. */
void listing_end(struct listing *listing);
/* Prints the collected text unchanged. */
void listing_write(struct listing *listing);
/* Whether there is no item and no row. */
int listing_is_empty(const struct listing *listing);

void listing_free(struct listing *listing);

#endif
