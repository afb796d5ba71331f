/* SPDX-License-Identifier: Apache-2.0 */
/* By a pipe. A full pipe is readable already, so a byte that it does not take is not missed. */
#include "system/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "system/descriptors.h"

int rowlock__wakeup_open(struct rowlock_wakeup *wakeup)
{
    int ends[2];

    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
    if (rowlock__pipe(ends))
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *wakeup = (struct rowlock_wakeup){.fd = ends[0], .sender = ends[1]};
    return 0;
}

void rowlock__wakeup_close(struct rowlock_wakeup *wakeup)
{
    if (wakeup->fd >= 0) {
        close(wakeup->fd);
        close(wakeup->sender);
    }
    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
}

void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup)
{
    while (write(wakeup->sender, "", 1) < 0 && errno == EINTR)
        continue;
}

uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup)
{
    uint64_t times = 0;
    char bytes[64];
    ssize_t got;

    while ((got = read(wakeup->fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            times += (uint64_t)got;
    return times;
}
