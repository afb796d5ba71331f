/* SPDX-License-Identifier: Apache-2.0 */
#include "system/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MASK_TYPE 0x1u                 /* STATX_TYPE */
#define AT_MOUNT_ROOT UINT64_C(0x2000) /* STATX_ATTR_MOUNT_ROOT, of Linux 5.8 */

/* The beginning of struct statx. musl has neither it nor the function before 1.2.5. */
union status {
    struct {
        uint32_t mask, block_size;
        uint64_t attributes;
        uint32_t links, uid, gid;
        uint16_t mode;
    } is;
    char all[256];
};

bool rowlock__is_mounted_alone(const char *path)
{
    union status status;

    return syscall(SYS_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT, MASK_TYPE, &status) == 0 &&
           S_ISREG(status.is.mode) && (status.is.attributes & AT_MOUNT_ROOT);
}
