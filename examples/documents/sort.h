/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts more versions than memory holds: runs in temporary files, merged when read. */
#ifndef DOCUMENTS_SORT_H
#define DOCUMENTS_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document.h"

struct entry {
    int64_t time;
    uint64_t digest; /* of the body */
    uint16_t length;
    char id[DOCUMENT_ID_MAX];
};

struct sorter;

struct sorter *sorter_new(void);
void sorter_free(struct sorter *sorter);
/* false: not enough memory, or no space for temporary files. */
bool sorter_add(struct sorter *sorter, const struct entry *entry);
/* No more will be added. */
bool sorter_start(struct sorter *sorter);
/* The next by id, then time; NULL at the end. Valid until the next call. */
const struct entry *sorter_next(struct sorter *sorter);
/* A temporary file could not be read back, so entries are missing. */
bool sorter_failed(const struct sorter *sorter);

/* By the bytes of the ids. */
int entry_compare_ids(const struct entry *a, const struct entry *b);

#endif
