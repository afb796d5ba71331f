/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the loader share these: the options, the inputs, the summary. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "document.h"

struct rowlock_connection;
struct rowlock_error;
struct store;

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

enum input_result { INPUT_OK, INPUT_TOO_LONG, INPUT_FAILED };

#define INPUT_ROOM (DOCUMENT_BODY_MAX + 1) /* bytes for the text of any document */

/* Lists the files below the paths. 0, or -1: out of memory. */
int inputs_find(struct inputs *inputs, const struct options *options);
void inputs_free(struct inputs *inputs);
/* The text of a document into `text`, INPUT_ROOM bytes. INPUT_FAILED: see errno. */
enum input_result input_read(const struct inputs *inputs, uint64_t number, char *text,
                             size_t *length);
/* Writes a line on a document: its name, `between`, and the reason. Control characters are written
   as \xNN, so that no name can forge a line. */
void input_print(FILE *out, const struct inputs *inputs, uint64_t number, const char *between,
                 const char *reason);

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
/* Opens the database, and the store on it. */
int database_open(const struct options *options, int stop_fd,
                  struct rowlock_connection **connection, struct store *store,
                  struct rowlock_error *error);

/*
 * Reads all inputs again, and looks up the newest version of each id in the table. Prints
 * `verified N` and `differs N` on stdout and the first differences on stderr. 0: equal; 1: it
 * differs or could not be compared. Other ids in the table belong to other programs.
 */
int verify(const struct options *options, const struct inputs *inputs, int stop_fd);

#endif
