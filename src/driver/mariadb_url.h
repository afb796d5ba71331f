/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of mysql://user:password@host:port/database?option=value&..., percent-decoded.
 *
 * A host that begins with / (as %2F) is the path of a Unix socket, as is socket=. The options:
 * socket, default-file, default-group, ssl, ssl-ca, ssl-capath, ssl-cert, ssl-key, ssl-cipher,
 * ssl-verify-server-cert, tls-version. Missing parts come from the option file if one is named,
 * else from libmariadb's defaults.
 */
#ifndef ROWLOCK_MARIADB_URL_H
#define ROWLOCK_MARIADB_URL_H

#include "rowlock.h"

/* The texts are malloc'd, and belong to it. */
struct rowlock__mariadb_url {
    char *user, *password, *host, *database, *socket; /* NULL: not given */
    char *default_file, *default_group;
    char *ssl_ca, *ssl_capath, *ssl_cert, *ssl_key, *ssl_cipher, *tls_version;
    unsigned port;  /* 0: not given */
    int ssl;        /* 1: require TLS, 0: no TLS, -1: not given */
    int ssl_verify; /* of the server's certificate; 1, 0 or -1 as ssl */
};

/* Parses the URL into `*out`, which the caller frees. EINVAL, with a text without the user,
   password and options' values; ENOMEM. */
int rowlock__mariadb_url(const char *url, struct rowlock__mariadb_url **out,
                         struct rowlock_error *error);

/* Overwrites the password first. Accepts NULL. */
void rowlock__mariadb_url_free(struct rowlock__mariadb_url *url);

#endif
