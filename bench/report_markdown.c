/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of a run as Markdown (report.h). */
#include "report.h"

#include <math.h>
#include <string.h>

const char *report_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

double report_number(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

json_t *report_find(json_t *bench, const char *workload, const char *contestant)
{
    json_t *measurement;
    size_t i;

    json_array_foreach(
        json_object_get(bench, "measurements"), i,
        measurement) if (strcmp(report_text(measurement, "workload"), workload) == 0 &&
                         strcmp(report_text(measurement, "contestant"), contestant) ==
                             0) return measurement;
    return NULL;
}

json_t *report_spread(json_t *measurement, const char *metric)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(measurement, "metrics"), i,
                       one) if (strcmp(report_text(one, "metric"), metric) == 0 &&
                                json_array_size(json_object_get(one, "values")) >
                                    0) return json_object_get(one, "spread");
    return NULL;
}

void report_value(double value, FILE *out)
{
    double size = value < 0 ? -value : value;

    fprintf(out, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f", value);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void print_run(json_t *bench, FILE *out)
{
    json_t *value;
    const char *key;

    fprintf(out, "    %s\n\n", report_text(json_object_get(bench, "facts"), "command"));
    fprintf(out,
            "%g repetitions, slices of %g s%s, %.0f minutes in all;\n"
            "leases of a killed holder were granted for %g s; %g names.\n\n",
            report_number(bench, "repetitions"), report_number(bench, "seconds"),
            json_is_true(json_object_get(bench, "quick"))
                ? " quartered: **a short run, only to see that it works**"
                : "",
            report_number(bench, "took_s") / 60, report_number(bench, "takeover_ttl_s"),
            report_number(bench, "names"));
    fprintf(out, "| | |\n|---|---|\n");
    json_object_foreach(json_object_get(bench, "facts"), key,
                        value) if (strcmp(key, "command") != 0)
        fprintf(out, "| %s | %s |\n", key, json_string_value(value));
    fputc('\n', out);
}

static void print_contestants(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;

    fprintf(out, "| contestant | what it is | on disk when its call returns | its clients are "
                 "|\n|---|---|---|---|\n");
    json_array_foreach(json_object_get(bench, "contestants"), i, one)
        fprintf(out, "| %s | %s | %s | %s |\n", report_text(one, "name"), report_text(one, "what"),
                report_text(one, "on_disk"), report_text(one, "clients"));
    fputc('\n', out);
    json_array_foreach(json_object_get(bench, "absent"), i, one)
        fprintf(out, "**Absent: %s**: %s\n\n", report_text(one, "peer"), report_text(one, "why"));
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* Describes a contestant. Without a remark it is a process with a session of its own. */
static void print_name(json_t *bench, const char *name, FILE *out)
{
    json_t *one;
    size_t i;

    fprintf(out, "%s", name);
    json_array_foreach(json_object_get(bench, "contestants"), i,
                       one) if (strcmp(report_text(one, "name"), name) == 0 &&
                                strcmp(report_text(one, "clients"), "processes") != 0)
        fprintf(out, " (%s)", report_text(one, "clients"));
}

static void print_wrong(json_t *row, FILE *out)
{
    double a = report_number(row, "rowlock_overlaps"), b = report_number(row, "peer_overlaps");

    if (!*report_text(row, "wrong"))
        fprintf(out, "not looked for |\n");
    else if (a > 0 || b > 0)
        fprintf(out, "**%.0f / %.0f** |\n", a, b);
    else
        fprintf(out, "none |\n");
}

/* How many times the highest of all repetitions is the lowest; 1: no spread. */
static double variation(json_t *spread)
{
    double low = report_number(spread, "low"), high = report_number(spread, "high");

    return low > 0 ? high / low : high > 0 ? INFINITY : 1;
}

static double variation_of(json_t *bench, json_t *row, const char *side)
{
    json_t *one = report_find(bench, report_text(row, "workload"), report_text(row, side));

    return variation(one ? report_spread(one, report_text(row, "metric")) : NULL);
}

static void print_variation(json_t *bench, json_t *row, FILE *out)
{
    double most = fmax(variation(json_object_get(row, "ratio")),
                       fmax(variation_of(bench, row, "rowlock"), variation_of(bench, row, "peer")));

    if (isinf(most))
        fprintf(out, " **varies from 0**");
    else if (most > 2)
        fprintf(out, " **varies by a factor of %.1f**", most);
}

static void print_row(json_t *bench, json_t *row, FILE *out)
{
    json_t *ratio = json_object_get(row, "ratio");

    fprintf(out, "| ");
    print_name(bench, report_text(row, "rowlock"), out);
    fprintf(out, " | %s | ", report_text(row, "peer"));
    report_value(report_number(row, "rowlock_value"), out);
    fprintf(out, " | ");
    report_value(report_number(row, "peer_value"), out);
    fprintf(out, " | **%.2f** (%.2f to %.2f)", report_number(ratio, "median"),
            report_number(ratio, "low"), report_number(ratio, "high"));
    print_variation(bench, row, out);
    if (report_number(row, "repetitions") < report_number(bench, "repetitions"))
        fprintf(out, " **(%.0f of %.0f repetitions)**", report_number(row, "repetitions"),
                report_number(bench, "repetitions"));
    fprintf(out, " | %s | ", report_text(row, "durability"));
    print_wrong(row, out);
}

static void print_heading(json_t *row, FILE *out)
{
    fprintf(
        out,
        "\n### %s: %s, %s\n\n| rowlock | peer | rowlock %s | peer %s | ratio (lowest to highest) | "
        "on disk | %s |\n|---|---|---:|---:|---:|---|---|\n",
        report_text(row, "title"), report_text(row, "metric"), report_text(row, "unit"),
        report_text(row, "unit"), report_text(row, "unit"),
        *report_text(row, "wrong") ? report_text(row, "wrong") : "overlaps");
}

/* Rows of one table are adjacent. */
static void print_rows(json_t *bench, FILE *out)
{
    json_t *row, *last = NULL;
    size_t i;

    json_array_foreach(json_object_get(bench, "rows"), i, row)
    {
        if (!last || strcmp(report_text(last, "workload"), report_text(row, "workload")) != 0 ||
            strcmp(report_text(last, "metric"), report_text(row, "metric")) != 0)
            print_heading(row, out);
        print_row(bench, row, out);
        last = row;
    }
    fputc('\n', out);
}

/* ---- measures that are not ratios ------------------------------------------------------------ */

/* A table of some metrics of a workload, for all contestants. */
static void print_metrics(json_t *bench, const char *workload, const char *const *metrics,
                          const char *heading, FILE *out)
{
    json_t *one, *spread;
    size_t i;
    int begun = 0;

    json_array_foreach(json_object_get(bench, "measurements"), i, one)
    {
        if (strcmp(report_text(one, "workload"), workload) != 0 || *report_text(one, "failed"))
            continue;
        fprintf(out, "%s", begun++ ? "" : heading);
        fprintf(out, "| %s |", report_text(one, "contestant"));
        for (const char *const *metric = metrics; *metric; metric++) {
            spread = report_spread(one, *metric);
            fputc(' ', out);
            report_value(spread ? report_number(spread, "median") : 0, out);
            fprintf(out, " |");
        }
        fputc('\n', out);
    }
    fprintf(out, "%s", begun ? "\n" : "");
}

static void print_fairness(json_t *bench, FILE *out)
{
    static const char *const shares[] = {"luckiest", "unluckiest", NULL};
    static const char *const crowd[] = {"served", NULL};
    static const char *const names[] = {"names", NULL};
    static const char *const documents[] = {"read", "refused", "lost", NULL};

    print_metrics(bench, "hot", shares,
                  "### Fairness: the shares of one hot name, 8 clients (fair: 12.5)\n\n"
                  "| | luckiest, % | unluckiest, % |\n|---|---:|---:|\n",
                  out);
    print_metrics(bench, "crowd", crowd,
                  "### How many waiters of the crowd were served within a quarter of a minute\n\n"
                  "| | waiters |\n|---|---:|\n",
                  out);
    print_metrics(bench, "names", names,
                  "### How many names of the pool a slice touched\n\n| | names |\n|---|---:|\n",
                  out);
    print_metrics(bench, "documents", documents,
                  "### The documents of a slice\n\n"
                  "| | documents read | of these refused (no id, no time) | updates lost |\n"
                  "|---|---:|---:|---:|\n",
                  out);
}

static void print_cpu(json_t *bench, FILE *out)
{
    static const char heading[] = "### CPU time of one acquire and release, 8 clients\n\n"
                                  "| | client, µs | server, µs |\n|---|---:|---:|\n";
    json_t *one;
    size_t i;
    int begun = 0;

    json_array_foreach(json_object_get(bench, "measurements"), i, one)
    {
        if (strcmp(report_text(one, "workload"), "uncontended-8") != 0 ||
            *report_text(one, "failed"))
            continue;
        fprintf(out, "%s| %s | ", begun++ ? "" : heading, report_text(one, "contestant"));
        report_value(report_number(one, "client_cpu_us"), out);
        fprintf(out, " | ");
        report_value(report_number(one, "server_cpu_us"), out);
        fprintf(out, " |\n");
    }
    fprintf(out, "%s", begun ? "\n" : "");
}

static void print_failures(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(bench, "measurements"), i,
                       one) if (*report_text(one, "failed"))
        fprintf(out, "**Failed: %s in %s**: %s\n\n", report_text(one, "contestant"),
                report_text(one, "workload"), report_text(one, "failed"));
}

void report_markdown(json_t *bench, FILE *out)
{
    print_run(bench, out);
    print_contestants(bench, out);
    print_failures(bench, out);
    print_rows(bench, out);
    print_fairness(bench, out);
    print_cpu(bench, out);
}
