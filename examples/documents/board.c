/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker may be killed between any two instructions, so every step under the lock leaves a state
 * that the next owner can mend: a hand is filled first, and only then the document counts as taken.
 */
#include "board.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t board_size(unsigned workers)
{
    return sizeof(struct board) + workers * sizeof(struct hand);
}

struct board *board_new(unsigned workers)
{
    pthread_mutexattr_t attributes;
    struct board *board =
        mmap(NULL, board_size(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED)
        return NULL;
    board->workers = workers;
    board->items_fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE | EFD_CLOEXEC);
    if (board->items_fd < 0) {
        munmap(board, board_size(workers));
        return NULL;
    }
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&board->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return board;
}

void board_free(struct board *board)
{
    if (!board)
        return;
    close(board->items_fd);
    munmap(board, board_size(board->workers));
}

/* The owner died: if its hand was filled and the head not yet moved, the document is taken. */
static void mend(struct board *board)
{
    for (unsigned i = 0; i < board->workers; i++) {
        struct hand *hand = &board->hands[i];

        if (hand->state == HAND_BUSY && hand->number == board->head) {
            board->head++;
            break;
        }
    }
    pthread_mutex_consistent(&board->lock);
}

static void lock(struct board *board)
{
    if (pthread_mutex_lock(&board->lock) == EOWNERDEAD)
        mend(board);
}

static void announce(struct board *board, uint64_t documents)
{
    ssize_t written = write(board->items_fd, &documents, sizeof documents);

    (void)written; /* fails only if the counter is full, and then no worker waits */
}

/* Far more than the workers can count down: from now on no worker waits. */
#define PLENTY (UINT64_C(1) << 62)

void board_generated(struct board *board, uint64_t n)
{
    lock(board);
    board->tail = n;
    board->closed = true;
    pthread_mutex_unlock(&board->lock);
    announce(board, PLENTY);
}

void board_close(struct board *board)
{
    lock(board);
    board->closed = true;
    pthread_mutex_unlock(&board->lock);
    announce(board, PLENTY);
}

bool board_put(struct board *board, const char *path)
{
    bool room;

    lock(board);
    board->paths = true;
    room = board->tail - board->head < BOARD_RING;
    if (room) {
        snprintf(board->ring[board->tail % BOARD_RING], PATH_MAX, "%s", path);
        board->tail++;
    }
    pthread_mutex_unlock(&board->lock);
    if (room)
        announce(board, 1);
    return room;
}

static void fill(const struct board *board, struct hand *hand)
{
    hand->number = board->head;
    hand->doubt = VERDICT_NONE;
    if (board->paths)
        memcpy(hand->path, board->ring[board->head % BOARD_RING],
               strlen(board->ring[board->head % BOARD_RING]) + 1);
    hand->state = HAND_BUSY;
}

enum board_take board_take(struct board *board, struct hand *hand)
{
    enum board_take result = BOARD_TAKEN;
    uint64_t count;

    if (!board->closed && read(board->items_fd, &count, sizeof count) < 0)
        return BOARD_EMPTY;
    lock(board);
    if (board->head < board->tail) {
        fill(board, hand);
        board->head++;
    } else {
        result = board->closed ? BOARD_END : BOARD_EMPTY;
    }
    pthread_mutex_unlock(&board->lock);
    return result;
}

void hand_finish(struct hand *hand, enum verdict verdict)
{
    hand->count[verdict]++;
    hand->deaths = 0;
    hand->state = HAND_EMPTY;
}

void hand_give_up(struct hand *hand)
{
    hand->undone++;
    hand->state = HAND_EMPTY;
}

uint64_t hand_read(const struct hand *hand)
{
    uint64_t sum = 0;

    for (int verdict = VERDICT_CREATED; verdict <= VERDICT_REFUSED; verdict++)
        sum += hand->count[verdict];
    return sum;
}
