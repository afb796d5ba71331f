/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board between the parent and its workers, in shared memory of a fixed size. It has the
 * remaining documents, and the document that each worker has in hand. Workers take the next
 * document when they are ready for it, so that a slow worker delays no other. If a worker is
 * killed, its successor finds the document in its hand.
 */
#ifndef DOCUMENTS_BOARD_H
#define DOCUMENTS_BOARD_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BOARD_RING 128
#define BOARD_WORKERS_MAX 256

enum verdict { VERDICT_NONE, VERDICT_CREATED, VERDICT_UPDATED, VERDICT_OLDER, VERDICT_REFUSED };

enum hand_state { HAND_EMPTY, HAND_BUSY };

struct hand {
    _Atomic int state; /* enum hand_state */
    uint64_t number;   /* of the document: it counts from 0 */
    _Atomic int doubt; /* enum verdict: a COMMIT was sent, and its reply was lost */
    unsigned deaths;   /* of workers, one after the other, without a document finished */
    _Atomic uint64_t count[VERDICT_REFUSED + 1];
    _Atomic uint64_t undone;   /* could not be read, or the database would not take them */
    _Atomic uint64_t lost;     /* connections */
    _Atomic uint64_t peak_kib; /* of this worker's memory, known when it ends */
    char path[PATH_MAX];       /* empty: a generated document */
};

struct board {
    unsigned workers;
    pthread_mutex_t lock; /* robust: its owner may be killed at any instant */
    uint64_t head, tail;  /* documents taken, documents put up */
    atomic_bool closed;   /* no more will be put up */
    bool paths;           /* they are files: the ring holds their paths */
    int items_fd;         /* a semaphore: one count a document put up */
    char ring[BOARD_RING][PATH_MAX];
    struct hand hands[];
};

enum board_take { BOARD_TAKEN, BOARD_EMPTY, BOARD_END };

/* NULL and errno on failure. */
struct board *board_new(unsigned workers);
void board_free(struct board *board);

/* Puts `n` generated documents up at once, and closes the board. */
void board_generated(struct board *board, uint64_t n);
/* false: full, try again later. */
bool board_put(struct board *board, const char *path);
void board_close(struct board *board);

/* Takes the next document into the hand. */
enum board_take board_take(struct board *board, struct hand *hand);
/* The document in hand is done, whatever the verdict. */
void hand_finish(struct hand *hand, enum verdict verdict);
/* It is not done, and no worker will retry it. */
void hand_give_up(struct hand *hand);

uint64_t hand_read(const struct hand *hand);

#endif
