/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/source.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/output/output.h"
#include "system/system.h"
#include "util/clock.h"

#define STATEMENT_MS 5000
#define RETRY_MOST_MS 5000
#define VIEWS 64   /* are kept, for viewers that return and for a time without the database */
#define DETAILS 16 /* at most, in one set of queries; more wait for the next set */

struct source {
    struct rowlock_wakeup end, woken;
    void (*wake)(void *data);
    void *data;
    pthread_t thread;

    pthread_mutex_t mutex; /* protects everything below */
    int n_sets;            /* sets of queries so far */
    struct rowlock_error error;
    int64_t failed_ms;  /* when the last set of queries failed; 0: it did not */
    int64_t changed_ms; /* when an order was last carried out: earlier views are not recent */
    int is_wanted;      /* a request needs the view of all */
    struct {
        enum view_kind kind;
        char *name;
    } wanted[DETAILS];
    size_t n_wanted;
    struct view *all;
    struct view *details[VIEWS]; /* the most recent first */
    size_t n_details;

    /* only the thread uses these */
    struct rowlock_connection *connection;
    int64_t retry_ms;
};

/* ---- views, under the mutex ------------------------------------------------------------------ */

static void drop(struct view *view)
{
    if (view && --view->references == 0)
        view_free(view);
}

/* The place of a view; n_details: there is none. */
static size_t find(const struct source *source, enum view_kind kind, const char *name)
{
    size_t at = 0;

    while (at < source->n_details &&
           (source->details[at]->kind != kind || strcmp(source->details[at]->name, name) != 0))
        at++;
    return at;
}

static void remove_at(struct source *source, size_t at)
{
    drop(source->details[at]);
    source->n_details--;
    memmove(source->details + at, source->details + at + 1,
            (source->n_details - at) * sizeof *source->details);
}

static void publish(struct source *source, struct view *view)
{
    size_t at = find(source, view->kind, view->name);

    if (view->kind == VIEW_ALL) {
        drop(source->all);
        source->all = view;
        return;
    }
    if (at < source->n_details)
        remove_at(source, at);
    else if (source->n_details == VIEWS)
        remove_at(source, VIEWS - 1);
    memmove(source->details + 1, source->details, source->n_details * sizeof *source->details);
    source->details[0] = view;
    source->n_details++;
}

/* ---- one set of queries, on the thread ------------------------------------------------------- */

static void disconnect(struct source *source)
{
    rowlock_close(source->connection);
    source->connection = NULL;
}

/* A detail that fails is published too: its page shows the error. */
static int ask(struct source *source, enum view_kind kind, const char *name,
               struct rowlock_error *error)
{
    struct view *view = view_new(kind, name);
    int code;

    if (!view)
        return ROWLOCK_ENOMEM;
    code = view_fill(view, source->connection, error);
    if (code && kind == VIEW_ALL) {
        view_free(view);
        return code;
    }
    view->error = *error;
    view->error.code = code;
    pthread_mutex_lock(&source->mutex);
    publish(source, view);
    pthread_mutex_unlock(&source->mutex);
    return code;
}

/* A session that the server ended since its last use is replaced at once. */
static int ask_all(struct source *source, struct rowlock_error *error)
{
    struct rowlock_options options = {.connect_ms = STATEMENT_MS, .statement_ms = STATEMENT_MS};
    int code = source->connection ? ask(source, VIEW_ALL, "", error) : ROWLOCK_ECONN;

    if (!is_outage(code))
        return code;
    options.interrupt_fd = source->end.fd;
    disconnect(source);
    code = open_database(&options, &source->connection, error);
    return code ? code : ask(source, VIEW_ALL, "", error);
}

/* Asks for views, and returns their number. It stops at a lost session, which the next set
   replaces. */
static size_t ask_details(struct source *source, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rowlock_error error = {0};
        int code = ask(source, source->wanted[i].kind, source->wanted[i].name, &error);

        if (code == ROWLOCK_ECONN)
            disconnect(source);
        if (code == ROWLOCK_ECONN || code == ROWLOCK_ECANCELED)
            return i + 1;
    }
    return n;
}

static void end_set(struct source *source, int code, const struct rowlock_error *error,
                    size_t n_wanted)
{
    pthread_mutex_lock(&source->mutex);
    if (code != ROWLOCK_ECANCELED && source->n_sets > 0) {
        if (code && (!source->error.code || is_outage(code) != is_outage(source->error.code)))
            message("%s: %s; serving the last state, and trying again", outage_text(code),
                    error->text);
        if (!code && source->error.code)
            message("the database answers again");
    }
    source->error = *error;
    source->error.code = code;
    source->failed_ms = code ? rowlock__now_ms() : 0;
    for (size_t i = 0; i < n_wanted; i++)
        free(source->wanted[i].name);
    source->n_wanted -= n_wanted;
    memmove(source->wanted, source->wanted + n_wanted, source->n_wanted * sizeof *source->wanted);
    source->n_sets++;
    pthread_mutex_unlock(&source->mutex);
    source->wake(source->data);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits until a request needs a view. 0: the source is being closed. */
static int wait_for_need(struct source *source)
{
    for (;;) {
        int is_needed;

        pthread_mutex_lock(&source->mutex);
        is_needed = source->is_wanted || source->n_wanted > 0 || source->error.code;
        pthread_mutex_unlock(&source->mutex);
        if (is_needed)
            return 1;
        if (rowlock__wait_fd(source->woken.fd, POLLIN, source->end.fd, ROWLOCK_NEVER) ==
            ROWLOCK_WAKE_INTERRUPT)
            return 0;
        rowlock__wakeup_take(&source->woken);
    }
}

/* Only this thread removes wanted views, from the front; other threads add some at the end. */
static void *work(void *data)
{
    struct source *source = data;

    while (wait_for_need(source)) {
        struct rowlock_error error = {0};
        int64_t next_ms;
        size_t n_wanted;
        int code;

        pthread_mutex_lock(&source->mutex);
        source->is_wanted = 0;
        n_wanted = source->n_wanted;
        pthread_mutex_unlock(&source->mutex);
        next_ms = rowlock__now_ms() + SOURCE_SHARED_MS;
        code = ask_all(source, &error); /* it alone shows whether the database answers */
        if (code)
            disconnect(source); /* the state of the session is unknown */
        else
            n_wanted = ask_details(source, n_wanted);
        source->retry_ms =
            code ? rowlock__least(2 * source->retry_ms + SOURCE_SHARED_MS / 2, RETRY_MOST_MS) : 0;
        end_set(source, code, &error, n_wanted);
        next_ms += source->retry_ms;
        if (code == ROWLOCK_ECANCELED ||
            rowlock__wait_fd(-1, 0, source->end.fd, next_ms) == ROWLOCK_WAKE_INTERRUPT)
            break;
    }
    rowlock_close(source->connection);
    return NULL;
}

/* ---- for the other threads ------------------------------------------------------------------- */

static void free_source(struct source *source)
{
    while (source->n_details > 0)
        remove_at(source, 0);
    drop(source->all);
    for (size_t i = 0; i < source->n_wanted; i++)
        free(source->wanted[i].name);
    rowlock__wakeup_close(&source->end);
    rowlock__wakeup_close(&source->woken);
    pthread_mutex_destroy(&source->mutex);
    free(source);
}

struct source *source_open(void (*wake)(void *data), void *data)
{
    struct source *source = calloc(1, sizeof *source);
    int failed;

    if (!source)
        return NULL;
    source->wake = wake;
    source->data = data;
    source->is_wanted = 1; /* so that the first viewer does not wait */
    pthread_mutex_init(&source->mutex, NULL);
    failed = rowlock__wakeup_open(&source->end);
    failed |= rowlock__wakeup_open(&source->woken);
    if (!failed && pthread_create(&source->thread, NULL, work, source) == 0)
        return source;
    free_source(source);
    return NULL;
}

int source_has_asked(struct source *source)
{
    int has;

    pthread_mutex_lock(&source->mutex);
    has = source->n_sets > 0;
    pthread_mutex_unlock(&source->mutex);
    return has;
}

static void want(struct source *source, enum view_kind kind, const char *name)
{
    size_t n = source->n_wanted;
    char *copy;

    source->is_wanted = 1;
    if (kind != VIEW_ALL) {
        for (size_t i = 0; i < n; i++)
            if (source->wanted[i].kind == kind && strcmp(source->wanted[i].name, name) == 0)
                return;
        if (n < DETAILS && (copy = strdup(name))) {
            source->wanted[n].kind = kind;
            source->wanted[n].name = copy;
            source->n_wanted++;
        }
    }
    rowlock__wakeup_send(&source->woken);
}

static int is_recent(const struct source *source, const struct view *view, int64_t arrived_ms)
{
    return view && view->done_ms >= arrived_ms - SOURCE_SHARED_MS &&
           view->asked_ms > source->changed_ms;
}

void source_changed(struct source *source)
{
    pthread_mutex_lock(&source->mutex);
    source->changed_ms = rowlock__now_ms();
    pthread_mutex_unlock(&source->mutex);
}

static void show(struct source *source, struct view *detail, struct shown *out)
{
    *out = (struct shown){.all = source->all, .code = source->error.code};
    snprintf(out->why, sizeof out->why, "%s", source->error.text);
    if (!source->all)
        return;
    source->all->references++;
    out->age_ms = rowlock__now_ms() - source->all->asked_ms;
    out->now_ms = source->all->now_ms + out->age_ms;
    if (detail && detail->error.code) {
        snprintf(out->detail_why, sizeof out->detail_why, "%s", detail->error.text);
    } else if (detail) {
        detail->references++;
        out->detail = detail;
        out->age_ms = rowlock__most(out->age_ms, rowlock__now_ms() - detail->asked_ms);
    }
}

int source_get(struct source *source, enum view_kind kind, const char *name, int64_t arrived_ms,
               int64_t deadline_ms, struct shown *out)
{
    struct view *detail = NULL;
    size_t at;
    int now;

    pthread_mutex_lock(&source->mutex);
    at = find(source, kind, name);
    if (at < source->n_details)
        detail = source->details[at];
    now = is_recent(source, source->all, arrived_ms) &&
          (kind == VIEW_ALL || is_recent(source, detail, arrived_ms));
    now = now || rowlock__now_ms() >= deadline_ms ||
          (source->failed_ms && source->failed_ms >= arrived_ms - RETRY_MOST_MS);
    if (now)
        show(source, detail, out);
    else
        want(source, kind, name);
    pthread_mutex_unlock(&source->mutex);
    return now;
}

void source_release(struct source *source, struct shown *shown)
{
    pthread_mutex_lock(&source->mutex);
    drop((struct view *)(uintptr_t)shown->all);
    drop((struct view *)(uintptr_t)shown->detail);
    pthread_mutex_unlock(&source->mutex);
    *shown = (struct shown){0};
}

int source_error(struct source *source, struct rowlock_error *error)
{
    pthread_mutex_lock(&source->mutex);
    *error = source->error;
    pthread_mutex_unlock(&source->mutex);
    return error->code;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    rowlock__wakeup_send(&source->end);
    pthread_join(source->thread, NULL);
    free_source(source);
}
