/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/timer.h"

#include <sys/timerfd.h>
#include <time.h>

int timer_descriptor(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void timer_set(int fd, int64_t at_ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = 0}};

    if (at_ms < 1)
        at_ms = 1; /* 0 would stop the timer */
    if (at_ms != INT64_MAX)
        when.it_value =
            (struct timespec){.tv_sec = (time_t)(at_ms / 1000), .tv_nsec = at_ms % 1000 * 1000000};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}
