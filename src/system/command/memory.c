/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/memory.h"

#include <sys/mman.h>
#include <unistd.h>

int shared_memory(size_t size)
{
    int fd = memfd_create("rowlock", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
