/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command line. */
#ifndef DOCUMENTS_OPTIONS_H
#define DOCUMENTS_OPTIONS_H

#include <stdbool.h>

#include "generate.h"

#define EXIT_USAGE 64

struct options {
    char *url; /* a copy: the one in argv is overwritten, it may hold a password */
    unsigned workers;
    const char *id_element, *time_element;
    const char *report;
    struct generator generator; /* documents 0: `paths` */
    char *const *paths;         /* ends with NULL */
    bool verify, no_lock, empty;
};

/* Exits after --help, and after an error in the options. */
void options_parse(struct options *options, int argc, char **argv);

#endif
