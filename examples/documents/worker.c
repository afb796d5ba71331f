/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heart of the loader: begin and lock the business object, read the registered version, create
 * or update it or leave it, commit. Everything else here handles failures.
 *
 * Handling a document twice does no harm, because the time decides. Only the count needs care. If
 * the reply to a COMMIT is lost, the verdict is kept as a doubt. The second attempt sees the result
 * of the first under the lock, and settles the doubt.
 */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "input.h"
#include "report.h"

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 5000
#define RECONNECT_MS 60000 /* without a connection, before the worker gives up */
#define ATTEMPTS_MAX 20    /* at one document, when the engine or the network ended them */
#define FAILURES_MAX 3     /* documents in a row that the database would not take */

struct worker {
    const struct job *job;
    struct hand *hand;
    struct rowlock_connection *connection; /* NULL: lost, or not yet opened */
    struct store *store;
    struct extractor *extractor;
    struct input input;
    unsigned failures;
};

enum step { STEP_ON, STEP_STOP, STEP_FAIL };

static bool told_to_stop(const struct worker *w, int wait_ms)
{
    struct pollfd stop = {.fd = w->job->stop_fd, .events = POLLIN};

    return poll(&stop, 1, wait_ms) > 0;
}

int database_open(const struct options *options, int stop_fd,
                  struct rowlock_connection **connection, struct store **store,
                  struct rowlock_error *error)
{
    const struct rowlock_options how = {.interrupt_fd = stop_fd};
    int code = rowlock_open(options->url, &how, connection, error);

    if (code)
        return code;
    code = store_open(*connection, store, error);
    if (code) {
        rowlock_close(*connection);
        *connection = NULL;
    }
    return code;
}

static void disconnect(struct worker *w)
{
    store_close(w->store);
    rowlock_close(w->connection);
    w->store = NULL;
    w->connection = NULL;
}

static int connect_once(struct worker *w, struct rowlock_error *error)
{
    int code = database_open(w->job->options, w->job->stop_fd, &w->connection, &w->store, error);

    if (!code)
        code = w->store->engine->prepare(w->store, error);
    if (code)
        disconnect(w);
    return code;
}

/* Reconnects, with a growing backoff. */
static enum step connect_again(struct worker *w)
{
    struct rowlock_error error;
    int pause = FIRST_PAUSE_MS;

    for (int waited = 0; waited < RECONNECT_MS; waited += pause, pause *= 2) {
        int code = connect_once(w, &error);

        if (!code)
            return STEP_ON;
        if (code == ROWLOCK_ECANCELED)
            return STEP_STOP;
        if (code != ROWLOCK_ECONN && code != ROWLOCK_EROLLEDBACK)
            break;
        pause = pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
        if (told_to_stop(w, pause))
            return STEP_STOP;
    }
    fprintf(stderr, "documents: %s\n", error.text);
    return STEP_FAIL;
}

static int begin_and_lock(struct worker *w, const struct document *document,
                          struct rowlock_error *error)
{
    char name[sizeof DOCUMENT_LOCK + DOCUMENT_ID_MAX] = DOCUMENT_LOCK;
    const struct rowlock_want want = {.name = name, .mode = ROWLOCK_EXCLUSIVE};

    if (w->job->options->no_lock)
        return w->store->engine->begin(w->store, error);
    memcpy(name + sizeof DOCUMENT_LOCK - 1, document->id, document->id_length + 1);
    return rowlock_begin(w->connection, &want, 1, -1, error);
}

static enum verdict compare(const struct version *version, const struct document *document)
{
    if (!version->registered)
        return VERDICT_CREATED;
    return document->time > version->time ? VERDICT_UPDATED : VERDICT_OLDER;
}

/* The COMMIT of an earlier attempt succeeded: this version is registered. */
static enum verdict settle(const struct hand *hand, const struct version *version,
                           const struct document *document)
{
    if (hand->doubt != VERDICT_NONE && version->time == document->time)
        return hand->doubt;
    return VERDICT_OLDER;
}

/* One transaction. On failure none is open. */
static int attempt(struct worker *w, const struct document *document, enum verdict *verdict,
                   struct rowlock_error *error)
{
    const enum verdict doubt = w->hand->doubt;
    struct version version;
    int code = begin_and_lock(w, document, error);

    if (code)
        return code;
    code = w->store->engine->read(w->store, document, &version, error);
    if (!code) {
        *verdict = compare(&version, document);
        if (*verdict == VERDICT_OLDER) {
            *verdict = settle(w->hand, &version, document);
            code = rowlock_commit(w->connection, error);
        } else {
            w->hand->doubt = *verdict;
            code = w->store->engine->write(w->store, document, error);
        }
    }
    if (code && code != ROWLOCK_ECONN && code != ROWLOCK_EUNKNOWN) {
        rowlock_rollback(w->connection, NULL);
        w->hand->doubt = doubt; /* this attempt certainly changed nothing */
    }
    return code;
}

static enum step give_up(struct worker *w, const char *reason)
{
    report_undone(w->hand->path, w->hand->number, reason);
    hand_give_up(w->hand);
    return ++w->failures < FAILURES_MAX ? STEP_ON : STEP_FAIL;
}

static enum step store_document_once(struct worker *w, const struct document *document)
{
    struct rowlock_error error;

    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        enum verdict verdict = VERDICT_NONE;
        enum step step = w->connection ? STEP_ON : connect_again(w);
        int code;

        if (step != STEP_ON)
            return step;
        if (i > 2 && told_to_stop(w, i * 10))
            return STEP_STOP;
        code = attempt(w, document, &verdict, &error);
        switch (code) {
        case ROWLOCK_OK:
            hand_finish(w->hand, verdict);
            w->failures = 0;
            return STEP_ON;
        case ROWLOCK_ECANCELED:
            return STEP_STOP;
        case ROWLOCK_ECONN:
        case ROWLOCK_EUNKNOWN:
            w->hand->lost++;
            disconnect(w);
            break;
        case ROWLOCK_EROLLEDBACK:
        case ROWLOCK_EABORTED:
        case ROWLOCK_ETIMEDOUT:
            break;
        default:
            return give_up(w, error.text);
        }
    }
    return give_up(w, error.text);
}

static enum step refuse(struct worker *w, const char *reason)
{
    report_refused(w->job->report_fd, w->hand->path, w->hand->number, reason);
    hand_finish(w->hand, VERDICT_REFUSED);
    return STEP_ON;
}

static enum step handle(struct worker *w)
{
    struct document document;
    char reason[DOCUMENT_REASON];

    switch (input_load(&w->input, w->hand->path, w->hand->number)) {
    case INPUT_TOO_LONG:
        snprintf(reason, sizeof reason, "longer than %zu MiB", DOCUMENT_BODY_MAX >> 20);
        return refuse(w, reason);
    case INPUT_FAILED:
        report_undone(w->hand->path, w->hand->number, strerror(errno));
        hand_give_up(w->hand);
        return STEP_ON;
    case INPUT_OK:
        break;
    }
    if (extract(w->extractor, w->input.text, w->input.length, &document, reason))
        return refuse(w, reason);
    return store_document_once(w, &document);
}

/* Waits for the next document, or for the signal to stop. */
static enum step next(struct worker *w)
{
    struct pollfd fds[] = {{.fd = w->job->stop_fd, .events = POLLIN},
                           {.fd = w->job->board->items_fd, .events = POLLIN}};

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return STEP_FAIL;
        if (fds[0].revents)
            return STEP_STOP;
        switch (board_take(w->job->board, w->hand)) {
        case BOARD_TAKEN:
            return STEP_ON;
        case BOARD_END:
            return STEP_STOP;
        case BOARD_EMPTY:
            break;
        }
    }
}

static enum step work(struct worker *w)
{
    enum step step = STEP_ON;

    if (w->hand->state == HAND_BUSY) /* from a killed predecessor */
        step = handle(w);
    while (step == STEP_ON) {
        step = next(w);
        if (step == STEP_ON)
            step = handle(w);
    }
    return step;
}

int worker_run(const struct job *job, struct hand *hand)
{
    struct worker w = {.job = job, .hand = hand, .input = {&job->options->generator, NULL, 0, 0}};
    struct rusage usage;
    enum step step = STEP_FAIL;

    w.extractor = extractor_new(job->options->id_element, job->options->time_element);
    if (w.extractor)
        step = work(&w);
    disconnect(&w);
    extractor_free(w.extractor);
    input_free(&w.input);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        hand->peak_kib = (uint64_t)usage.ru_maxrss;
    return step == STEP_FAIL;
}
