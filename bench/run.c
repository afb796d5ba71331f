/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all contestants in all workloads, alternated (run.h). */
#include "run.h"

#include <string.h>

#include "statistics.h"

#define QUICK_NAMES 8 /* of each client */
/* the longest wait for the server before a slice: MariaDB needs minutes to end a thousand sessions
   that wait for one row */
#define QUIET_S 300

struct run {
    const struct bench_options *options;
    struct bench_results *results;
    struct bench_crew *crew;
    struct bench_overlap *overlap;
    unsigned hot; /* number of measurements so far, which selects a shared name for each */
};

int bench_is_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *found = words; (found = strstr(found, word)); found += length)
        if ((found == words || found[-1] == ' ') && (found[length] == ' ' || found[length] == 0))
            return 1;
    return 0;
}

static struct bench_place place_of(const struct run *run, const struct bench_peer *peer)
{
    struct bench_place place = run->options->place;
    const char *url = run->options->url_of(peer->server, &place.pid);

    place.url = url ? url : "";
    return place;
}

static int takes_part(const struct run *run, int w, int i)
{
    const struct bench_peer *peer = run->results->contestant[i];

    return bench_can(peer, run->results->workloads[w].need) &&
           (!peer->variant || run->results->workloads[w].variants);
}

/* A contestant whose setup fails has no results; each of its cells gets the reason. */
static void prepare(struct run *run)
{
    struct bench_results *results = run->results;

    for (int i = 0; i < results->contestants; i++) {
        struct bench_place place = place_of(run, results->contestant[i]);

        if (bench_guarded(run->crew, results->contestant[i]->setup, &place) == 0)
            continue;
        for (int w = 0; results->workloads[w].name; w++)
            if (takes_part(run, w, i))
                bench_cell_fail(bench_cell_of(results, w, i), run->crew->why);
    }
}

static struct bench_measurement measurement_of(struct run *run, int w, int i, int repetition,
                                               struct bench_place *place)
{
    const struct bench_options *options = run->options;
    const struct bench_workload *workload = &run->results->workloads[w];
    const struct bench_peer *peer = run->results->contestant[i];

    *place = place_of(run, peer);
    if (workload->measure == bench_takeover)
        place->ttl_ms = options->takeover_ttl_ms;
    return (struct bench_measurement){
        .peer = peer,
        .place = place,
        .overlap = run->overlap,
        .crew = run->crew,
        .clients =
            options->quick && workload->quick_clients ? workload->quick_clients : workload->clients,
        .repetition = repetition,
        .seconds = options->quick ? options->seconds / 4 : options->seconds,
        .names = options->quick && workload->names > QUICK_NAMES ? QUICK_NAMES : workload->names,
        .hold_us = workload->hold_us,
        .hot = place->names + run->hot++ % BENCH_HOT};
}

static void measure(struct run *run, int w, int i, int repetition)
{
    struct bench_cell *cell = bench_cell_of(run->results, w, i);
    struct bench_place place;
    struct bench_measurement measurement = measurement_of(run, w, i, repetition, &place);
    double values[BENCH_METRICS] = {0};
    int failed, processes = bench_processes(place.pid);

    bench_guarded(run->crew, NULL, &place); /* clears the previous measurement */
    bench_overlap_reset(run->overlap);
    failed = run->results->workloads[w].measure(&measurement, values);
    /* The server may still be working for killed clients, which would slow down the next
       measurement. */
    if (bench_crew_dismiss(&measurement) > 0)
        bench_await_quiet(place.pid, processes, QUIET_S);
    if (failed)
        bench_cell_fail(cell, run->crew->why);
    else
        bench_cell_take(cell, run->crew, values, atomic_load(&run->overlap->found),
                        bench_total(&measurement));
}

static void repeat(struct run *run, int w, int repetition)
{
    struct bench_results *results = run->results;
    size_t n = (size_t)results->contestants;

    for (size_t turn = 0; turn < n; turn++) {
        int i = (int)bench_turn(repetition, turn, n);
        struct bench_cell *cell = bench_cell_of(results, w, i);

        if (cell->failed || !takes_part(run, w, i))
            continue;
        measure(run, w, i, repetition);
        if (run->options->progress)
            run->options->progress(&results->workloads[w], results->contestant[i]->name, repetition,
                                   cell);
    }
}

static int is_left_out(const struct run *run, const struct bench_workload *workload)
{
    const char *wanted = run->options->workloads;

    if (*wanted)
        return !bench_is_word(wanted, workload->name);
    return run->options->quick && workload->need == BENCH_LOAD;
}

double bench_estimate(const struct bench_options *options, const struct bench_results *results)
{
    struct run run = {.options = options, .results = (struct bench_results *)results};
    struct bench_place place;
    double sum = 0;

    for (int w = 0; results->workloads[w].name; w++)
        for (int i = 0; i < results->contestants; i++)
            if (!is_left_out(&run, &results->workloads[w]) && takes_part(&run, w, i)) {
                struct bench_measurement measurement = measurement_of(&run, w, i, 0, &place);

                sum += results->workloads[w].about(&measurement) * options->repetitions;
            }
    return sum;
}

int bench_run(const struct bench_options *options, struct bench_results *results)
{
    struct run run = {.options = options, .results = results};

    run.crew = bench_crew_new();
    run.overlap = bench_overlap_new(options->place.names + BENCH_HOT);
    if (!run.crew || !run.overlap)
        return -1;
    prepare(&run);
    for (int w = 0; results->workloads[w].name; w++)
        for (int i = 0; i < options->repetitions && !is_left_out(&run, &results->workloads[w]); i++)
            repeat(&run, w, i);
    bench_crew_free(run.crew);
    bench_overlap_free(run.overlap);
    return 0;
}
