/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance client of the C library: a command a line on standard input, an answer a line. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rowlock.h>

static struct rowlock_connection *session, *own; /* of the lease, and of the transactions */
static struct rowlock_lease *lease;
static struct rowlock_error error;
static int interrupts[2], losses[2], begun;
static char leased[300];               /* the name of the lease */
static struct rowlock_refresh refresh; /* stale: its transaction is open */

static void on_interrupt(int number)
{
    int saved = errno;

    (void)number;
    if (write(interrupts[1], "!", 1) < 0)
        abort();
    errno = saved;
}

static void on_lost(struct rowlock_lease *which, const struct rowlock_error *why, void *data)
{
    (void)which, (void)why, (void)data;
    if (write(losses[1], "!", 1) < 0)
        abort();
}

/* The value of a member of this flat object; NULL: it has none. */
static const char *member(const char *line, const char *name, char *value, size_t size)
{
    char key[40];
    const char *at;
    size_t length = 0;

    snprintf(key, sizeof key, "\"%s\": ", name);
    at = strstr(line, key);
    if (!at)
        return NULL;
    at += strlen(key);
    if (*at != '"') {
        snprintf(value, size, "%.*s", (int)strcspn(at, ",}"), at);
        return value;
    }
    for (at++; *at && *at != '"' && length + 1 < size; at++) {
        at += *at == '\\';
        value[length++] = *at;
    }
    value[length] = '\0';
    return value;
}

static int64_t number(const char *line, const char *name, int64_t otherwise)
{
    char value[40];

    return member(line, name, value, sizeof value) ? strtoll(value, NULL, 10) : otherwise;
}

static struct rowlock_want want(const char *line, char *name, size_t size)
{
    char mode[20] = "";
    struct rowlock_want one = {.name = member(line, "name", name, size)};

    member(line, "mode", mode, sizeof mode);
    one.limit = (int)number(line, "permits", 0);
    one.mode = one.limit                     ? ROWLOCK_PERMIT
               : strcmp(mode, "shared") == 0 ? ROWLOCK_SHARED
                                             : ROWLOCK_EXCLUSIVE;
    return one;
}

static int is_readable(int descriptor, int ms)
{
    struct pollfd poll_it = {.fd = descriptor, .events = POLLIN};

    return poll(&poll_it, 1, ms) > 0;
}

static int acquire(const char *line)
{
    char note[100], byte;
    struct rowlock_want one = want(line, leased, sizeof leased);
    struct rowlock_terms terms = {.ttl_ms = number(line, "ttl", 0),
                                  .wait_ms = number(line, "wait", -1),
                                  .note = member(line, "note", note, sizeof note),
                                  .command = "client-c"};

    rowlock_lease_free(lease);
    lease = NULL;
    while (is_readable(losses[0], 0) && read(losses[0], &byte, 1) == 1)
        ;
    return rowlock_acquire(session, &one, 1, &terms, &lease, &error) ||
           rowlock_auto_renew(lease, on_lost, NULL, &error);
}

/* Begins a transaction under a name of its own, unless one is open. */
static int begin(void)
{
    char name[40];
    struct rowlock_want one = {.name = name};

    snprintf(name, sizeof name, "own %ld", (long)getpid());
    if (!begun && rowlock_begin(own, &one, 1, 0, &error))
        return 1;
    begun = 1;
    return 0;
}

static int lock(const char *line)
{
    char name[300];
    struct rowlock_want one = want(line, name, sizeof name);

    return begin() || rowlock_lock(own, &one, 1, number(line, "wait", -1), &error);
}

static int begin_refresh(const char *line)
{
    char name[300], load[20] = "";
    struct rowlock_subject subject = {.name = member(line, "name", name, sizeof name),
                                      .max_age_ms = number(line, "age", 0)};

    refresh.stale = 0;
    if (rowlock_refresh_begin(own, &subject, number(line, "wait", -1), &refresh, &error))
        return 1;
    member(line, "load", load, sizeof load);
    if (strcmp(load, "fail") == 0) {
        error.code = ROWLOCK_EINVAL;
        snprintf(error.text, sizeof error.text, "the load failed");
        return 1;
    }
    return strcmp(load, "commit") == 0 &&
           (rowlock_commit(own, &error) || rowlock_refresh_done(own, &refresh, &error));
}

/* Ends the transaction, if one is open. */
static int end(int commits)
{
    struct rowlock_refresh ended = refresh;
    int was_begun = begun;

    refresh.stale = begun = 0;
    if (ended.stale)
        return commits ? rowlock_refresh_done(own, &ended, &error)
                       : rowlock_refresh_failed(own, &ended, NULL, &error);
    return !was_begun ? 0 : commits ? rowlock_commit(own, &error) : rowlock_rollback(own, &error);
}

static int is_lost(int ms)
{
    int lost = is_readable(losses[0], ms);

    if (lost)
        error.code = ROWLOCK_ELOST;
    return lost;
}

/* 0, and what is added to the answer "ok"; else `error` is set. */
static int call(const char *line, char *more, size_t size)
{
    char what[20] = "", name[300];
    int64_t drawn = 0;
    int failed = 0;

    member(line, "do", what, sizeof what);
    if (strcmp(what, "acquire") == 0) {
        failed = acquire(line);
        if (!failed)
            snprintf(more, size, ", \"token\": %" PRId64, rowlock_token(lease));
    } else if (strcmp(what, "check") == 0) {
        drawn = rowlock_remaining(lease);
        snprintf(more, size, ", \"remaining\": %" PRId64, drawn);
        failed = is_lost(0) || drawn == 0;
        error.code = failed ? ROWLOCK_ELOST : 0;
    } else if (strcmp(what, "lost") == 0) {
        failed = is_lost((int)number(line, "limit", 0));
    } else if (strcmp(what, "fence") == 0) {
        failed = begin() || rowlock_fence(own, leased, rowlock_token(lease), &error);
    } else if (strcmp(what, "release") == 0) {
        failed = rowlock_release(lease, &error);
    } else if (strcmp(what, "lock") == 0) {
        failed = lock(line);
    } else if (strcmp(what, "next") == 0) {
        member(line, "counter", name, sizeof name);
        failed = begin() || rowlock_next(own, name, 1, 1, 10000, &drawn, &error);
        snprintf(more, size, ", \"number\": %" PRId64, drawn);
    } else if (strcmp(what, "refresh") == 0) {
        failed = begin_refresh(line);
        snprintf(more, size, ", \"loaded\": %d", refresh.stale);
    } else {
        failed = end(strcmp(what, "commit") == 0);
    }
    return failed;
}

static void say_error(void)
{
    char text[sizeof error.text];
    char byte;

    snprintf(text, sizeof text, "%s", error.text);
    for (char *at = text; *at; at++)
        if (*at == '"' || *at == '\\' || *at == '\n')
            *at = '\'';
    if (error.code == ROWLOCK_EBUSY || error.code == ROWLOCK_ETIMEDOUT)
        printf("{\"is\": \"busy\", \"holder\": \"%s\"}\n", text);
    else if (error.code == ROWLOCK_ELOST)
        printf("{\"is\": \"lost\", \"text\": \"%s\"}\n", text);
    else if (error.code == ROWLOCK_ECANCELED && read(interrupts[0], &byte, 1) == 1)
        printf("{\"is\": \"cancelled\"}\n");
    else
        printf("{\"is\": \"error\", \"text\": \"%s\"}\n", text);
}

int main(int count, char **arguments)
{
    struct rowlock_options options = {0};
    char line[1000];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count < 2 || pipe(interrupts) || pipe(losses) || signal(SIGINT, on_interrupt) == SIG_ERR)
        return 1;
    options.interrupt_fd = interrupts[0];
    if (rowlock_open(arguments[1], &options, &session, &error) ||
        rowlock_open(arguments[1], &options, &own, &error)) {
        say_error();
        return 1;
    }
    printf("{\"is\": \"ok\", \"pid\": %ld, \"program\": \"client-c\"}\n", (long)getpid());
    while (fgets(line, sizeof line, stdin)) {
        char more[100] = "";

        if (call(line, more, sizeof more))
            say_error();
        else
            printf("{\"is\": \"ok\"%s}\n", more);
    }
    _exit(0); /* a lease is not released */
}
