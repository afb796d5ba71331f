/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of a run as Markdown (report.h). */
#include "report.h"

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
            "leases of a killed holder were granted for %g s; %.0f names.\n\n",
            report_number(bench, "repetitions"), report_number(bench, "seconds"),
            json_is_true(json_object_get(bench, "quick"))
                ? " quartered: **a short run, only to see that it works**"
                : "",
            report_number(bench, "took_s") / 60, report_number(bench, "takeover_ttl_s"),
            report_number(bench, "names"));
    fprintf(out, "| | |\n|---|---|\n");
    json_object_foreach(json_object_get(bench, "facts"), key,
                        value) if (strcmp(key, "command") != 0 && *json_string_value(value))
        fprintf(out, "| %s | %s |\n", key, json_string_value(value));
    fputc('\n', out);
}

static void print_missing(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(bench, "absent"), i, one)
        fprintf(out, "**Absent: %s**: %s\n\n", report_text(one, "peer"), report_text(one, "why"));
    json_array_foreach(json_object_get(bench, "measurements"), i,
                       one) if (*report_text(one, "failed"))
        fprintf(out, "**Failed: %s in %s**: %s\n\n", report_text(one, "contestant"),
                report_text(one, "workload"), report_text(one, "failed"));
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Their columns. Those with a direction have ratios too. */
static const struct column {
    const char *workload, *metric, *head;
    int compared;
} columns[] = {
    {"uncontended-1", "rate", "1 client, per s", 1},
    {"uncontended-8", "rate", "8 clients, per s", 1},
    {"uncontended-32", "rate", "32 clients, per s", 1},
    {"names", "rate", "names, per s", 1},
    {"hot", "rate", "hot, per s", 1},
    {"hot", "unluckiest", "unluckiest, %", 0},
    {"handover", "p50", "hand-over p50, ms", 1},
    {"handover", "p99", "p99, ms", 1},
    {"takeover", "delay", "take-over, s", 1},
    {"process", "time", "process, ms", 1},
    {"crowd", "rate", "crowd, per s", 1},
    {"crowd", "served", "served", 0},
    {"documents", "rate", "documents, per s", 1},
};
#define COLUMNS (sizeof columns / sizeof *columns)

static void print_head(const char *first, int compared, FILE *out)
{
    fprintf(out, "| %s |", first);
    for (size_t c = 0; c < COLUMNS; c++)
        if (!compared || columns[c].compared)
            fprintf(out, " %.*s |", (int)strcspn(columns[c].head, compared ? "," : ""),
                    columns[c].head);
    fprintf(out, "\n|---|---|");
    for (size_t c = 0; c < COLUMNS; c++)
        if (!compared || columns[c].compared)
            fprintf(out, "---:|");
    fputc('\n', out);
}

static void print_values(json_t *bench, FILE *out)
{
    json_t *one, *measurement, *spread;
    const char *on_disk;
    size_t i;

    print_head("contestant | on disk", 0, out);
    json_array_foreach(json_object_get(bench, "contestants"), i, one)
    {
        on_disk = report_text(one, "on_disk");
        fprintf(out, "| %s | %s |", report_text(one, "name"),
                strcmp(on_disk, "grant and release") == 0 ? "both" : on_disk);
        for (size_t c = 0; c < COLUMNS; c++) {
            measurement = report_find(bench, columns[c].workload, report_text(one, "name"));
            spread = measurement ? report_spread(measurement, columns[c].metric) : NULL;
            if (spread) {
                fputc(' ', out);
                report_value(report_number(spread, "median"), out);
                fputc(' ', out);
            }
            fputc('|', out);
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* ---- ratios ---------------------------------------------------------------------------------- */

static int is_row_of(json_t *row, json_t *pair, const struct column *column)
{
    return strcmp(report_text(row, "rowlock"), report_text(pair, "rowlock")) == 0 &&
           strcmp(report_text(row, "peer"), report_text(pair, "peer")) == 0 &&
           (!column || (strcmp(report_text(row, "workload"), column->workload) == 0 &&
                        strcmp(report_text(row, "metric"), column->metric) == 0));
}

/* Bold, unless the repetitions lie on both sides of 1; with ~ if a value varied much. */
static void print_ratio(json_t *bench, json_t *row, FILE *out)
{
    json_t *ratio = json_object_get(row, "ratio");
    double low = report_number(ratio, "low"), high = report_number(ratio, "high");
    json_t *varies = json_object_get(row, "varies");
    const char *bold = low <= 1 && high >= 1 ? "" : "**";

    fprintf(out, " %s%.2f%s%s", bold, report_number(ratio, "median"), bold,
            varies && (json_number_value(varies) < 1 || json_number_value(varies) > 2) ? "~" : "");
    if (report_number(row, "repetitions") < report_number(bench, "repetitions"))
        fprintf(out, " (%.0f of %.0f)", report_number(row, "repetitions"),
                report_number(bench, "repetitions"));
    fputc(' ', out);
}

static const char *equality_of(json_t *pair)
{
    static const char grants[] = "grants equal";

    if (json_is_true(json_object_get(pair, "durability_equal")))
        return "equal";
    return strncmp(report_text(pair, "durability"), grants, strlen(grants)) == 0 ? grants
                                                                                 : "UNEQUAL";
}

static void print_pair(json_t *bench, json_t *rows, json_t *pair, FILE *out)
{
    json_t *row;
    size_t i;

    fprintf(out, "| %s/%s | %s |", report_text(pair, "rowlock"), report_text(pair, "peer"),
            equality_of(pair));
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!columns[c].compared)
            continue;
        json_array_foreach(rows, i, row)
        {
            if (is_row_of(row, pair, &columns[c]))
                print_ratio(bench, row, out);
        }
        fputc('|', out);
    }
    fputc('\n', out);
}

static void print_ratios(json_t *bench, FILE *out)
{
    json_t *rows = json_object_get(bench, "rows"), *row, *other;
    size_t i, k;

    print_head("rowlock/peer | on disk", 1, out);
    json_array_foreach(rows, i, row)
    {
        json_array_foreach(rows, k, other)
        {
            if (is_row_of(other, row, NULL))
                break;
        }
        if (k == i) /* the first of its pair */
            print_pair(bench, rows, row, out);
    }
    fputc('\n', out);
}

/* Overlaps and lost updates. All metrics of a workload have the same number. */
static void print_wrong(json_t *bench, FILE *out)
{
    json_t *one;
    size_t i;
    int found = 0;

    json_array_foreach(json_object_get(bench, "measurements"), i, one)
    {
        if (report_number(one, "overlaps") <= 0)
            continue;
        fprintf(out, "%s %.0f by %s (%s)",
                found++ ? "," : "Overlaps or lost updates:", report_number(one, "overlaps"),
                report_text(one, "contestant"), report_text(one, "workload"));
    }
    fprintf(out, "%s.\n", found ? "" : "No overlap and no lost update");
}

void report_markdown(json_t *bench, FILE *out)
{
    print_run(bench, out);
    print_missing(bench, out);
    print_values(bench, out);
    print_ratios(bench, out);
    print_wrong(bench, out);
}
