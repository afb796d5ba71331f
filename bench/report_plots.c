/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <string.h>

/* One line a contestant: its name, then median, lowest and highest of each workload; "?" is not there. */
static void print_spread(json_t *measurement, const char *metric, FILE *out)
{
    json_t *spread = measurement ? report_spread(measurement, metric) : NULL;

    if (spread)
        fprintf(out, " %g %g %g", report_number(spread, "median"), report_number(spread, "low"),
                report_number(spread, "high"));
    else
        fprintf(out, " ? ? ?");
}

static int has_any(json_t *bench, const char *const *workloads, const char *contestant)
{
    for (; *workloads; workloads++)
        if (report_find(bench, *workloads, contestant))
            return 1;
    return 0;
}

static void bars(json_t *bench, const char *const *workloads, const char *metric, FILE *out)
{
    json_t *contestant;
    size_t i;

    json_array_foreach(json_object_get(bench, "contestants"), i, contestant)
    {
        const char *name = report_text(contestant, "name");

        if (!has_any(bench, workloads, name))
            continue;
        fprintf(out, "\"%s\"", name);
        for (const char *const *workload = workloads; *workload; workload++)
            print_spread(report_find(bench, *workload, name), metric, out);
        fputc('\n', out);
    }
}

static void throughput(json_t *bench, FILE *out)
{
    static const char *const workloads[] = {"uncontended-1", "uncontended-8", "uncontended-32",
                                            NULL};

    bars(bench, workloads, "rate", out);
}

static void contended(json_t *bench, FILE *out)
{
    static const char *const workloads[] = {"hot", "crowd", NULL};

    bars(bench, workloads, "rate", out);
}

/* A block for each contestant, two empty lines between: its name, then percent and milliseconds. */
static void handover(json_t *bench, FILE *out)
{
    json_t *one, *value;
    size_t i, k;

    json_array_foreach(json_object_get(bench, "measurements"), i, one)
    {
        json_t *quantiles = json_object_get(one, "quantiles");

        if (strcmp(report_text(one, "workload"), "handover") != 0 ||
            json_array_size(quantiles) == 0)
            continue;
        fprintf(out, "\"%s\"\n", report_text(one, "contestant"));
        json_array_foreach(quantiles, k, value)
            fprintf(out, "%zu %g\n", k, json_number_value(value));
        fprintf(out, "\n\n");
    }
}

int report_plots(json_t *bench, const char *folder)
{
    static const struct {
        const char *name;
        void (*print)(json_t *bench, FILE *out);
    } files[] = {{"throughput", throughput}, {"contended", contended}, {"handover", handover}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1000];
        FILE *out;

        snprintf(path, sizeof path, "%s/%s.dat", folder, files[i].name);
        out = fopen(path, "w");
        if (!out)
            return -1;
        files[i].print(bench, out);
        if (fclose(out))
            return -1;
    }
    return 0;
}
