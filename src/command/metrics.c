/* SPDX-License-Identifier: Apache-2.0 */
/* The verb metrics: locks, jobs and subjects for Prometheus, on standard output or in a file. */
#include "command/metrics/metrics.h"

#include <string.h>

#include "command/command.h"
#include "command/output/file.h"

struct options {
    const char *output, *names;
};

static void read_options(struct command *command, struct options *options)
{
    enum { OUTPUT = OPTION_OWN, NAMES };
    static const struct option long_options[] = {
        {"output", required_argument, NULL, OUTPUT}, {"name", required_argument, NULL, NAMES}, {0}};
    int option;

    while ((option = next_option(command, NULL, long_options)) != -1) {
        if (option == OUTPUT)
            options->output = optarg;
        else
            options->names = optarg;
    }
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
};

static int write_to(FILE *out, void *data)
{
    const struct writing *writing = data;

    return metrics_write(out, writing->connection, writing->names);
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
    writing = (struct writing){connection, options.names};
    written = options.output ? replace_file(options.output, write_to, &writing)
                             : write_to(stdout, &writing);
    rowlock_close(connection);
    return status ? status : written;
}
