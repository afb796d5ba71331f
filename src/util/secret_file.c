/* SPDX-License-Identifier: Apache-2.0 */
#include "util/secret_file.h"

#include <unistd.h>

/* A file of root may be readable by its group, because root has chosen that group. */
enum rowlock_secret_file rowlock__secret_file(const struct stat *is)
{
    mode_t shared = is->st_uid == 0 ? S_IRGRP : 0;

    if (is->st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) & ~shared)
        return ROWLOCK_SECRET_OPEN;
    return is->st_uid == 0 || is->st_uid == geteuid() ? ROWLOCK_SECRET_SAFE
                                                      : ROWLOCK_SECRET_FOREIGN;
}
