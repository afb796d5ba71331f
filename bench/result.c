/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the results of all measurements, and writes bench.json (result.h). */
#include "result.h"

#include <stdlib.h>
#include <string.h>

#include "statistics.h"

static int count_of(const struct bench_workload *workloads)
{
    int n = 0;

    while (workloads[n].name)
        n++;
    return n;
}

struct bench_results *bench_results_new(const struct bench_workload *workloads,
                                        const struct bench_pair *pairs)
{
    struct bench_results *results = calloc(1, sizeof *results);

    if (!results)
        return NULL;
    results->workloads = workloads;
    results->pairs = pairs;
    results->cells =
        calloc((size_t)count_of(workloads) * BENCH_CONTESTANTS, sizeof *results->cells);
    if (!results->cells) {
        free(results);
        return NULL;
    }
    return results;
}

void bench_results_free(struct bench_results *results)
{
    if (results)
        free(results->cells);
    free(results);
}

struct bench_cell *bench_cell_of(const struct bench_results *results, int workload, int contestant)
{
    return &results->cells[workload * BENCH_CONTESTANTS + contestant];
}

void bench_cell_take(struct bench_cell *cell, struct bench_crew *crew,
                     const double values[BENCH_METRICS], unsigned long overlaps,
                     unsigned long operations)
{
    unsigned sampled = atomic_load(&crew->sampled);
    size_t n = sampled < BENCH_SAMPLES ? sampled : BENCH_SAMPLES;

    if (cell->taken == BENCH_REPETITIONS)
        return;
    for (int i = 0; i < BENCH_METRICS; i++)
        cell->values[i][cell->taken] = values[i];
    cell->taken++;
    cell->overlaps += overlaps;
    if (operations > 0) {
        cell->client_us = (double)atomic_load(&crew->cpu_us) / (double)operations;
        cell->server_us = crew->server_us / (double)operations;
    }
    for (int i = 0; i < BENCH_QUANTILES && n > 0; i++)
        cell->quantile[i] = bench_quantile(crew->sample, n, i / 100.0);
}

void bench_cell_fail(struct bench_cell *cell, const char *why)
{
    cell->failed = 1;
    snprintf(cell->why, sizeof cell->why, "%s", *why ? why : "it failed and said nothing");
}

/* ---- durability ------------------------------------------------------------------------------ */

static const char *const in_words[4][4] = {
    /* nothing of ours */
    {"equal: neither waits for the disk", "UNEQUAL: only the peer's grant is on disk",
     "UNEQUAL: only the peer's release waits for the disk", "UNEQUAL: only the peer is on disk"},
    /* our grant */
    {"UNEQUAL: only rowlock's grant is on disk", "equal: grants are on disk, releases are not",
     "UNEQUAL: rowlock's grant is on disk, the peer's release",
     "grants equal, on disk; UNEQUAL: only the peer's release is on disk too"},
    /* our release */
    {"UNEQUAL: only rowlock's release waits for the disk",
     "UNEQUAL: rowlock's release is on disk, the peer's grant",
     "equal: releases wait for the disk, grants do not",
     "UNEQUAL: only the peer's grant is on disk too"},
    /* both of ours */
    {"UNEQUAL: only rowlock is on disk", "UNEQUAL: only rowlock's release is on disk too",
     "UNEQUAL: only rowlock's grant is on disk too", "equal: grant and release are on disk"},
};

int bench_durability(int ours, int theirs, int volatile_storage, const char **out)
{
    if (volatile_storage) {
        *out = "equal: nothing is durable, all was written to memory";
        return 1;
    }
    *out = in_words[ours & 3][theirs & 3];
    return ours == theirs;
}

/* ---- bench.json ------------------------------------------------------------------------------ */

static json_t *spread_json(struct bench_spread spread)
{
    return json_pack("{s:f, s:f, s:f}", "median", spread.median, "low", spread.low, "high",
                     spread.high);
}

static json_t *contestants_json(const struct bench_results *results)
{
    static const char *const words[] = {"nothing", "grant", "release", "grant and release"};
    json_t *list = json_array();

    for (int i = 0; i < results->contestants; i++) {
        const struct bench_peer *peer = results->contestant[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", peer->name, "what", peer->what,
                            "server", peer->server, "rowlock", peer->ours, "on_disk",
                            results->volatile_storage ? "nothing" : words[peer->durable & 3]));
    }
    return list;
}

static json_t *values_json(const struct bench_cell *cell, const struct bench_workload *workload)
{
    json_t *metrics = json_array();

    for (int m = 0; m < BENCH_METRICS && workload->metrics[m].name; m++) {
        json_t *values = json_array();

        for (int i = 0; i < cell->taken; i++)
            json_array_append_new(values, json_real(cell->values[m][i]));
        json_array_append_new(
            metrics,
            json_pack("{s:s, s:s, s:s, s:o, s:o}", "metric", workload->metrics[m].name, "unit",
                      workload->metrics[m].unit, "better",
                      workload->metrics[m].better > 0   ? "more"
                      : workload->metrics[m].better < 0 ? "less"
                                                        : "",
                      "spread", spread_json(bench_spread_of(cell->values[m], (size_t)cell->taken)),
                      "values", values));
    }
    return metrics;
}

static json_t *quantiles_json(const struct bench_cell *cell)
{
    json_t *list = json_array();

    for (int i = 0; i < BENCH_QUANTILES && cell->quantile[BENCH_QUANTILES - 1] > 0; i++)
        json_array_append_new(list, json_real(cell->quantile[i]));
    return list;
}

static json_t *measurement_json(const struct bench_cell *cell,
                                const struct bench_workload *workload,
                                const struct bench_peer *peer)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:f, s:f, s:o}", "workload", workload->name,
                     "contestant", peer->name, "failed", cell->failed ? cell->why : "", "metrics",
                     values_json(cell, workload), "overlaps", (json_int_t)cell->overlaps,
                     "client_cpu_us", cell->client_us, "server_cpu_us", cell->server_us,
                     "quantiles", quantiles_json(cell));
}

static json_t *measurements_json(const struct bench_results *results)
{
    json_t *list = json_array();

    for (int w = 0; results->workloads[w].name; w++)
        for (int i = 0; i < results->contestants; i++) {
            const struct bench_cell *cell = bench_cell_of(results, w, i);

            if (cell->taken || cell->failed)
                json_array_append_new(
                    list, measurement_json(cell, &results->workloads[w], results->contestant[i]));
        }
    return list;
}

static int contestant_of(const struct bench_results *results, const char *name)
{
    for (int i = 0; i < results->contestants; i++)
        if (strcmp(results->contestant[i]->name, name) == 0)
            return i;
    return -1;
}

/* How many times the lowest repetition the highest is; 0: only the lowest is 0. */
static double factor_of(struct bench_spread spread)
{
    return spread.low > 0 ? spread.high / spread.low : spread.high > 0 ? 0 : 1;
}

/* The most of two values and their ratio. */
static double variation_of(struct bench_spread a, struct bench_spread b, struct bench_spread ratio)
{
    const double factors[] = {factor_of(a), factor_of(b), factor_of(ratio)};
    double most = 1;

    for (int i = 0; i < 3; i++) {
        if (factors[i] < 1)
            return 0;
        most = factors[i] > most ? factors[i] : most;
    }
    return most;
}

static json_t *row_json(const struct bench_results *results, int w, int m, int ours, int theirs)
{
    const struct bench_workload *workload = &results->workloads[w];
    const struct bench_cell *a = bench_cell_of(results, w, ours);
    const struct bench_cell *b = bench_cell_of(results, w, theirs);
    size_t n = (size_t)(a->taken < b->taken ? a->taken : b->taken);
    struct bench_spread ratio =
        bench_ratio(a->values[m], b->values[m], n, workload->metrics[m].better);
    const char *durability;
    int equal =
        bench_durability(results->contestant[ours]->durable, results->contestant[theirs]->durable,
                         results->volatile_storage, &durability);

    if (workload->durability && !results->volatile_storage) {
        durability = workload->durability;
        equal = 1;
    }

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:o, s:f, s:i, s:b, s:s, s:s, s:I, s:I}",
        "workload", workload->name, "title", workload->title, "metric", workload->metrics[m].name,
        "unit", workload->metrics[m].unit, "rowlock", results->contestant[ours]->name, "peer",
        results->contestant[theirs]->name, "rowlock_value", bench_spread_of(a->values[m], n).median,
        "peer_value", bench_spread_of(b->values[m], n).median, "ratio", spread_json(ratio),
        "varies",
        variation_of(bench_spread_of(a->values[m], (size_t)a->taken),
                     bench_spread_of(b->values[m], (size_t)b->taken), ratio),
        "repetitions", (int)n, "durability_equal", equal, "durability", durability, "wrong",
        bench_wrong(workload), "rowlock_overlaps", (json_int_t)a->overlaps, "peer_overlaps",
        (json_int_t)b->overlaps);
}

/* A row needs results of both contestants. A contestant that failed before its first result is
   listed among the measurements, with its reason. */
static void add_rows(const struct bench_results *results, int w, int m, json_t *list)
{
    for (int p = 0; results->pairs[p].ours; p++) {
        int ours = contestant_of(results, results->pairs[p].ours);
        int theirs = contestant_of(results, results->pairs[p].peer);

        if (ours >= 0 && theirs >= 0 && bench_cell_of(results, w, ours)->taken &&
            bench_cell_of(results, w, theirs)->taken)
            json_array_append_new(list, row_json(results, w, m, ours, theirs));
    }
}

static json_t *rows_json(const struct bench_results *results)
{
    json_t *list = json_array();

    for (int w = 0; results->workloads[w].name; w++)
        for (int m = 0; m < BENCH_METRICS && results->workloads[w].metrics[m].name; m++)
            if (results->workloads[w].metrics[m].better)
                add_rows(results, w, m, list);
    return list;
}

json_t *bench_results_json(const struct bench_results *results)
{
    return json_pack("{s:o, s:o, s:o}", "contestants", contestants_json(results), "measurements",
                     measurements_json(results), "rows", rows_json(results));
}
