/* SPDX-License-Identifier: Apache-2.0 */
#include "system/file.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000 /* of Linux 5.8; the headers may be older */
#endif

bool rowlock__is_mounted_alone(const char *path)
{
    struct statx is;

    return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &is) == 0 && S_ISREG(is.stx_mode) &&
           (is.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}
