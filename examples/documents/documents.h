/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the loader share these: a document, the options, the inputs, the summary. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- a document: document.c, timestamp.c --------------------------------------------- */

#define DOCUMENT_LOCK "DocumentBO:"
/* What a lock's name of 255 bytes leaves for the id. */
#define DOCUMENT_ID_MAX (255 - (sizeof DOCUMENT_LOCK - 1))
/* A worker's memory must not grow with its input. */
#define DOCUMENT_BODY_MAX ((size_t)8 << 20)
#define DOCUMENT_REASON 512

/* Its id and time are the texts of the first element of each local name, whatever its namespace. */
struct document {
    char id[DOCUMENT_ID_MAX + 1];
    int64_t time;     /* microseconds since 1970 UTC, so that "newer" is exact on every engine */
    const char *body; /* the text as it came, in its own encoding */
    size_t length;    /* of the body */
};

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

/* ---- options: main.c ----------------------------------------------------------------- */

struct options {
    char *url; /* a copy: the one in argv is overwritten, it may hold a password */
    unsigned workers;
    const char *id_element, *time_element;
    const char *report;
    uint64_t generate, seed; /* generate 0: `paths` */
    char *const *paths;      /* ends with NULL */
    int verify, no_lock, empty;
};

/* ---- inputs: input.c, generate.c ----------------------------------------------------- */

/* Documents have numbers from 0. */
struct inputs {
    const struct options *options;
    uint64_t count;
    char **paths;    /* NULL: they are generated */
    bool incomplete; /* a folder could not be read; its name was printed */
};

/* Lists the files below the paths. 0, or -1: out of memory. */
int inputs_find(struct inputs *inputs, const struct options *options);
void inputs_free(struct inputs *inputs);
/* Writes a line on a document: its name, `between`, and the reason. Control characters are written
   as \xNN, so that no name can forge a line. */
void input_print(FILE *out, const struct inputs *inputs, uint64_t number, const char *between,
                 const char *reason);

/* Reads documents, one at a time. */
struct reader {
    const struct inputs *inputs;
    struct extractor *extractor; /* an XML parser, used again for every document */
    char *text;
};

enum input { INPUT_OK, INPUT_REFUSED, INPUT_FAILED };

bool reader_open(struct reader *reader, const struct inputs *inputs); /* false: out of memory */
void reader_close(struct reader *reader);
/* A document, which lasts until the next one; or why it is refused, or cannot be read. */
enum input reader_read(const struct reader *reader, uint64_t number, struct document *document,
                       char reason[DOCUMENT_REASON]);

#define GENERATE_MAX 1024 /* bytes of a generated document */

/* Writes generated document `number` and returns its length. The text depends on nothing else. */
size_t generate(const struct options *options, uint64_t number, char text[GENERATE_MAX]);

/* ---- loading: load.c, worker.c ------------------------------------------------------- */

enum verdict { CREATED, UPDATED, OLDER, REFUSED, VERDICTS };

/* The workers share this. */
struct load {
    const struct options *options;
    const struct inputs *inputs;
    int stop_fd; /* readable: stop, and roll back */
    FILE *report;
    _Atomic uint64_t next; /* the next document that no worker has taken */
    _Atomic uint64_t count[VERDICTS], lost;
};

/* Loads all documents, and prints the summary. 0: no work is left undone. */
int load(const struct options *options, const struct inputs *inputs, int stop_fd);
/* The thread of one worker. `load`: struct load. */
void *worker(void *load);
/*
 * Reads all inputs again, and looks up the newest version of each id in the table. Prints
 * `verified N` and `differs N` on stdout and the first differences on stderr. 0: equal; 1: it
 * differs or could not be compared. Other ids in the table belong to other programs.
 */
int verify(const struct options *options, const struct inputs *inputs, int stop_fd);

#endif
