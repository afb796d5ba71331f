/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a path: a document, or a file of this program. It does not know HTTP's
   connections. */
#ifndef ROWLOCK_SERVE_ANSWER_H
#define ROWLOCK_SERVE_ANSWER_H

#include <stddef.h>
#include <stdio.h>

#include "show/serve/source.h"

/* Reads a request: its parameters and its header Host, which anybody may have written. */

#define REQUEST_NAME 256 /* bytes of a parameter, with the zero byte */

/* Decodes %XX. 0; -1: it is malformed, too long, not UTF-8, or has a zero byte. NULL: "". */
int request_decode(const char *text, char *out, size_t size);

/* Whether the header Host names this machine. A page of another site whose host name was rebound to
   127.0.0.1 sends the name of that site. NULL: there is no header. */
int request_host_is_local(const char *host);

struct route; /* a path that serve answers; a row of the table in answer.c */

/* A request, without what HTTP adds to it. */
struct question {
    const struct route *route;
    char name[REQUEST_NAME];
    int may_be_old; /* the last data counts, whatever its age */
    int may_probe;  /* on this database `ls NAME` does not lock the name */
};

/* The answer of HTTP, without its headers. */
struct answer {
    unsigned status;  /* of HTTP */
    const char *type; /* of the content; a constant */
    char *body;       /* NULL: no memory */
    size_t size;
    int64_t age_s;     /* of the data, for the header Age; < 0: without this header */
    const char *allow; /* the header Allow of status 405; NULL: GET and HEAD */
    char cookie[160];  /* the header Set-Cookie; "": none */
    int is_static;     /* the body is not malloc'd: it belongs to this program, or to `shown` */
    int is_styled;     /* it is a picture with a style of its own */
};

/* The route of a path, without its parameters, such as "/jobs". NULL: there is no such document. */
const struct route *answer_route(const char *path);
/* Whether the answer is written from views, and from which view besides VIEW_ALL. */
int answer_needs_views(const struct question *question);
enum view_kind answer_detail(const struct question *question);

/* Writes the answer; the caller frees its body unless it is static. `shown` is NULL if the answer
   needs no views. */
void answer_write(const struct question *question, const struct shown *shown, struct answer *out);
/* An object with this error. */
void answer_text(unsigned status, const char *text, struct answer *out);
/* The same, with our text for the status 400, 404, 405, 413, 414, 421 or 503. */
void answer_error(unsigned status, struct answer *out);
/* For a path without a route: the page, which reports it; below /api an object. */
void answer_missing(const char *path, struct answer *out);

/* Writes the document of the first page from shown->all. Nonzero: no memory. */
int overview_write(FILE *out, const struct shown *shown);

/* The files of src/show/serve/assets, which tools/embed-files turns into data. */

struct asset {
    const char *name; /* the file's name */
    const char *data;
    size_t size;
};
extern const struct asset serve_assets[]; /* ends with a NULL name */

#endif
