/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the workers, prints the progress while they work, and the summary afterwards. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "documents.h"

#define PROGRESS_SECONDS 5

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t read_so_far(const struct load *l)
{
    return l->count[CREATED] + l->count[UPDATED] + l->count[OLDER] + l->count[REFUSED];
}

/* Waits for the end of a worker, and prints a line every few seconds until then. */
static void await(pthread_t thread, const struct load *l, double began)
{
    struct timespec next;

    for (;;) {
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_sec += PROGRESS_SECONDS;
        if (pthread_timedjoin_np(thread, NULL, &next) != ETIMEDOUT)
            return;
        fprintf(stderr, "documents: %" PRIu64 " of %" PRIu64 ", %.0f/s\n", read_so_far(l),
                l->inputs->count, (double)read_so_far(l) / (seconds() - began));
    }
}

static void run_workers(struct load *l, double began)
{
    pthread_t *threads = calloc(l->options->workers, sizeof *threads);
    unsigned started = 0;

    while (threads && started < l->options->workers &&
           !pthread_create(&threads[started], NULL, worker, l))
        started++;
    if (started < l->options->workers)
        fprintf(stderr, "documents: %u of %u workers started\n", started, l->options->workers);
    for (unsigned i = 0; i < started; i++)
        await(threads[i], l, began);
    free(threads);
}

static void print_summary(const struct load *l, double took)
{
    struct rusage usage = {0};
    uint64_t read = read_so_far(l);

    getrusage(RUSAGE_SELF, &usage);
    printf("read %" PRIu64 "\n", read);
    printf("created %" PRIu64 "\n", l->count[CREATED]);
    printf("updated %" PRIu64 "\n", l->count[UPDATED]);
    printf("older %" PRIu64 "\n", l->count[OLDER]);
    printf("refused %" PRIu64 "\n", l->count[REFUSED]);
    printf("undone %" PRIu64 "\n", l->inputs->count - read);
    printf("documents/s %.0f\n", took > 0 ? (double)read / took : 0);
    printf("seconds %.2f\n", took);
    printf("peak-KiB %ld\n", usage.ru_maxrss);
    if (l->lost)
        printf("connections-lost %" PRIu64 "\n", l->lost);
    fflush(stdout);
}

int load(const struct options *options, const struct inputs *inputs, int stop_fd)
{
    struct load l = {.options = options, .inputs = inputs, .stop_fd = stop_fd};
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    double began = seconds();

    l.report = fopen(options->report, "we");
    if (!l.report) {
        fprintf(stderr, "documents: %s: %s\n", options->report, strerror(errno));
        return -1;
    }
    run_workers(&l, began);
    fclose(l.report);
    print_summary(&l, seconds() - began);
    if (l.count[REFUSED])
        fprintf(stderr, "documents: refused documents, with reasons: %s\n", options->report);
    if (read_so_far(&l) == inputs->count && !inputs->incomplete)
        return 0;
    fprintf(stderr, "documents: work was left undone%s%s\n",
            poll(&stop, 1, 0) > 0 ? ": interrupted" : "",
            inputs->incomplete ? "; not all folders were read to their end" : "");
    return -1;
}
