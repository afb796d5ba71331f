/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document, and how its id and time are found in its text: the first element of each local name,
 * whatever its namespace.
 */
#ifndef DOCUMENTS_DOCUMENT_H
#define DOCUMENTS_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#define DOCUMENT_LOCK "DocumentBO:"
/* What a lock's name of 255 bytes leaves for the id. */
#define DOCUMENT_ID_MAX (255 - (sizeof DOCUMENT_LOCK - 1))
/* A worker's memory must not grow with its input. */
#define DOCUMENT_BODY_MAX ((size_t)8 << 20)
#define DOCUMENT_REASON 512

struct document {
    char id[DOCUMENT_ID_MAX + 1];
    int64_t time;     /* microseconds since 1970 UTC, so that "newer" is exact on every engine */
    const char *body; /* the text as it came, in its own encoding */
    size_t length;    /* of the body */
};

struct extractor; /* an XML parser, used again for every document */

/* Keeps the pointers: which elements hold id and time. NULL without memory. */
struct extractor *extractor_new(const char *id_element, const char *time_element);
void extractor_free(struct extractor *extractor);

/*
 * Parses all of `body`. 0 and the document (which points to `body`), or -1 and why it is refused.
 * External entities are never read, and expat's protection against entity bombs stays on.
 */
int extract(struct extractor *extractor, const char *body, size_t length, struct document *document,
            char reason[DOCUMENT_REASON]);

/*
 * YYYY-MM-DDThh:mm:ss[.fraction][Z|+hh:mm|-hh:mm], years 0001 to 9999, 24:00:00 allowed. Without a
 * zone it is UTC. Digits after the sixth of a fraction are cut off, never rounded: two versions
 * within one microsecond are the same instant. Returns NULL and sets `*microseconds` (since 1970
 * UTC), or returns the reason (static text).
 */
const char *timestamp_parse(const char *text, int64_t *microseconds);

#define TIMESTAMP_TEXT 80 /* 2014-01-15T09:57:00.000000Z, and room for any int */

/* In UTC, always with six digits of fraction. */
void timestamp_print(int64_t microseconds, char text[TIMESTAMP_TEXT]);

#endif
