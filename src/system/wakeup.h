/* SPDX-License-Identifier: Apache-2.0 */
/* Wakes a thread or process that waits by poll(). */
#ifndef ROWLOCK_SYSTEM_WAKEUP_H
#define ROWLOCK_SYSTEM_WAKEUP_H

#include <stdint.h>

struct rowlock_wakeup {
    int fd;     /* readable: it was sent, and not taken yet */
    int sender; /* the same descriptor, or the other end of a pipe */
};

#define ROWLOCK_NO_WAKEUP \
    {                     \
        -1, -1            \
    }

/* The descriptors do not block, and end with exec. 0; or -1 with errno, and ROWLOCK_NO_WAKEUP. */
int rowlock__wakeup_open(struct rowlock_wakeup *wakeup);

/* Does nothing if it is not open. */
void rowlock__wakeup_close(struct rowlock_wakeup *wakeup);

void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup);

/* How often it was sent since the last call; 0: never. If several threads take, only one of them
   receives each wake-up. */
uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup);

#endif
