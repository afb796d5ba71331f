/* SPDX-License-Identifier: Apache-2.0 */
/* Writes all numbers of a run as three tables of tab-separated values (report.h). */
#include "report.h"

#include <string.h>

static void print_number(json_t *object, const char *key, FILE *out)
{
    json_t *number = json_object_get(object, key);

    if (number)
        fprintf(out, "\t%g", json_number_value(number));
    else
        fprintf(out, "\t-");
}

static int print_contestants(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;

    fprintf(out, "# The contestants of make bench. on_disk: before its call returned\n"
                 "contestant\ton_disk\twhat\n");
    json_array_foreach(json_object_get(bench, "contestants"), i, one)
        fprintf(out, "%s\t%s\t%s\n", report_text(one, "name"), report_text(one, "on_disk"),
                report_text(one, "what"));
    return fclose(out);
}

static void print_measurement(json_t *one, FILE *out)
{
    json_t *metric, *spread;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i, metric)
    {
        spread = report_spread(one, report_text(metric, "metric"));
        if (!spread)
            continue;
        fprintf(out, "%s\t%s\t%s\t%s", report_text(one, "workload"), report_text(one, "contestant"),
                report_text(metric, "metric"), report_text(metric, "unit"));
        print_number(spread, "median", out);
        print_number(spread, "low", out);
        print_number(spread, "high", out);
        print_number(one, "client_cpu_us", out);
        print_number(one, "server_cpu_us", out);
        print_number(one, "overlaps", out);
        fputc('\n', out);
    }
}

static int print_values(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;

    fprintf(
        out,
        "# The repetitions of make bench: their median, lowest and highest; the CPU time of one "
        "acquire and\n# release, by client and server; overlaps, or updates lost. A dash was "
        "not recorded.\n"
        "workload\tcontestant\tmetric\tunit\tmedian\tlow\thigh\tclient_cpu_us\t"
        "server_cpu_us\toverlaps\n");
    json_array_foreach(json_object_get(bench, "measurements"), i, one) print_measurement(one, out);
    return fclose(out);
}

static int print_ratios(json_t *bench, FILE *out)
{
    static const char *const texts[] = {"workload", "metric", "unit", "rowlock", "peer"};
    json_t *row, *ratio;
    size_t i;

    fprintf(out,
            "# rowlock and its peers. ratio: above 1 rowlock is better; the median, lowest and "
            "highest of all\n# repetitions that both have. varies: how many times the lowest of "
            "a value, or of the ratio, its\n# highest is; 0: the lowest is 0. A dash was not "
            "recorded; varies is then at most 2.\n"
            "workload\tmetric\tunit\trowlock\tpeer\trowlock_value\tpeer_value\tratio\tlow\t"
            "high\tvaries\trepetitions\trowlock_overlaps\tpeer_overlaps\tdurability\n");
    json_array_foreach(json_object_get(bench, "rows"), i, row)
    {
        ratio = json_object_get(row, "ratio");
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            fprintf(out, "%s%s", k > 0 ? "\t" : "", report_text(row, texts[k]));
        print_number(row, "rowlock_value", out);
        print_number(row, "peer_value", out);
        print_number(ratio, "median", out);
        print_number(ratio, "low", out);
        print_number(ratio, "high", out);
        print_number(row, "varies", out);
        print_number(row, "repetitions", out);
        print_number(row, "rowlock_overlaps", out);
        print_number(row, "peer_overlaps", out);
        fprintf(out, "\t%s\n", report_text(row, "durability"));
    }
    return fclose(out);
}

int report_data(json_t *bench, const char *folder)
{
    FILE *contestants = report_create(folder, "contestants", "tsv");
    FILE *values = report_create(folder, "values", "tsv");
    FILE *ratios = report_create(folder, "ratios", "tsv");
    int failed = !contestants || !values || !ratios;

    failed |= contestants && print_contestants(bench, contestants);
    failed |= values && print_values(bench, values);
    failed |= ratios && print_ratios(bench, ratios);
    return failed ? -1 : 0;
}
