/* SPDX-License-Identifier: Apache-2.0 */
/* The content of bench.json, and the reports made from it. */
#include "lib/test.h"
#include "report.h"
#include "result.h"

#include <stdlib.h>
#include <string.h>

static const struct bench_workload workloads[] = {
    {.name = "speed", .title = "a speed", .metrics = {{"rate", "per second", 1}, {"seen", "", 0}}},
    {.name = "delay", .title = "a delay", .metrics = {{"p50", "ms", -1}, {"p99", "ms", -1}}},
    {.name = NULL}};
static const struct bench_pair pairs[] = {{"we", "peer"}, {"we", "away"}, {NULL, NULL}};
static const struct bench_peer we = {.name = "we",
                                     .server = "",
                                     .ours = 1,
                                     .durable = BENCH_GRANT,
                                     .what = "ourselves",
                                     .threads = 1};
static const struct bench_peer peer = {
    .name = "peer", .server = "s", .durable = BENCH_BOTH, .what = "another"};

static void take(struct bench_results *results, int w, int i, double first, double second,
                 unsigned long overlaps)
{
    static struct bench_crew crew;
    const double values[BENCH_METRICS] = {first, second};

    crew.sampled = 0;
    for (int k = 1; w == 1 && k <= 200; k++)
        bench_sample(&crew, k);
    bench_cell_take(bench_cell_of(results, w, i), &crew, values, overlaps, 10);
}

static json_t *example(void)
{
    struct bench_results *results = bench_results_new(workloads, pairs);
    json_t *json;

    results->contestant[results->contestants++] = &we;
    results->contestant[results->contestants++] = &peer;
    take(results, 0, 0, 300, 7, 0);
    take(results, 0, 1, 100, 7, 0);
    take(results, 0, 0, 100, 7, 0);
    take(results, 0, 1, 200, 7, 3);
    take(results, 1, 0, 4, 8, 0);
    take(results, 1, 1, 2, 16, 0);
    json = bench_results_json(results);
    bench_results_free(results);
    json_object_set_new(json, "facts",
                        json_pack("{s:s, s:s}", "command", "make bench", "disk", "d"));
    json_object_set_new(json, "repetitions", json_integer(2));
    json_object_set_new(json, "absent",
                        json_pack("[{s:s, s:s}]", "peer", "away", "why", "not here"));
    return json;
}

TEST(each_row_has_both_sides_the_ratio_its_spread_and_the_durability)
{
    json_t *json = example(), *rows = json_object_get(json, "rows"), *row, *ratio;

    t_int((int)json_array_size(rows), 3); /* a workload without a measure has no row */
    row = json_array_get(rows, 0);
    ratio = json_object_get(row, "ratio");
    t_text(report_text(row, "workload"), "speed");
    t_text(report_text(row, "rowlock"), "we");
    t_text(report_text(row, "peer"), "peer");
    t_int((int)report_number(row, "rowlock_value"), 200);
    t_int((int)report_number(row, "peer_value"), 150);
    t_int((int)(100 * report_number(ratio, "low")), 50);
    t_int((int)(100 * report_number(ratio, "high")), 300);
    t_int((int)(100 * report_number(ratio, "median")), 175);
    t_int((int)report_number(row, "repetitions"), 2);
    t_int((int)report_number(row, "peer_overlaps"), 3);
    t_true(json_is_false(json_object_get(row, "durability_equal")));
    t_contains(report_text(row, "durability"), "UNEQUAL");
    ratio = json_object_get(json_array_get(rows, 1), "ratio"); /* p50: 4 ms and 2 ms */
    t_int((int)(100 * report_number(ratio, "median")), 50);
    ratio = json_object_get(json_array_get(rows, 2), "ratio"); /* p99: 8 ms and 16 ms */
    t_int((int)(100 * report_number(ratio, "median")), 200);
    json_decref(json);
}

TEST(the_file_has_every_measured_value)
{
    json_t *json = example(), *one = report_find(json, "delay", "we");
    json_t *quantiles = json_object_get(one, "quantiles");
    json_t *metric =
        json_array_get(json_object_get(report_find(json, "speed", "peer"), "metrics"), 0);

    t_int((int)json_array_size(json_object_get(metric, "values")), 2);
    t_text(report_text(metric, "better"), "more");
    t_int((int)json_array_size(quantiles), BENCH_QUANTILES);
    t_int((int)json_number_value(json_array_get(quantiles, 50)), 100);
    t_int((int)json_number_value(json_array_get(quantiles, 100)), 200);
    t_int((int)report_number(report_spread(one, "p99"), "median"), 8);
    t_true(report_find(json, "speed", "away") == NULL);
    json_decref(json);
}

TEST(the_table_shows_unequal_durability_overlaps_and_absent_peers)
{
    json_t *json = example();
    char *text = NULL, *row;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report_markdown(json, out);
    fclose(out);
    row = strstr(text, "| we (threads of one process) | peer | 200 | 150 | **1.75** (0.50 to 3.00) "
                       "**varies by a factor of 6.0** |");
    t_true(row != NULL);
    *strchr(row, '\n') = 0;
    t_contains(row, "UNEQUAL");
    t_contains(row, "**0 / 3**");
    row += strlen(row) + 1;
    t_contains(row, "a delay: p99, ms");
    t_contains(row, "**0.50** (0.50 to 0.50) **(1 of 2 repetitions)** |");
    t_contains(text, "| we | ourselves | grant | threads of one process |");
    t_contains(text, "| peer | another | grant and release | processes |");
    t_contains(text, "**Absent: away**: not here");
    t_contains(text, "    make bench\n");
    free(text);
    json_decref(json);
}

static const char two_contestants[] =
    "{'measurements': ["
    " {'workload': 'process', 'contestant': 'rowlock-sqlite-lease', 'metrics': ["
    "  {'metric': 'time', 'values': [4], 'spread': {'median': 4, 'low': 4, 'high': 4}}]},"
    " {'workload': 'process', 'contestant': 'flock', 'metrics': ["
    "  {'metric': 'time', 'values': [2], 'spread': {'median': 1.5, 'low': 0.9, 'high': 2}}]}],"
    "'rows': ["
    " {'workload': 'documents', 'metric': 'rate', 'rowlock': 'rowlock-sqlite-lock',"
    "  'peer': 'sqlite-no-lock', 'ratio': {'median': 0.91, 'low': 0.9, 'high': 0.92}}]}";

static json_t *parsed(const char *text)
{
    char *copy = strdup(text);
    json_t *json;

    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    json = json_loads(copy, 0, NULL);
    free(copy);
    t_true(json != NULL);
    return json;
}

TEST(the_first_page_has_the_measured_figures_and_names_the_missing_ones)
{
    json_t *json = parsed(two_contestants);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report_page(json, out);
    fclose(out);
    t_contains(text, "and 4.00 ms on SQLite; etcdctl lock costs (not measured) ms, and flock(1) "
                     "costs 1.50 ms. Erratic, from the lowest to the highest: "
                     "flock (0.900 to 2.00).\n");
    t_contains(text, "and 91.0 % on SQLite.");
    t_contains(text, "(bench/page-command.svg)");
    t_true(strstr(text, "page-rate.svg") == NULL); /* none of its bars was measured */
    t_contains(text, "### Limits");
    free(text);
    json_decref(json);
}

TEST(the_data_of_the_first_pages_plots_are_the_measured_figures)
{
    json_t *json = parsed(two_contestants);
    const char *folder = getenv("ROWLOCK_TEST_TEMP");
    char path[1000], line[200] = "";
    FILE *in;

    t_int(report_page_plots(json, folder), 0);
    snprintf(path, sizeof path, "%s/page-command.dat", folder);
    in = fopen(path, "r");
    t_true(in && fgets(line, sizeof line, in));
    t_text(line, "0 4 0x08519c \"4.00\"\n");
    t_true(fgets(line, sizeof line, in) != NULL);
    t_text(line, "1 1.5 0xfd8d3c \"1.50\"\n");
    fclose(in);
    json_decref(json);
}
