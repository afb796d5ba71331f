/* SPDX-License-Identifier: Apache-2.0 */
/* Collects samples, and writes them in the text format of Prometheus, version 0.0.4. */
#include "show/metrics/sample.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

static const struct {
    const char *name, *type, *help;
} metrics[METRICS] = {
#define XX(metric, ...) {__VA_ARGS__},
    METRICS_TABLE(XX)
#undef XX
};

int samples_open(struct samples *samples)
{
    *samples = (struct samples){0};
    for (int i = 0; i < METRICS; i++) {
        samples->of[i].out = open_memstream(&samples->of[i].text, &samples->of[i].size);
        if (!samples->of[i].out)
            return 1;
    }
    return 0;
}

static void put_value(FILE *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            putc(*value, out);
    }
}

static FILE *begin(struct samples *samples, enum metric metric, va_list labels)
{
    FILE *out = samples->of[metric].out;
    const char *label, *between = "{";

    fputs(metrics[metric].name, out);
    while ((label = va_arg(labels, const char *))) {
        fprintf(out, "%s%s=\"", between, label);
        put_value(out, va_arg(labels, const char *));
        putc('"', out);
        between = ",";
    }
    if (*between == ',')
        putc('}', out);
    return out;
}

void sample_count(struct samples *samples, enum metric metric, int64_t count, ...)
{
    va_list labels;

    va_start(labels, count);
    samples->failed |= fprintf(begin(samples, metric, labels), " %" PRId64 "\n", count) < 0;
    va_end(labels);
}

void sample_time(struct samples *samples, enum metric metric, int64_t ms, ...)
{
    va_list labels;

    if (ms < 0)
        ms = 0;
    va_start(labels, ms);
    samples->failed |= fprintf(begin(samples, metric, labels), " %" PRId64 ".%03d\n", ms / 1000,
                               (int)(ms % 1000)) < 0;
    va_end(labels);
}

int samples_write(struct samples *samples, FILE *out)
{
    for (int i = 0; i < METRICS; i++)
        if (fflush(samples->of[i].out) || samples->failed)
            return 1;
    for (int i = 0; i < METRICS; i++)
        if (samples->of[i].size > 0)
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s", metrics[i].name, metrics[i].help,
                    metrics[i].name, metrics[i].type, samples->of[i].text);
    return 0;
}

void samples_close(struct samples *samples)
{
    for (int i = 0; i < METRICS; i++) {
        if (samples->of[i].out)
            fclose(samples->of[i].out);
        free(samples->of[i].text);
    }
}
