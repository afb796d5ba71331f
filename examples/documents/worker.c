/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heart of the loader: begin and lock the business object, read the registered version, create
 * or update it or leave it, commit. Everything else here handles failures.
 *
 * Handling a document twice does no harm, because the time decides. Only the count needs care. If
 * the reply to a COMMIT is lost, the verdict is kept as a doubt. The second attempt sees the result
 * of the first under the lock, and settles the doubt.
 */
#include <poll.h>

#include "documents.h"
#include "store.h"

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 5000
#define RECONNECT_MS 60000 /* without a connection, before the worker gives up */
#define ATTEMPTS_MAX 20    /* at one document, when the engine or the network ended them */
#define FAILURES_MAX 3     /* documents in a row that the database would not take */

struct worker {
    struct load *load;
    struct store store; /* without a connection: lost, or not yet opened */
    struct reader reader;
    unsigned failures;
};

enum step { STEP_ON, STEP_STOP }; /* STOP: told to, or this worker cannot continue */

static bool told_to_stop(const struct worker *w, int wait_ms)
{
    struct pollfd stop = {.fd = w->load->stop_fd, .events = POLLIN};

    return poll(&stop, 1, wait_ms) > 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* Connects, with a growing backoff if the database is away. */
static enum step connect_again(struct worker *w)
{
    const struct load *l = w->load;
    struct rowlock_error error;
    int pause = FIRST_PAUSE_MS;

    for (int waited = 0; waited < RECONNECT_MS; waited += pause, pause *= 2) {
        int code = store_open(&w->store, l->options, l->stop_fd, &error);

        if (!code)
            code = w->store.engine->prepare(&w->store, &error);
        if (!code)
            return STEP_ON;
        store_close(&w->store);
        if (code == ROWLOCK_ECANCELED)
            return STEP_STOP;
        if (code != ROWLOCK_ECONN && code != ROWLOCK_EROLLEDBACK)
            break;
        pause = pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
        if (told_to_stop(w, pause))
            return STEP_STOP;
    }
    fprintf(stderr, "documents: %s\n", error.text);
    return STEP_STOP;
}

/* ---- the transaction ------------------------------------------------------------------------- */

static int begin_and_lock(struct worker *w, const struct document *document,
                          struct rowlock_error *error)
{
    char name[sizeof DOCUMENT_LOCK + DOCUMENT_ID_MAX];
    const struct rowlock_want want = {.name = name, .mode = ROWLOCK_EXCLUSIVE};

    if (w->load->options->no_lock)
        return w->store.engine->execute(&w->store, w->store.engine->begin, error);
    snprintf(name, sizeof name, DOCUMENT_LOCK "%s", document->id);
    return rowlock_begin(w->store.connection, &want, 1, -1, error);
}

/* One transaction. On failure none is open. `doubt` is the verdict of an earlier attempt whose
   COMMIT had no reply, or VERDICTS. */
static int transaction(struct worker *w, const struct document *document, enum verdict *verdict,
                       enum verdict *doubt, struct rowlock_error *error)
{
    struct version version;
    int code = begin_and_lock(w, document, error);

    if (code)
        return code;
    code = w->store.engine->read(&w->store, document, false, &version, error);
    if (!code && version.registered && version.time >= document->time) {
        *verdict = *doubt != VERDICTS && version.time == document->time ? *doubt : OLDER;
        code = rowlock_commit(w->store.connection, error);
    } else if (!code) {
        *verdict = version.registered ? UPDATED : CREATED;
        code = w->store.engine->write(&w->store, document, error);
        if (code == ROWLOCK_EUNKNOWN)
            *doubt = *verdict;
    }
    if (code && code != ROWLOCK_ECONN && code != ROWLOCK_EUNKNOWN)
        rowlock_rollback(w->store.connection, NULL);
    return code;
}

static enum step register_document(struct worker *w, uint64_t number,
                                   const struct document *document)
{
    enum verdict verdict = VERDICTS, doubt = VERDICTS;
    struct rowlock_error error;

    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        int code;

        if (!w->store.connection && connect_again(w) == STEP_STOP)
            return STEP_STOP;
        if (i > 2 && told_to_stop(w, i * 10))
            return STEP_STOP;
        code = transaction(w, document, &verdict, &doubt, &error);
        if (code == ROWLOCK_OK) {
            w->load->count[verdict]++;
            w->failures = 0;
            return STEP_ON;
        }
        if (code == ROWLOCK_ECANCELED)
            return STEP_STOP;
        if (code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN) {
            w->load->lost++;
            store_close(&w->store);
        } else if (code != ROWLOCK_EROLLEDBACK && code != ROWLOCK_EABORTED &&
                   code != ROWLOCK_ETIMEDOUT) {
            break;
        }
    }
    input_print(stderr, w->load->inputs, number, ": left undone: ", error.text);
    return ++w->failures < FAILURES_MAX ? STEP_ON : STEP_STOP;
}

/* ---- documents ------------------------------------------------------------------------------- */

static enum step handle(struct worker *w, uint64_t number)
{
    struct load *l = w->load;
    struct document document;
    char reason[DOCUMENT_REASON];

    switch (reader_read(&w->reader, number, &document, reason)) {
    case INPUT_OK:
        return register_document(w, number, &document);
    case INPUT_REFUSED:
        input_print(l->report, l->inputs, number, "\t", reason);
        l->count[REFUSED]++;
        break;
    case INPUT_FAILED:
        input_print(stderr, l->inputs, number, ": left undone: ", reason);
    }
    return STEP_ON;
}

void *worker(void *load)
{
    struct worker w = {.load = load};
    enum step step = STEP_ON;

    if (!reader_open(&w.reader, w.load->inputs)) {
        fputs("documents: out of memory for a worker\n", stderr);
        step = STEP_STOP;
    }
    while (step == STEP_ON && !told_to_stop(&w, 0)) {
        uint64_t number = w.load->next++;

        if (number >= w.load->inputs->count)
            break;
        step = handle(&w, number);
    }
    store_close(&w.store);
    reader_close(&w.reader);
    return NULL;
}
