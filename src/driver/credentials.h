/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user and the password of a URL that has none: from the environment, because a connection
 * string would show the password to others. ROWLOCK_USER is the user; ROWLOCK_PASSWORD_FILE is the
 * path of a file whose first line is the password.
 */
#ifndef ROWLOCK_CREDENTIALS_H
#define ROWLOCK_CREDENTIALS_H

#include "rowlock.h"

struct rowlock_credentials {
    char *user, *password; /* NULL: not given */
};

/* EDENIED if the file cannot be read, or others can read it; ENOMEM. On success free them. */
int rowlock__credentials(struct rowlock_credentials *out, struct rowlock_error *error);
/* Overwrites the password first. */
void rowlock__credentials_free(struct rowlock_credentials *credentials);

/* Replaces each occurrence of the password in `text` by asterisks. A password of one or two
   characters stays: it could not be distinguished from the text. */
void rowlock__hide_password(char *text, const char *password, size_t length);

#endif
