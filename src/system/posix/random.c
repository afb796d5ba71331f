/* SPDX-License-Identifier: Apache-2.0 */
/* By /dev/urandom, which POSIX does not require, but every Unix has. */
#include "system/random.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int rowlock__random_bytes(void *out, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    unsigned char *at = out;
    ssize_t got = 1;

    if (fd < 0)
        return -1;
    while (n > 0 && got != 0) {
        got = read(fd, at, n);
        if (got < 0 && errno != EINTR)
            break;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    close(fd);
    return n > 0 ? -1 : 0;
}
