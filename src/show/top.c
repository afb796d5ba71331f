/* SPDX-License-Identifier: Apache-2.0 */
/* The verb top: the jobs that are not fine, and the longest queues, redrawn until it is ended.
   Without a terminal one frame; with --json one object. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/lock_options.h"
#include "command/signals.h"
#include "command/url_lookup.h"
#include "show/lists/lists.h"
#include "show/top/top.h"

#define INTERVAL_MS 2000
#define LEAST_INTERVAL_MS 500
#define TICK_MS 1000       /* the age of old data */
#define ROWS_WITHOUT 1000  /* read without a terminal */
#define WAITERS_WITHOUT 20 /* of a name */
#define WAITERS_LEAST 3    /* of a name, on the smallest screen */
#define FILTER_SIZE 256

struct top {
    int64_t interval_ms;
    struct reader *reader;
    struct signals signals;
    int screen_fd; /* stop and size */
    struct top_data data;
    struct top_choice choice;
    int is_paused, shows_help, is_typing, is_over;
    char filter[FILTER_SIZE]; /* that is being typed */
    char why[512];
    int by_signal;
};

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw(const struct top *top)
{
    struct top_view view = {.coloured = terminal_is_coloured(),
                            .is_paused = top->is_paused,
                            .shows_help = top->shows_help,
                            .typing = top->is_typing ? top->filter : NULL,
                            .why = top->why,
                            .interval_ms = top->interval_ms};
    char *frame;

    screen_size(&view.lines, &view.columns);
    frame = top_frame(&top->data, &view);
    if (frame)
        screen_draw(frame);
    free(frame);
}

/* Only what fits on the screen is read. */
static void fit_choice(struct top *top)
{
    size_t lines, columns;

    screen_size(&lines, &columns);
    top->choice.most_jobs = (int)(lines / 3 > 1 ? lines / 3 : 1); /* as the frame */
    top->choice.most_rows = (int)lines;
    top->choice.most_waiters = (int)(lines / 4 > WAITERS_LEAST ? lines / 4 : WAITERS_LEAST);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key while the filter is typed. */
static void type(struct top *top, char key)
{
    size_t n = strlen(top->filter);

    if (key == '\n' || key == '\r') {
        const char *any = !*top->filter || strpbrk(top->filter, "*?[") ? "" : "*";

        top->is_typing = 0;
        snprintf(top->choice.glob, sizeof top->choice.glob, "%s%s%s", any, top->filter, any);
        reader_choose(top->reader, &top->choice);
    } else if (key == 0x1b) {
        top->is_typing = 0;
    } else if (key == 0x7f || key == '\b') { /* deletes a character, of one byte or more */
        while (n > 0 && ((unsigned char)top->filter[--n] & 0xc0) == 0x80)
            ;
        top->filter[n] = '\0';
    } else if ((unsigned char)key >= ' ' && n + 1 < sizeof top->filter) {
        top->filter[n] = key;
        top->filter[n + 1] = '\0';
    }
}

static void press(struct top *top, char key)
{
    if (top->is_typing) {
        type(top, key);
        return;
    }
    if (top->shows_help) { /* q too, as in htop and less */
        top->shows_help = 0;
        return;
    }
    switch (key) {
    case '/':
        top->is_typing = 1;
        top->filter[0] = '\0';
        break;
    case 's':
        top->choice.order = (top->choice.order + 1) % (ROWLOCK_BY_NAME + 1);
        reader_choose(top->reader, &top->choice);
        break;
    case 'p':
        top->is_paused = !top->is_paused;
        reader_pause(top->reader, top->is_paused);
        break;
    case '?':
    case 'h':
        top->shows_help = 1;
        break;
    case 'q':
        top->is_over = 1;
    }
}

/* The length of the sequence that a key such as an arrow sends: Escape, [ or O, and what follows up
   to a letter or ~. Those keys close the help, and have no other meaning. 0: it is another key. */
static size_t sequence_length(const char *keys, size_t n)
{
    size_t at = 2;

    if (n < 2 || keys[0] != 0x1b || !strchr("[O", keys[1]))
        return 0;
    while (at < n && keys[at] < '@')
        at++;
    return at < n ? at + 1 : n;
}

static void read_keys(struct top *top)
{
    char keys[256];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    size_t at = 0;

    if (n <= 0) {
        top->is_over = n == 0 || (errno != EINTR && errno != EAGAIN);
        return;
    }
    while (at < (size_t)n && !top->is_over) {
        size_t length = sequence_length(keys + at, (size_t)n - at);

        press(top, length ? '\0' : keys[at]);
        at += length ? length : 1;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* ^Z gives the terminal back to the shell; fg takes it again. */
static void heed_screen(struct top *top)
{
    int number;

    while ((number = signals_next(top->screen_fd, NULL)))
        if (number == SIGTSTP) {
            screen_close();
            signals_stop();
            top->is_over |= screen_open() != 0;
        }
    fit_choice(top);
    reader_choose(top->reader, &top->choice);
}

static void step(struct top *top)
{
    struct pollfd fds[] = {{.fd = top->signals.wait_fd, .events = POLLIN},
                           {.fd = top->screen_fd, .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = reader_fd(top->reader), .events = POLLIN}};

    poll(fds, sizeof fds / sizeof *fds, TICK_MS);
    top->by_signal = signals_next(top->signals.wait_fd, NULL);
    if (top->by_signal) {
        top->is_over = 1;
        return;
    }
    if (fds[1].revents)
        heed_screen(top);
    if (fds[2].revents)
        read_keys(top);
    if (fds[3].revents)
        reader_take(top->reader, &top->data, top->why, sizeof top->why);
}

static int watch(struct top *top)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    if (!signals_are_ignored(SIGTSTP))
        sigaddset(&set, SIGTSTP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    top->screen_fd = signals_descriptor(&set);
    if (signals_open(&top->signals) || top->screen_fd < 0) {
        message("cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    fit_choice(top);
    top->reader = reader_open(top->interval_ms, &top->choice);
    if (!top->reader || screen_open()) {
        message("cannot start a thread, or control the terminal");
        return STATUS_FAILED;
    }
    while (!top->is_over) {
        draw(top);
        step(top);
    }
    screen_close();
    if (top->by_signal)
        die_by(top->by_signal);
    reader_close(top->reader);
    return STATUS_OK;
}

/* ---- one frame ------------------------------------------------------------------------------- */

static int print_frame(struct top *top, struct rowlock_connection *connection)
{
    struct top_view view = {
        .columns = terminal_columns(), .coloured = terminal_is_coloured(), .why = ""};
    struct rowlock_error error = {0};
    char *frame;

    if (top_read(connection, &top->choice, &top->data, &error))
        return report(&error);
    frame = top_frame(&top->data, &view);
    if (!frame)
        return out_of_memory();
    fputs(frame, stdout);
    free(frame);
    return STATUS_OK;
}

struct document {
    struct listing listing;
    size_t n;
};

static FILE *next_item(struct document *document)
{
    fputs(document->n++ ? ",\n  " : "\n  ", document->listing.out);
    return document->listing.out;
}

static int put_trouble(const struct rowlock_job_view *view, void *data)
{
    struct rowlock_job_view job = settled(view);

    list_object(next_item(data), &job_list, &job);
    return 0;
}

static int put_lock(const struct rowlock_holder *holder, void *data)
{
    list_object(next_item(data), &holder_list, holder);
    return 0;
}

static int print_json(const struct top *top, struct rowlock_connection *connection)
{
    struct document document = {.n = 0};
    const char *glob = *top->choice.glob ? top->choice.glob : NULL;
    struct rowlock_job_choice troubled = {.glob = glob, .most_rows = top->choice.most_jobs};
    struct rowlock_choice part = {
        .glob = glob, .most_rows = top->choice.most_rows, .most_waiters = top->choice.most_waiters};
    struct rowlock_error error = {0};
    int status = listing_open(&document.listing), code;

    if (status)
        return status;
    fputs("{\"jobs\":[", document.listing.out);
    code = rowlock_job_troubles(connection, &troubled, put_trouble, &document, NULL, &error);
    fputs("],\n \"locks\":[", document.listing.out);
    document.n = 0;
    if (!code)
        code = rowlock_list_some(connection, &part, put_lock, &document, &error);
    document.listing.failed |= fputs("]}\n", document.listing.out) == EOF;
    status = code ? report(&error) : listing_write(&document.listing);
    listing_free(&document.listing);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static void take_interval(const struct command *command, const struct option_row *row, void *into)
{
    set_duration(command, row, into);
    if (*(int64_t *)into < LEAST_INTERVAL_MS)
        usage_error(command, "--interval %s: at least 500ms", optarg);
}

static const struct option_row options[] = {
    {"interval", 0, required_argument, take_interval, offsetof(struct top, interval_ms), 1000, 0},
    {0}};

int cmd_top(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct top top = {.interval_ms = INTERVAL_MS};
    int status;

    scan_own_options(command, options, &top);
    if (command->n_operands + command->n_rest > 0)
        snprintf(top.choice.glob, sizeof top.choice.glob, "%s", one_name(command));
    check_pattern(command, top.choice.glob);
    status = connect_by_lookup(command, &connection);
    if (!status && (command->json || !screen_is_there())) {
        top.choice.most_jobs = top.choice.most_rows = ROWS_WITHOUT;
        top.choice.most_waiters = WAITERS_WITHOUT;
        status = command->json ? print_json(&top, connection) : print_frame(&top, connection);
        rowlock_close(connection);
    } else if (!status) {
        rowlock_close(connection); /* the reader has its own */
        status = watch(&top);
    }
    top_data_free(&top.data);
    return status;
}
