/* SPDX-License-Identifier: Apache-2.0 */
/* Reads on a thread of its own, so that keys work while the database does not answer. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command/url_lookup.h"
#include "show/top/top.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/thread.h"

#define ANSWER_MS 10000

struct reader {
    pthread_t thread;
    pthread_mutex_t mutex; /* protects everything below */
    int64_t interval_ms;
    struct top_choice choice;
    struct top_data data; /* read_ms 0: none that is new */
    char why[512];
    int is_paused, is_asked; /* is_asked: it must read at once */
    struct rowlock_wakeup stop, ask, new;
    struct rowlock_connection *connection; /* only the thread uses it */
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void look(struct reader *reader)
{
    struct rowlock_options options = {
        .connect_ms = ANSWER_MS, .statement_ms = ANSWER_MS, .interrupt_fd = reader->stop.fd};
    struct rowlock_error error = {0};
    struct top_data data = {0};
    struct top_choice choice;
    int code = ROWLOCK_OK;

    pthread_mutex_lock(&reader->mutex);
    choice = reader->choice;
    pthread_mutex_unlock(&reader->mutex);
    if (!reader->connection)
        code = open_database(&options, &reader->connection, &error);
    if (!code)
        code = top_read(reader->connection, &choice, &data, &error);
    if (code) { /* the next read opens it again */
        rowlock_close(reader->connection);
        reader->connection = NULL;
    }
    pthread_mutex_lock(&reader->mutex);
    if (code) {
        snprintf(reader->why, sizeof reader->why, "%s", error.text);
    } else {
        top_data_free(&reader->data);
        reader->data = data;
        reader->why[0] = '\0';
    }
    pthread_mutex_unlock(&reader->mutex);
    rowlock__wakeup_send(&reader->new);
}

/* Waits until it is time to read. 0: the reader is being closed. */
static int await(struct reader *reader, int64_t next_ms)
{
    struct pollfd fds[] = {{.fd = reader->stop.fd, .events = POLLIN},
                           {.fd = reader->ask.fd, .events = POLLIN}};

    for (;;) {
        int64_t left = next_ms - rowlock__now_ms();
        int paused, asked;

        pthread_mutex_lock(&reader->mutex);
        paused = reader->is_paused;
        asked = reader->is_asked;
        reader->is_asked = 0;
        pthread_mutex_unlock(&reader->mutex);
        if (asked || (!paused && left <= 0))
            return 1;
        poll(fds, 2, paused ? -1 : (int)rowlock__least(left, 3600000));
        if (fds[0].revents)
            return 0;
        if (fds[1].revents)
            rowlock__wakeup_take(&reader->ask);
    }
}

static void *read_on(void *data)
{
    struct reader *reader = data;
    int64_t next_ms = rowlock__now_ms();

    while (await(reader, next_ms)) {
        next_ms = rowlock__now_ms() + reader->interval_ms;
        look(reader);
    }
    rowlock_close(reader->connection);
    return NULL;
}

/* ---- the caller's side ----------------------------------------------------------------------- */

static void free_reader(struct reader *reader)
{
    rowlock__wakeup_close(&reader->stop);
    rowlock__wakeup_close(&reader->ask);
    rowlock__wakeup_close(&reader->new);
    top_data_free(&reader->data);
    pthread_mutex_destroy(&reader->mutex);
    free(reader);
}

struct reader *reader_open(int64_t interval_ms, const struct top_choice *choice)
{
    struct reader *reader = calloc(1, sizeof *reader);
    int failed;

    if (!reader)
        return NULL;
    pthread_mutex_init(&reader->mutex, NULL);
    reader->interval_ms = interval_ms;
    reader->choice = *choice;
    failed = rowlock__wakeup_open(&reader->stop);
    failed |= rowlock__wakeup_open(&reader->ask);
    failed |= rowlock__wakeup_open(&reader->new);
    if (!failed && rowlock__thread_start(&reader->thread, read_on, reader) == 0)
        return reader;
    free_reader(reader);
    return NULL;
}

int reader_fd(const struct reader *reader)
{
    return reader->new.fd;
}

void reader_take(struct reader *reader, struct top_data *data, char *why, size_t size)
{
    rowlock__wakeup_take(&reader->new);
    pthread_mutex_lock(&reader->mutex);
    if (reader->data.read_ms) {
        top_data_free(data);
        *data = reader->data;
        reader->data = (struct top_data){0};
    }
    snprintf(why, size, "%s", reader->why);
    pthread_mutex_unlock(&reader->mutex);
}

void reader_choose(struct reader *reader, const struct top_choice *choice)
{
    pthread_mutex_lock(&reader->mutex);
    reader->choice = *choice;
    reader->is_asked = 1;
    pthread_mutex_unlock(&reader->mutex);
    rowlock__wakeup_send(&reader->ask);
}

void reader_pause(struct reader *reader, int is_paused)
{
    pthread_mutex_lock(&reader->mutex);
    reader->is_paused = is_paused;
    reader->is_asked |= !is_paused;
    pthread_mutex_unlock(&reader->mutex);
    rowlock__wakeup_send(&reader->ask);
}

void reader_close(struct reader *reader)
{
    rowlock__wakeup_send(&reader->stop);
    pthread_join(reader->thread, NULL);
    free_reader(reader);
}
