/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents: the first job that rowlock was made for. Several processes, on one machine or many,
 * register XML documents that arrive in any order and in several versions; a lock on each
 * document's id keeps two of them from handling one document at the same time, also when it is not
 * registered yet. worker.c has the transaction; the other files make it a program that can run
 * unattended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "supervise.h"
#include "verify.h"
#include "worker.h"

/* Installs rowlock's tables where they are missing. */
static int make_lockable(struct rowlock_connection *connection, struct rowlock_error *error)
{
    static const struct rowlock_want want = {.name = "DocumentTable:document",
                                             .mode = ROWLOCK_EXCLUSIVE};
    int code = rowlock_begin(connection, &want, 1, -1, error);

    if (code == ROWLOCK_ESCHEMA) {
        code = rowlock_install(connection, NULL, error);
        if (!code)
            code = rowlock_begin(connection, &want, 1, -1, error);
    }
    return code ? code : rowlock_rollback(connection, error);
}

static int set_up(const struct options *o, int stop_fd)
{
    struct rowlock_connection *connection;
    struct store *store;
    struct rowlock_error error;
    int code = database_open(o, stop_fd, &connection, &store, &error);

    if (!code) {
        code = make_lockable(connection, &error);
        if (!code)
            code = store->engine->create(store, &error);
        if (!code && o->empty)
            code = store->engine->empty(store, &error);
        store_close(store);
        rowlock_close(connection);
    }
    if (code)
        fprintf(stderr, "documents: %s\n", error.text);
    return code;
}

static void print_summary(const struct summary *s)
{
    printf("read %" PRIu64 "\n", s->read);
    printf("created %" PRIu64 "\n", s->count[VERDICT_CREATED]);
    printf("updated %" PRIu64 "\n", s->count[VERDICT_UPDATED]);
    printf("older %" PRIu64 "\n", s->count[VERDICT_OLDER]);
    printf("refused %" PRIu64 "\n", s->count[VERDICT_REFUSED]);
    printf("undone %" PRIu64 "\n", s->undone);
    printf("documents/s %.0f\n", s->seconds > 0 ? (double)s->read / s->seconds : 0);
    printf("seconds %.2f\n", s->seconds);
    printf("peak-KiB %" PRIu64 "\n", s->peak_kib);
    if (s->lost)
        printf("connections-lost %" PRIu64 "\n", s->lost);
    if (s->deaths)
        printf("workers-died %" PRIu64 "\n", s->deaths);
    fflush(stdout);
}

static int load(const struct options *o, int stop_fd)
{
    struct summary summary;
    int result, report_fd = report_open(o->report);

    if (report_fd < 0) {
        fprintf(stderr, "documents: %s: %s\n", o->report, strerror(errno));
        return EXIT_FAILURE;
    }
    result = supervise(o, stop_fd, report_fd, &summary);
    close(report_fd);
    if (result)
        return EXIT_FAILURE;
    print_summary(&summary);
    if (summary.count[VERDICT_REFUSED])
        fprintf(stderr, "documents: refused documents, with reasons: %s\n", o->report);
    if (!summary.undone && !summary.folders_left)
        return EXIT_SUCCESS;
    fprintf(stderr, "documents: work was left undone%s%s\n",
            summary.interrupted ? ": interrupted" : "",
            summary.folders_left ? "; not all folders were read to their end" : "");
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options options;
    int stop_fd, result;

    options_parse(&options, argc, argv);
    if (signals_catch(&stop_fd)) {
        perror("documents");
        return EXIT_FAILURE;
    }
    if (set_up(&options, stop_fd))
        return EXIT_FAILURE;
    result = load(&options, stop_fd);
    if (options.verify && !signals_seen() && result == EXIT_SUCCESS)
        result = verify(&options, stop_fd);
    free(options.url);
    return result;
}
