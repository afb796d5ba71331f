/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of the sender of a request, to read and to act. */
#ifndef ROWLOCK_SERVE_ACCESS_H
#define ROWLOCK_SERVE_ACCESS_H

#include "show/serve/actions.h"
#include "show/serve/bodies.h"

/* The options of serve about users; the caller keeps them. */
struct access_options {
    const char *users;            /* NULL: no file, no logins, no actions */
    int may_act;                  /* --allow-actions */
    int must_log_in;              /* --require-login */
    const char *header, *proxies; /* the header with the user, and its senders; NULL */
};

struct access {
    struct access_options options;
    char cookie
        [32]; /* its name, which has the port: browsers send a cookie to each port of a host */
    struct sessions sessions;
};

/* Checks the options and the file of users. An exit status, with a message. */
int access_check(const struct access_options *options);

/* A request, as far as libmicrohttpd has read it. */
struct caller {
    const struct serve_library *library;
    struct MHD_Connection *connection;
};

/* A header; NULL: there is none. */
const char *caller_header(const struct caller *caller, const char *name);

/* Why a request is refused. */
struct refusal {
    unsigned status; /* of HTTP; 0: it is not */
    const char *why; /* NULL: the text of answer_error() */
};

/* A request that reads a document. */
struct refusal access_to_read(struct access *access, const struct caller *caller);
/* A request that acts; fills session and from of the order. */
struct refusal access_to_act(struct access *access, const struct caller *caller,
                             struct order *order);
/* The answer about the sender: its user, and what it may do. It has the token only if the sender
   has it already, or a proxy names the user: a cookie alone gets no token. The user
   that a trusted proxy names
   gets a session; `cookie` is set for a new one. */
void access_session(struct access *access, const struct caller *caller, struct answer *out);
/* Sets the cookie of an answer; an empty id removes it from the browser. */
void access_set_cookie(const struct access *access, const struct caller *caller, const char *id,
                       struct answer *out);

#endif
