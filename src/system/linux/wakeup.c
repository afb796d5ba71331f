/* SPDX-License-Identifier: Apache-2.0 */
#include "system/wakeup.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int rowlock__wakeup_open(struct rowlock_wakeup *wakeup)
{
    wakeup->fd = wakeup->sender = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wakeup->fd < 0 ? -1 : 0;
}

void rowlock__wakeup_close(struct rowlock_wakeup *wakeup)
{
    if (wakeup->fd >= 0)
        close(wakeup->fd);
    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
}

void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup)
{
    static const uint64_t one = 1;

    while (write(wakeup->sender, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup)
{
    uint64_t times = 0;

    while (read(wakeup->fd, &times, sizeof times) < 0 && errno == EINTR)
        continue;
    return times;
}
