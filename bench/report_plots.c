/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the data of the plots. NAME.dat has a block per series: its title, its lines, two empty
 * lines. NAME.gp tells plots.gp the number of blocks and their colours: blue for rowlock, orange
 * for the peers. Series without a measurement are left out.
 */
#include "report.h"

#include <string.h>

#define MOST 100 /* contestants */

struct plot {
    FILE *data, *script;
    int blocks;
    char colours[2000];
};

static void begin_block(struct plot *plot, const char *title, const char *colour)
{
    size_t length = strlen(plot->colours);

    fprintf(plot->data, "\"%s\"\n", title);
    snprintf(plot->colours + length, sizeof plot->colours - length, "%s ", colour);
    plot->blocks++;
}

static void end_block(const struct plot *plot)
{
    fprintf(plot->data, "\n\n");
}

/* ---- bars ------------------------------------------------------------------------------------ */

struct series { /* bars of one shade */
    const char *workload, *title;
    const char *colour[2]; /* peers, rowlock */
};

static int has_any(json_t *bench, const struct series *series, int n, const char *contestant)
{
    for (int s = 0; s < n; s++) {
        json_t *one = report_find(bench, series[s].workload, contestant);

        if (one && report_spread(one, "rate"))
            return 1;
    }
    return 0;
}

/* Writes the contestants that were measured, in the order of the table, rowlock first. */
static int choose(json_t *bench, const struct series *series, int n, json_t **chosen)
{
    json_t *one;
    size_t i;
    int count = 0;

    for (int ours = 1; ours >= 0; ours--)
        json_array_foreach(
            json_object_get(bench, "contestants"), i,
            one) if (count < MOST && json_is_true(json_object_get(one, "rowlock")) == ours &&
                     has_any(bench, series, n, report_text(one, "name"))) chosen[count++] = one;
    return count;
}

static void print_series(json_t *bench, const struct series *series, int ours, double shift,
                         json_t **chosen, int count, struct plot *plot)
{
    char title[200];
    int begun = 0;

    for (int i = 0; i < count; i++) {
        json_t *one = report_find(bench, series->workload, report_text(chosen[i], "name"));
        json_t *spread = one ? report_spread(one, "rate") : NULL;

        if (!spread || json_is_true(json_object_get(chosen[i], "rowlock")) != ours)
            continue;
        if (!begun++) {
            snprintf(title, sizeof title, "%s: %s", ours ? "rowlock" : "peers", series->title);
            begin_block(plot, title, series->colour[ours]);
        }
        fprintf(plot->data, "%g %g %g %g\n", i + shift, report_number(spread, "median"),
                report_number(spread, "low"), report_number(spread, "high"));
    }
    if (begun)
        end_block(plot);
}

static void bars(json_t *bench, const struct series *series, int n, struct plot *plot)
{
    json_t *chosen[MOST];
    int count = choose(bench, series, n, chosen);

    for (int ours = 1; ours >= 0; ours--)
        for (int s = 0; s < n; s++)
            print_series(bench, &series[s], ours, (s - (n - 1) / 2.0) * 0.8 / n, chosen, count,
                         plot);
    if (count == 0)
        return;
    fprintf(plot->script, "width = %g\nset xrange [-0.7:%g]\nset xtics (", 0.8 / n, count - 0.3);
    for (int i = 0; i < count; i++)
        fprintf(plot->script, "%s\"%s\" %d", i ? ", " : "", report_text(chosen[i], "name"), i);
    fprintf(plot->script, ")\n");
}

static void throughput(json_t *bench, struct plot *plot)
{
    static const struct series series[] = {
        {"uncontended-1", "1 client", {"#fdd0a2", "#c6dbef"}},
        {"uncontended-8", "8 clients", {"#fd8d3c", "#6baed6"}},
        {"uncontended-32", "32 clients", {"#a63603", "#08519c"}},
    };

    bars(bench, series, sizeof series / sizeof *series, plot);
}

static void contended(json_t *bench, struct plot *plot)
{
    static const struct series series[] = {
        {"hot", "8 clients", {"#fd8d3c", "#6baed6"}},
        {"crowd", "a crowd that waits, each once", {"#a63603", "#08519c"}},
    };

    bars(bench, series, sizeof series / sizeof *series, plot);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int is_ours(json_t *bench, const char *contestant)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(bench, "contestants"), i,
                       one) if (strcmp(report_text(one, "name"), contestant) ==
                                0) return json_is_true(json_object_get(one, "rowlock"));
    return 0;
}

/* Writes milliseconds, and the percentage that was at least that fast. */
static void handover(json_t *bench, struct plot *plot)
{
    static const char *const colours[2][6] = {
        {"#fd8d3c", "#a63603", "#e31a1c", "#b15928", "#fb9a99", "#636363"},
        {"#08519c", "#6baed6", "#006d2c", "#74c476", "#6a51a3", "#41b6c4"}};
    int used[2] = {0, 0};
    json_t *one, *value;
    size_t i, k;

    json_array_foreach(json_object_get(bench, "measurements"), i, one)
    {
        const char *name = report_text(one, "contestant");
        json_t *quantiles = json_object_get(one, "quantiles");
        int ours = is_ours(bench, name);

        if (strcmp(report_text(one, "workload"), "handover") != 0 ||
            json_array_size(quantiles) == 0)
            continue;
        begin_block(plot, name, colours[ours][used[ours] % 6]);
        /* A repeated colour is dashed. */
        fprintf(plot->script, "dash_%d = %d\n", plot->blocks - 1, 1 + used[ours]++ / 6);
        json_array_foreach(quantiles, k, value)
            fprintf(plot->data, "%g %zu\n", json_number_value(value), k);
        end_block(plot);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

FILE *report_create(const char *folder, const char *name, const char *ending)
{
    char path[1000];

    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    return fopen(path, "w");
}

static int write_plot(json_t *bench, const char *folder, const char *name,
                      void (*print)(json_t *bench, struct plot *plot))
{
    struct plot plot = {.data = report_create(folder, name, "dat"),
                        .script = report_create(folder, name, "gp"),
                        .colours = ""};
    int failed = !plot.data || !plot.script;

    if (!failed) {
        print(bench, &plot);
        fprintf(plot.script, "blocks = %d\ncolours = \"%s\"\n", plot.blocks, plot.colours);
    }
    failed |= plot.data && fclose(plot.data);
    failed |= plot.script && fclose(plot.script);
    return failed ? -1 : 0;
}

int report_plots(json_t *bench, const char *folder)
{
    if (write_plot(bench, folder, "throughput", throughput) ||
        write_plot(bench, folder, "contended", contended) ||
        write_plot(bench, folder, "handover", handover))
        return -1;
    return 0;
}
