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

/* Fails with EDENIED if the file cannot be read, or if others can read it, or with ENOMEM. On
   success the caller frees `out`. */
int rowlock__credentials(struct rowlock_credentials *out, struct rowlock_error *error);
/* Overwrites the password before it frees it. */
void rowlock__credentials_free(struct rowlock_credentials *credentials);

/* Replaces each occurrence of the password in `text` by asterisks. A password of one or two
   characters stays: it could not be distinguished from the text. */
void rowlock__hide_password(char *text, const char *password, size_t length);

#endif
