/* SPDX-License-Identifier: Apache-2.0 */
/* The one rule for files with a URL or a password: they belong to this user or to root, and no
   other user can read or change them; but the group of a file of root may read it. */
#ifndef ROWLOCK_SECRET_FILE_H
#define ROWLOCK_SECRET_FILE_H

#include <sys/stat.h>

enum rowlock_secret_file {
    ROWLOCK_SECRET_SAFE,
    ROWLOCK_SECRET_OPEN,    /* others can read or change it */
    ROWLOCK_SECRET_FOREIGN, /* it belongs to neither this user nor root: its owner can change it */
};

/* Judges a file by its owner and mode. The caller calls fstat() on the descriptor that it reads,
   because a path may lead to another file by then. */
enum rowlock_secret_file rowlock__secret_file(const struct stat *is);

#endif
