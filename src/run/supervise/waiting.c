/* SPDX-License-Identifier: Apache-2.0 */
/* The line that explains a wait. */
#include "run/supervise/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/output/output.h"
#include "command/url_lookup.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/thread.h"

#define FIRST_MS 1000 /* a shorter wait needs no explanation */
#define TICK_MS 1000  /* the line's times are counted without a query */
#define QUERY_MS 5000 /* on a terminal */
#define MOST_MS 60000 /* without a terminal, and between attempts of a session that is refused */
#define STATEMENT_MS 5000
#define OLD_MS 15000    /* the line is removed when its content is older */
#define STOPPING_MS 500 /* an interrupted call returns sooner */
#define LEAST_COLUMNS 20

struct waiting {
    pthread_mutex_t mutex; /* of all that follows */
    int users;             /* the thread, and its starter */
    int ended, shown;
    char owner[ROWLOCK_OWNER_SIZE];
    struct rowlock_wakeup stop, done; /* the thread must end; it has ended */
    int terminal;                     /* where the line is drawn; -1: messages */
    char **names;
    size_t n;
    /* the thread's own: */
    int64_t began_ms, query_at_ms, every_ms;
    struct rowlock_connection *connection;
    struct waiting_view view;
};

/* ---- the terminal ---------------------------------------------------------------------------- */

/* Opens a file description of its own, if this user may: a terminal that is stopped by ^S must
   block neither of the threads. */
static int open_terminal(void)
{
    const char *terminal = getenv("TERM");
    char path[256];
    int fd;

    if (!isatty(STDERR_FILENO) || (terminal && strcmp(terminal, "dumb") == 0))
        return -1;
    fd = ttyname_r(STDERR_FILENO, path, sizeof path)
             ? -1
             : open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* A job in the background leaves the screen alone. */
static int is_in_foreground(const struct waiting *waiting)
{
    return tcgetpgrp(waiting->terminal) == getpgrp();
}

static void put(int fd, const char *text)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};

    if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT) || write(fd, text, strlen(text)) < 0)
        return; /* stopped or gone: the next update may succeed */
}

/* The mutex is held. */
static void remove_line(struct waiting *waiting)
{
    if (waiting->shown && is_in_foreground(waiting))
        put(waiting->terminal, "\r\033[K");
    waiting->shown = 0;
}

/* The same. */
static void draw(struct waiting *waiting)
{
    struct winsize size;
    size_t columns =
        ioctl(waiting->terminal, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;
    char *text;

    if (columns < LEAST_COLUMNS || !is_in_foreground(waiting))
        return;
    columns -= 3; /* ^C is echoed behind it */
    text = waiting_text(&waiting->view, rowlock__now_ms() - waiting->began_ms, columns);
    if (!text)
        return;
    cut_text(text, columns);
    strcat(text, "\033[K");
    put(waiting->terminal, "\r");
    put(waiting->terminal, text);
    free(text);
    waiting->shown = 1;
}

/* ---- the query ------------------------------------------------------------------------------- */

static void close_session(struct waiting *waiting)
{
    rowlock_close(waiting->connection);
    waiting->connection = NULL;
}

/* Asks about one name at a time: about the next one, if this one does not keep us waiting. */
static void look(struct waiting *waiting)
{
    struct waiting_view *view = &waiting->view;
    int64_t now = rowlock__now_ms();
    size_t name = view->name;
    struct rowlock_choice choice = {.name = waiting->names[name]};
    struct rowlock_options options = {
        .connect_ms = STATEMENT_MS, .statement_ms = STATEMENT_MS, .interrupt_fd = waiting->stop.fd};

    pthread_mutex_lock(&waiting->mutex);
    memcpy(view->owner, waiting->owner, sizeof view->owner);
    pthread_mutex_unlock(&waiting->mutex);
    waiting_view_begin(view, choice.name);
    if ((!waiting->connection && open_database(&options, &waiting->connection, NULL)) ||
        rowlock_list_some(waiting->connection, &choice, waiting_view_add, view, NULL)) {
        close_session(waiting);
        waiting->every_ms = rowlock__least(2 * waiting->every_ms, MOST_MS);
    } else {
        waiting->every_ms = waiting->terminal >= 0 ? QUERY_MS : MOST_MS;
        view->at_ms = rowlock__now_ms();
        if (!waiting_view_explains(view))
            name = (name + 1) % waiting->n;
    }
    if (waiting->terminal < 0)
        close_session(waiting);
    waiting->query_at_ms = now + waiting->every_ms;
    view->next_name = name;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Without the mutex: a pipe without a reader must not delay the end of the wait. */
static void report_wait(struct waiting *waiting)
{
    char *text;
    int ended;

    pthread_mutex_lock(&waiting->mutex);
    ended = waiting->ended;
    pthread_mutex_unlock(&waiting->mutex);
    if (ended || !waiting->view.at_ms)
        return;
    text = waiting_text(&waiting->view, rowlock__now_ms() - waiting->began_ms, 0);
    if (text)
        put(STDERR_FILENO, strcat(text, "\n"));
    free(text);
}

static void leave(struct waiting *waiting)
{
    int users;

    pthread_mutex_lock(&waiting->mutex);
    users = --waiting->users;
    pthread_mutex_unlock(&waiting->mutex);
    if (users > 0)
        return;
    rowlock__wakeup_close(&waiting->stop);
    rowlock__wakeup_close(&waiting->done);
    if (waiting->terminal >= 0)
        close(waiting->terminal);
    for (size_t i = 0; waiting->names && i < waiting->n; i++)
        free(waiting->names[i]);
    free(waiting->names);
    waiting_view_clear(&waiting->view);
    pthread_mutex_destroy(&waiting->mutex);
    free(waiting);
}

static void *explain(void *data)
{
    struct waiting *waiting = data;
    int64_t next_ms = FIRST_MS;

    begin_width();
    while (!rowlock__is_readable(waiting->stop.fd, (int)rowlock__most(next_ms, 0))) {
        int asks = rowlock__now_ms() >= waiting->query_at_ms;

        if (asks) {
            waiting->view.name = waiting->view.next_name;
            look(waiting);
        }
        if (waiting->terminal >= 0) {
            int64_t at_ms = waiting->view.at_ms;

            pthread_mutex_lock(&waiting->mutex);
            if (!waiting->ended && at_ms && rowlock__now_ms() - at_ms < OLD_MS)
                draw(waiting);
            else if (!waiting->ended)
                remove_line(waiting);
            pthread_mutex_unlock(&waiting->mutex);
        } else if (asks) {
            report_wait(waiting);
        }
        next_ms = waiting->terminal >= 0 ? TICK_MS : waiting->query_at_ms - rowlock__now_ms();
    }
    close_session(waiting);
    rowlock__wakeup_send(&waiting->done);
    leave(waiting);
    return NULL;
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct waiting *waiting_begin(const struct lock_options *lock, int verbose)
{
    int terminal = lock->quiet ? -1 : open_terminal();
    struct waiting *waiting =
        (terminal < 0 && !verbose) || lock_wait_left(lock) == 0 ? NULL : calloc(1, sizeof *waiting);
    int failed;

    if (!waiting) {
        if (terminal >= 0)
            close(terminal);
        return NULL;
    }
    pthread_mutex_init(&waiting->mutex, NULL);
    waiting->terminal = terminal;
    failed = rowlock__wakeup_open(&waiting->stop);
    failed |= rowlock__wakeup_open(&waiting->done);
    waiting->began_ms = rowlock__now_ms();
    waiting->every_ms = terminal >= 0 ? QUERY_MS : MOST_MS;
    waiting->users = 2;
    waiting->n = lock->n;
    waiting->names = calloc(lock->n, sizeof *waiting->names);
    waiting->view.others = lock->n - 1;
    failed |= !waiting->names;
    for (size_t i = 0; !failed && i < lock->n; i++)
        failed = !(waiting->names[i] = strdup(lock->wants[i].name));
    if (!failed && rowlock__thread_start(NULL, explain, waiting) == 0)
        return waiting;
    waiting->users = 1;
    leave(waiting);
    return NULL;
}

void waiting_as(struct waiting *waiting, const char *owner)
{
    if (!waiting)
        return;
    pthread_mutex_lock(&waiting->mutex);
    memcpy(waiting->owner, owner, sizeof waiting->owner);
    pthread_mutex_unlock(&waiting->mutex);
}

void waiting_hide(struct waiting *waiting)
{
    if (!waiting)
        return;
    pthread_mutex_lock(&waiting->mutex);
    remove_line(waiting);
    pthread_mutex_unlock(&waiting->mutex);
}

void waiting_end(struct waiting *waiting)
{
    if (!waiting)
        return;
    pthread_mutex_lock(&waiting->mutex);
    remove_line(waiting);
    waiting->ended = 1;
    pthread_mutex_unlock(&waiting->mutex);
    rowlock__wakeup_send(&waiting->stop);
    rowlock__is_readable(waiting->done.fd, STOPPING_MS);
    leave(waiting);
}
