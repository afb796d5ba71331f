/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes the command's output through, and keeps its end. One thread per stream: a slow reader of
 * our output delays the command, as it would without us, but neither signals nor renewals.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command/command.h"
#include "run/supervise/pass_output.h"
#include "system/system.h"
#include "util/utf8.h"

#define PIECE PIPE_BUF      /* a pipe that poll() calls writable takes this much without blocking */
#define REST_MOST (1 << 20) /* read after the command's end: a pipe holds no more */
#define DRAIN_SECONDS 2     /* for a thread that is still stuck in a write() */

/* ---- before ---------------------------------------------------------------------------------- */

static int open_stream(struct output *output, int to)
{
    struct stream *stream = &output->streams[output->n];
    int pair[2];

    if (rowlock__pipe(pair))
        return -1;
    *stream = (struct stream){.output = output, .from = pair[0], .into = pair[1], .to = to};
    output->n++;
    return 0;
}

int output_open(struct output *output, int only_errors, const char *prefix)
{
    struct stat out, error;
    int one_file = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
                   out.st_dev == error.st_dev && out.st_ino == error.st_ino;

    *output = (struct output){.only_errors = only_errors && !one_file,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .drained = PTHREAD_COND_INITIALIZER,
                              .stop = ROWLOCK_NO_WAKEUP,
                              .done = ROWLOCK_NO_WAKEUP};
    if (rowlock__wakeup_open(&output->stop) || rowlock__wakeup_open(&output->done) ||
        (!output->only_errors && open_stream(output, STDOUT_FILENO)))
        return -1;
    if (!one_file && open_stream(output, STDERR_FILENO))
        return -1;
    for (int i = 0; i < output->n; i++)
        output->streams[i].prefix.name = prefix;
    return 0;
}

int output_become(const struct output *output)
{
    return (!output->only_errors && dup2(output->streams[0].into, STDOUT_FILENO) < 0) ||
           dup2(output->streams[output->n - 1].into, STDERR_FILENO) < 0;
}

/* ---- a thread -------------------------------------------------------------------------------- */

static void keep_end(struct output *output, const char *bytes, size_t n)
{
    pthread_mutex_lock(&output->lock);
    for (size_t i = n > OUTPUT_KEPT ? n - OUTPUT_KEPT : 0; i < n; i++)
        output->tail[(output->total + i) % OUTPUT_KEPT] = bytes[i];
    output->total += n;
    pthread_mutex_unlock(&output->lock);
}

/* Waits until `fd` is ready. Returns 0 if the command ended first. */
static int await_fd(const struct stream *stream, int fd, short events)
{
    struct pollfd fds[] = {{.fd = stream->output->stop.fd, .events = POLLIN},
                           {.fd = fd, .events = events}};

    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    return !fds[0].revents;
}

/* Output that we cannot pass on is lost. The command continues: the failure is not its own. */
static ssize_t put(struct stream *stream, const char *bytes, size_t n)
{
    ssize_t written;

    if (stream->broken)
        return (ssize_t)n;
    while ((written = write(stream->to, bytes, n)) < 0 && errno == EINTR)
        ;
    if (written >= 0)
        return written;
    if (errno == EAGAIN) { /* the caller's descriptor does not block: we wait for it */
        struct pollfd fd = {.fd = stream->to, .events = POLLOUT};

        poll(&fd, 1, -1);
        return 0;
    }
    stream->broken = 1;
    message("cannot pass the command's output on: %s", strerror(errno));
    return (ssize_t)n;
}

/* Passes on whole lines, as far as one write takes them without blocking. Returns how many bytes it
   passed on before the command ended. */
static size_t pass_on(struct stream *stream, const char *bytes, size_t n)
{
    size_t at = 0;

    while (at < n && await_fd(stream, stream->to, POLLOUT)) {
        size_t piece = n - at;
        const char *end = piece > PIECE ? memrchr(bytes + at, '\n', PIECE) : NULL;

        if (piece > PIECE)
            piece = end ? (size_t)(end + 1 - (bytes + at)) : PIECE;
        at += (size_t)put(stream, bytes + at, piece);
    }
    return at;
}

/* Output of the command that no thread has passed on yet. */
struct rest {
    char *bytes;
    size_t n, room;
};

static int add_rest(void *data, const char *bytes, size_t n)
{
    struct rest *rest = data;

    if (rest->n + n > rest->room) {
        size_t room = rest->room ? 2 * rest->room : 16 * PIECE;
        char *more = realloc(rest->bytes, room);

        if (!more)
            return -1;
        rest->bytes = more;
        rest->room = room;
    }
    memcpy(rest->bytes + rest->n, bytes, n);
    rest->n += n;
    return 0;
}

static void read_rest(struct stream *stream, struct rest *rest)
{
    char piece[PIECE];
    ssize_t got;

    fcntl(stream->from, F_SETFL, O_NONBLOCK);
    while (rest->n < REST_MOST &&
           ((got = read(stream->from, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR))) {
        if (got <= 0)
            continue;
        keep_end(stream->output, piece, (size_t)got);
        if (prefix_take(&stream->prefix, piece, (size_t)got, add_rest, rest))
            break;
    }
    prefix_end(&stream->prefix, add_rest, rest);
}

static void *pump(void *data)
{
    struct stream *stream = data;
    struct rest rest = {0};
    char piece[PIECE];
    ssize_t got;

    while (rest.n == 0 && await_fd(stream, stream->from, POLLIN)) {
        size_t passed;

        got = read(stream->from, piece, sizeof piece);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got < 0)
            continue;
        keep_end(stream->output, piece, (size_t)got);
        if (prefix_take(&stream->prefix, piece, (size_t)got, add_rest, &rest))
            break;
        passed = pass_on(stream, rest.bytes, rest.n);
        rest.n -= passed;
        if (rest.n > 0)
            memmove(rest.bytes, rest.bytes + passed, rest.n);
    }
    read_rest(stream, &rest);
    pthread_mutex_lock(&stream->output->lock);
    stream->output->undrained--;
    pthread_cond_signal(&stream->output->drained);
    pthread_mutex_unlock(&stream->output->lock);
    for (size_t at = 0; at < rest.n;)
        at += (size_t)put(stream, rest.bytes + at, rest.n - at);
    free(rest.bytes);
    rowlock__wakeup_send(&stream->output->done);
    return NULL;
}

/* ---- while it runs --------------------------------------------------------------------------- */

int output_start(struct output *output)
{
    for (int i = 0; i < output->n; i++) {
        struct stream *stream = &output->streams[i];

        close(stream->into);
        stream->into = -1;
        stream->started = pthread_create(&stream->thread, NULL, pump, stream) == 0;
        if (!stream->started)
            return -1;
        pthread_mutex_lock(&output->lock);
        output->undrained++;
        pthread_mutex_unlock(&output->lock);
    }
    return 0;
}

/* ---- after ----------------------------------------------------------------------------------- */

/* A character whose beginning was overwritten is left out; a byte 0 ends no text. */
static void make_text(struct output *output)
{
    char raw[OUTPUT_KEPT + 1];
    size_t n = 0, from = output->total > OUTPUT_KEPT ? output->total - OUTPUT_KEPT : 0;

    if (from > 0)
        for (int i = 0; i < 3 && ((unsigned char)output->tail[from % OUTPUT_KEPT] & 0xc0) == 0x80;
             i++)
            from++;
    for (; from < output->total; from++) {
        char byte = output->tail[from % OUTPUT_KEPT];

        raw[n++] = byte ? byte : '?';
    }
    raw[n] = '\0';
    rowlock__utf8_copy(output->text, sizeof output->text, raw);
}

const char *output_end(struct output *output)
{
    struct timespec until;

    rowlock__wakeup_send(&output->stop);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DRAIN_SECONDS;
    pthread_mutex_lock(&output->lock);
    while (output->undrained > 0 &&
           pthread_cond_timedwait(&output->drained, &output->lock, &until) == 0)
        ;
    make_text(output);
    pthread_mutex_unlock(&output->lock);
    return output->text;
}

/* Returns 0 if a signal came first, or the time has passed: then the threads keep running. */
static int await_done(const struct output *output, const struct signals *signals, int wait_ms)
{
    struct pollfd fds[] = {{.fd = output->done.fd, .events = POLLIN},
                           {.fd = signals->fd, .events = POLLIN}};
    uint64_t started = 0, done, all = 0;

    for (int i = 0; i < output->n; i++)
        started += (uint64_t)output->streams[i].started;
    while (all < started) {
        int n = poll(fds, 2, wait_ms);

        if (n == 0)
            return 0;
        if (n < 0)
            continue;
        done = fds[0].revents ? rowlock__wakeup_take(&output->done) : 0;
        if (done)
            all += done;
        else if (fds[1].revents)
            return 0;
    }
    return 1;
}

void output_close(struct output *output, const struct signals *signals, int wait_ms)
{
    rowlock__wakeup_send(&output->stop);
    if (!await_done(output, signals, wait_ms))
        return;
    for (int i = 0; i < output->n; i++) {
        struct stream *stream = &output->streams[i];

        if (stream->started)
            pthread_join(stream->thread, NULL);
        if (stream->into >= 0)
            close(stream->into);
        close(stream->from);
    }
    rowlock__wakeup_close(&output->stop);
    rowlock__wakeup_close(&output->done);
}
