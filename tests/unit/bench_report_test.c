/* SPDX-License-Identifier: Apache-2.0 */
/* The content of bench.json, and the reports made from it. */
#include "lib/test.h"
#include "report.h"
#include "result.h"

#include <stdlib.h>
#include <string.h>

static const struct bench_workload workloads[] = {
    {.name = "uncontended-8",
     .title = "a speed",
     .metrics = {{"rate", "per second", 1}, {"seen", "", 0}}},
    {.name = "handover", .title = "a delay", .metrics = {{"p50", "ms", -1}, {"p99", "ms", -1}}},
    {.name = NULL}};
static const struct bench_pair pairs[] = {{"we", "peer"}, {"we", "away"}, {NULL, NULL}};
static const struct bench_peer we = {
    .name = "we", .server = "", .ours = 1, .durable = BENCH_GRANT, .what = "ourselves"};
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
    t_text(report_text(row, "workload"), "uncontended-8");
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
    json_t *json = example(), *one = report_find(json, "handover", "we");
    json_t *quantiles = json_object_get(one, "quantiles");
    json_t *metric =
        json_array_get(json_object_get(report_find(json, "uncontended-8", "peer"), "metrics"), 0);

    t_int((int)json_array_size(json_object_get(metric, "values")), 2);
    t_text(report_text(metric, "better"), "more");
    t_int((int)json_array_size(quantiles), BENCH_QUANTILES);
    t_int((int)json_number_value(json_array_get(quantiles, 50)), 100);
    t_int((int)json_number_value(json_array_get(quantiles, 100)), 200);
    t_int((int)report_number(report_spread(one, "p99"), "median"), 8);
    t_true(report_find(json, "uncontended-8", "away") == NULL);
    json_decref(json);
}

/* What a report prints into a stream that it leaves open. */
static char *printed(json_t *json, void report(json_t *, FILE *))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report(json, out);
    fclose(out);
    return text;
}

TEST(the_tables_show_values_ratios_unequal_durability_overlaps_and_absent_peers)
{
    json_t *json = example();
    char *text = printed(json, report_markdown);

    t_contains(text, "| we | grant || 200 ||||| 4.00 | 8.00 ||||||\n");
    t_contains(text, "| peer | both || 150 ||||| 2.00 | 16.0 ||||||\n");
    t_contains(
        text,
        "| we/peer | grants equal || 1.75~ |||| **0.50** (1 of 2) | **2.00** (1 of 2) |||||\n");
    t_contains(text, "Overlaps or lost updates: 3 by peer (uncontended-8).\n");
    t_contains(text, "**Absent: away**: not here");
    t_contains(text, "    make bench\n");
    free(text);
    json_decref(json);
}

static char *data(const char *name)
{
    static char text[4000];
    FILE *in;

    in = fopen(t_say("%s/%s", getenv("ROWLOCK_TEST_TEMP"), name), "r");
    t_true(in != NULL);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    return text;
}

TEST(the_data_have_each_median_with_its_spread)
{
    json_t *json = example();

    t_int(report_data(json, getenv("ROWLOCK_TEST_TEMP")), 0);
    t_contains(data("contestants.tsv"), "we\tgrant\tourselves\n");
    t_contains(data("values.tsv"), "uncontended-8\twe\trate\tper second\t200\t100\t300\t");
    t_contains(data("values.tsv"), "handover\tpeer\tp99\tms\t16\t16\t16\t");
    t_contains(data("ratios.tsv"),
               "uncontended-8\trate\tper second\twe\tpeer\t200\t150\t1.75\t0.5\t"
               "3\t6\t2\t0\t3\tgrants equal, on disk; UNEQUAL");
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
    char *text = printed(json, report_page);

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
    char line[200] = "";
    FILE *in;

    t_int(report_page_plots(json, folder), 0);
    in = fopen(t_say("%s/page-command.dat", folder), "r");
    t_true(in && fgets(line, sizeof line, in));
    t_text(line, "0 4 0x08519c \"4.00\"\n");
    t_true(fgets(line, sizeof line, in) != NULL);
    t_text(line, "1 1.5 0xfd8d3c \"1.50\"\n");
    fclose(in);
    json_decref(json);
}
