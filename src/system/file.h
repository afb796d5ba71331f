/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file is. */
#ifndef ROWLOCK_SYSTEM_FILE_H
#define ROWLOCK_SYSTEM_FILE_H

#include <stdbool.h>

/* Whether a mount shows this file alone, without its folder (mount --bind FILE). False with POSIX
   alone, before Linux 5.8, and if the file cannot be found. */
bool rowlock__is_mounted_alone(const char *path);

#endif
