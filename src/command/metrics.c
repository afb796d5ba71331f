/* SPDX-License-Identifier: Apache-2.0 */
/* The verb metrics: locks, jobs and subjects for Prometheus, on standard output or in a file. */
#include "command/metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

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
    if (command->n_operands + command->n_rest > 0)
        usage_error(command, "metrics takes no NAME; --name GLOB adds the names of locks");
    if (options->output && !*options->output)
        usage_error(command, "--output needs the path of a file");
}

/* ---- the file -------------------------------------------------------------------------------- */

static int file_failed(const char *action, const char *path)
{
    message("cannot %s %s: %s", action, path, strerror(errno));
    return STATUS_FAILED;
}

/* The reader is another account, so the umask alone restricts the file. */
static FILE *open_beside(char *path)
{
    mode_t mask = umask(077);
    int fd = mkstemp(path);

    umask(mask);
    if (fd < 0)
        return NULL;
    if (fchmod(fd, 0666 & ~mask) == 0) {
        FILE *out = fdopen(fd, "w");

        if (out)
            return out;
    }
    close(fd);
    unlink(path);
    return NULL;
}

static int replace(const char *output, FILE *out, const char *path)
{
    int failed = fflush(out) || ferror(out) || fsync(fileno(out));

    if (fclose(out) || failed || rename(path, output)) {
        int status = file_failed("write", output);

        unlink(path);
        return status;
    }
    return STATUS_OK;
}

/* The file is replaced as a whole: a reader sees the old one or the new one. */
static int write_file(const char *output, struct rowlock_connection *connection, const char *names)
{
    char *path;
    FILE *out;
    int status, written;

    if (asprintf(&path, "%s.XXXXXX", output) < 0)
        return message("out of memory"), STATUS_FAILED;
    out = open_beside(path);
    if (!out) {
        status = file_failed("create", path);
    } else {
        status = metrics_write(out, connection, names);
        written = replace(output, out, path);
        status = status ? status : written;
    }
    free(path);
    return status;
}

int cmd_metrics(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct options options = {0};
    int status, written;

    read_options(command, &options);
    status = connect_by_lookup(command, &connection);
    if (status && status != STATUS_UNAVAILABLE)
        return status;
    written = options.output ? write_file(options.output, connection, options.names)
                             : metrics_write(stdout, connection, options.names);
    rowlock_close(connection);
    return status ? status : written;
}
