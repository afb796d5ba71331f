/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines that saturate, waits for file descriptors, pauses that grow. */
#include <poll.h>
#include <unistd.h>

#include "lib/test.h"
#include "util/clock.h"

TEST(a_deadline_saturates)
{
    t_int(rowlock__after(100, 50), 150);
    t_int(rowlock__after(100, 0), 100);
    t_int(rowlock__after(100, -1), ROWLOCK_NEVER);
    t_int(rowlock__after(100, INT64_MAX), ROWLOCK_NEVER);
    t_int(rowlock__after(ROWLOCK_NEVER, 1), ROWLOCK_NEVER);
    t_true(rowlock__now_ms() <= rowlock__now_ms());
}

TEST(what_is_ready_is_reported_and_the_interrupt_wins)
{
    int data[2], interrupt[2];

    t_int(pipe(data), 0);
    t_int(pipe(interrupt), 0);
    t_int(rowlock__wait_fd(data[0], POLLIN, interrupt[0], 0), ROWLOCK_WAKE_DEADLINE);
    t_int(rowlock__wait_fd(data[0], POLLIN, interrupt[0], rowlock__now_ms() + 20),
          ROWLOCK_WAKE_DEADLINE);
    t_int(write(data[1], "!", 1), 1);
    t_int(rowlock__wait_fd(data[0], POLLIN, interrupt[0], ROWLOCK_NEVER), ROWLOCK_WAKE_READY);
    t_int(write(interrupt[1], "!", 1), 1);
    t_int(rowlock__wait_fd(data[0], POLLIN, interrupt[0], ROWLOCK_NEVER), ROWLOCK_WAKE_INTERRUPT);
    t_int(rowlock__wait_fd(-1, 0, interrupt[0], ROWLOCK_NEVER), ROWLOCK_WAKE_INTERRUPT);
    for (int i = 0; i < 2; i++) {
        close(data[i]);
        close(interrupt[i]);
    }
}

TEST(pauses_grow_to_their_limit_and_end_at_the_deadline)
{
    struct rowlock_pause pause = {.next_ms = 1, .most_ms = 4};
    int64_t began = rowlock__now_ms();

    for (int i = 0; i < 8; i++)
        t_int(rowlock__pause(&pause, -1, ROWLOCK_NEVER), ROWLOCK_WAKE_READY);
    t_int(pause.next_ms, 4);
    t_true(rowlock__now_ms() - began >= 8);
    t_int(rowlock__pause(&pause, -1, rowlock__now_ms()), ROWLOCK_WAKE_DEADLINE);
}
