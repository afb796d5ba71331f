/* SPDX-License-Identifier: Apache-2.0 */
#include "system/random.h"

#include <errno.h>
#include <sys/random.h>

int rowlock__random_bytes(void *out, size_t n)
{
    unsigned char *at = out;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    return 0;
}
