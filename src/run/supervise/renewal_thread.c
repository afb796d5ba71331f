/* SPDX-License-Identifier: Apache-2.0 */
/* The renewal thread: while the command runs, it alone uses the connection. */
#include <errno.h>
#include <unistd.h>

#include "run/supervise/supervise.h"
#include "system/command/calls.h"

static int receive(int fd, char *byte)
{
    ssize_t got;

    while ((got = read(fd, byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

static int send_byte(int fd, char byte)
{
    ssize_t sent;

    while ((sent = write(fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    return sent == 1;
}

/* While we were stopped, a stand-in may have renewed the lease; the database shows
   whether it did. */
static int adopt_again(struct keeper *keeper)
{
    struct holding *holding = keeper->holding;
    struct rowlock_lease *fresh = NULL;
    int code;

    if (!keeper->overslept || !holding->lease || rowlock_remaining(holding->lease) > 0)
        return ROWLOCK_OK;
    code = rowlock_adopt(holding->connection, keeper->name, rowlock_token(holding->lease), &fresh,
                         &keeper->error);
    if (code)
        return code;
    rowlock_lease_free(holding->lease);
    holding->lease = fresh;
    holding->renew_ms = keeper->ttl_ms;
    return ROWLOCK_OK;
}

static int answer_to(struct keeper *keeper, char question)
{
    const struct holding *holding = keeper->holding;
    struct rowlock_error *error = &keeper->error;
    int code = adopt_again(keeper);

    if (code && question == KEEPER_KEEP)
        return code;
    if (question == KEEPER_END && holding->give_back)
        return holding->give_back(holding, &keeper->ending, error);
    if (question == KEEPER_END)
        return holding->lease ? rowlock_release(holding->lease, error)
                              : rowlock_commit(holding->connection, error);
    return holding->lease ? rowlock_renew(holding->lease, holding->renew_ms, error)
                          : rowlock_ping(holding->connection, error);
}

static void *keep(void *data)
{
    struct keeper *keeper = data;
    char question;

    while (receive(keeper->thread_fd, &question)) {
        keeper->code = answer_to(keeper, question);
        if (!send_byte(keeper->thread_fd, 'a'))
            break;
    }
    return NULL;
}

int keeper_start(struct keeper *keeper, struct holding *holding, const struct lock_options *lock)
{
    int pair[2];

    *keeper = (struct keeper){.holding = holding,
                              .name = lock->wants[0].name,
                              .ttl_ms = lock->ttl_ms,
                              .fd = -1,
                              .thread_fd = -1};
    if (stream_pair(pair))
        return -1;
    keeper->fd = pair[0];
    keeper->thread_fd = pair[1];
    keeper->started = pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    return keeper->started ? 0 : -1;
}

void keeper_ask(struct keeper *keeper, enum question question)
{
    keeper->asking = send_byte(keeper->fd, (char)question);
}

int keeper_answer(struct keeper *keeper)
{
    char byte;

    if (!receive(keeper->fd, &byte))
        keeper->code = ROWLOCK_ECONN;
    keeper->asking = 0;
    return keeper->code;
}

void keeper_stop(struct keeper *keeper)
{
    if (keeper->fd >= 0)
        close(keeper->fd);
    if (keeper->started)
        pthread_join(keeper->thread, NULL);
    if (keeper->thread_fd >= 0)
        close(keeper->thread_fd);
}
