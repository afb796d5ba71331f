/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user and the password for an ODBC or JDBC URL that names none. They come from the
 * environment, because other users could read a password in a connection string. ROWLOCK_USER is
 * the user; ROWLOCK_PASSWORD_FILE is the path of a file whose first line is the password.
 */
#ifndef ROWLOCK_CREDENTIALS_H
#define ROWLOCK_CREDENTIALS_H

#include "rowlock.h"

struct rowlock_credentials {
    char *user, *password; /* NULL: not given */
};

/* Reads both. Fails with EDENIED if the file cannot be read, is longer than 1023 bytes, or if
   others can read or change it (util/secret_file.h), or with ENOMEM. On success the caller frees
   `out`; otherwise it is as before. */
int rowlock__credentials(struct rowlock_credentials *out, struct rowlock_error *error);
/* Overwrites the password before it frees it. The members are NULL then. */
void rowlock__credentials_free(struct rowlock_credentials *credentials);

/* Replaces each occurrence of the password, `length` bytes, in `text` by asterisks; NULL: none. A
   password of one or two bytes stays: it could not be distinguished from the text. */
void rowlock__hide_password(char *text, const char *password, size_t length);

#endif
