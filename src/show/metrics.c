/* SPDX-License-Identifier: Apache-2.0 */
/* The verb metrics: locks, jobs and subjects for Prometheus, on standard output or in a file. */
#include "show/metrics/metrics.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/output/output.h"
#include "command/output/table.h"
#include "util/clock.h"

struct options {
    const char *output, *names;
};

static const struct option_row rows[] = {
    {"output", 0, required_argument, set_text, offsetof(struct options, output), 0, 0},
    {"name", 0, required_argument, set_text, offsetof(struct options, names), 0, 0},
    {0}};

static void read_options(struct command *command, struct options *options)
{
    scan_own_options(command, rows, options);
    if (command->json)
        usage_error(command, "metrics prints no JSON, only the text format of Prometheus; ls, jobs "
                             "and subjects print JSON");
    if (command->n_operands + command->n_rest > 0)
        usage_error(command, "metrics takes no NAME; --name GLOB adds the names of locks");
    if (options->names)
        check_pattern(command, options->names);
    if (options->output && !*options->output)
        usage_error(command, "--output needs the path of a file, or - for standard output");
    if (options->output && strcmp(options->output, "-") == 0)
        options->output = NULL;
}

struct writing {
    struct rowlock_connection *connection;
    const char *names;
    int status; /* not STATUS_OK: the database was not reached */
};

static int write_to(FILE *out, void *data)
{
    const struct writing *writing = data;
    struct metrics *metrics = writing->status ? NULL : metrics_new(writing->names);
    int64_t began_ms = rowlock__now_ms();
    struct rowlock_error error;
    int status = writing->status, code;

    if (metrics) {
        code = rowlock_list(writing->connection, NULL, metrics_lock, metrics, &error);
        if (!code)
            code = rowlock_jobs(writing->connection, NULL, metrics_job, metrics, &error);
        if (!code)
            code = rowlock_subjects(writing->connection, NULL, metrics_subject, metrics, &error);
        status = code ? report(&error) : STATUS_OK;
    }
    return metrics_end(metrics, status, rowlock__now_ms() - began_ms, out);
}

/* A name may have control characters, which the format leaves as they are. */
static int write_to_terminal(struct writing *writing)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int status = out ? write_to(out, writing) : STATUS_FAILED;

    if (!out || fclose(out))
        status = out_of_memory();
    else
        print_lines("", text);
    free(text);
    return status;
}

int cmd_metrics(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct options options = {0};
    struct writing writing;
    int status, written;

    read_options(command, &options);
    status = connect_by_lookup(command, &connection);
    if (status && status != STATUS_UNAVAILABLE)
        return status;
    writing = (struct writing){connection, options.names, status};
    if (options.output)
        written = replace_file(options.output, write_to, &writing);
    else if (isatty(STDOUT_FILENO))
        written = write_to_terminal(&writing);
    else
        written = write_to(stdout, &writing);
    rowlock_close(connection);
    return status ? status : written;
}
