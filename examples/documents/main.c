/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents: the first job that rowlock was made for. Several workers, on one machine or many,
 * register XML documents that arrive in any order and in several versions; a lock on each
 * document's id keeps two of them from handling one document at the same time, also when it is not
 * registered yet. worker.c has the transaction; this file has the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "documents.h"
#include "store.h"

#define EXIT_USAGE 64
#define WORKERS_MAX 256

/* ---- options --------------------------------------------------------------------------------- */

static const char help[] =
    "usage: documents --db URL [options] --id ELEMENT --time ELEMENT PATH...\n"
    "       documents --db URL [options] --generate N\n"
    "\n"
    "Registers XML documents in the table document (id, ts, body): creates a missing document,\n"
    "replaces a registered version by a newer one, and ignores any other. With any number of\n"
    "workers and machines, one transaction at a time handles each document.\n"
    "\n"
    "  --db URL         sqlite:PATH, postgresql://..., mariadb://... (default: $ROWLOCK_URL)\n"
    "  --workers N      threads that share the work, each with a connection (default 3)\n"
    "  --id ELEMENT     local name of the element that holds the id: its first occurrence\n"
    "  --time ELEMENT   local name of the element that holds the version's time (xs:dateTime; no\n"
    "                   zone: UTC)\n"
    "  --report FILE    a line for each refused document (default documents-refused.txt)\n"
    "  --generate N     generate N documents instead of reading PATH\n"
    "  --seed N         select other generated documents\n"
    "  --verify         afterwards, compare the table with the newest version of each id\n"
    "  --no-lock        the same work without the lock, for comparison; loses updates\n"
    "  --empty          delete all documents first\n"
    "\n"
    "PATH is a file, or a folder that is read recursively. Exit status: 0 all work is done\n"
    "(refused documents count as done), 1 work is left undone or --verify found a difference,\n"
    "64 usage.\n";

static void usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void usage(const char *format, ...)
{
    va_list arguments;

    fputs("documents: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs(" (see --help)\n", stderr);
    exit(EXIT_USAGE);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < least || value > most)
        usage("'%s' is not a number from %llu to %llu", text, (unsigned long long)least,
              (unsigned long long)most);
    return value;
}

/* A local name is what it says in documents; a prefix is ignored there and here. */
static const char *element(const char *text)
{
    const char *colon = strchr(text, ':'), *name = colon ? colon + 1 : text;

    if (!*name || strlen(name) > 64 || strpbrk(name, " \t\r\n<>&\"'=/"))
        usage("'%s' is not the name of an element", text);
    return name;
}

static char *take_url(char *text)
{
    char *copy = strdup(text);

    memset(text, '*', strlen(text));
    return copy;
}

static void check(struct options *o)
{
    if (!o->url && getenv("ROWLOCK_URL"))
        o->url = strdup(getenv("ROWLOCK_URL"));
    if (!o->url)
        usage("--db is missing");
    if (!o->generate == !*o->paths)
        usage("either a PATH or --generate is needed");
    if (o->generate && !o->id_element)
        o->id_element = "tradeId";
    if (o->generate && !o->time_element)
        o->time_element = "updatedAt";
    if (!o->id_element || !o->time_element)
        usage("--id and --time are needed");
    for (char *const *path = o->paths; *path; path++)
        if (access(*path, F_OK))
            usage("%s: %s", *path, strerror(errno));
}

/* Exits after --help, and after an error in the options. */
static struct options options_of(int argc, char **argv)
{
    struct options o = {.workers = 3, .report = "documents-refused.txt", .seed = 1};
    const struct option names[] = {
        {"db", required_argument, NULL, 'd'},     {"workers", required_argument, NULL, 'w'},
        {"id", required_argument, NULL, 'i'},     {"time", required_argument, NULL, 't'},
        {"report", required_argument, NULL, 'r'}, {"generate", required_argument, NULL, 'g'},
        {"seed", required_argument, NULL, 's'},   {"verify", no_argument, &o.verify, 1},
        {"no-lock", no_argument, &o.no_lock, 1},  {"empty", no_argument, &o.empty, 1},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};

    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (option) {
        case 0: /* a flag, which is set */
            break;
        case 'd':
            free(o.url);
            o.url = take_url(optarg);
            break;
        case 'w':
            o.workers = (unsigned)number(optarg, 1, WORKERS_MAX);
            break;
        case 'i':
            o.id_element = element(optarg);
            break;
        case 't':
            o.time_element = element(optarg);
            break;
        case 'r':
            o.report = optarg;
            break;
        case 'g':
            o.generate = number(optarg, 1, UINT64_C(1000000000000));
            break;
        case 's':
            o.seed = number(optarg, 0, UINT64_MAX);
            break;
        case 'h':
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        default:
            usage("bad option");
        }
    }
    o.paths = argv + optind;
    check(&o);
    return o;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int stop_pipe[2];

/* The first signal makes the pipe readable, so that the workers stop; the second one ends the
   program. The database rolls back what is open then. */
static void on_signal(int which)
{
    (void)which;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (write(stop_pipe[1], "", 1) != 1)
        _exit(EXIT_FAILURE);
}

/* 0, or an error number. */
static int catch_signals(void)
{
    if (pipe2(stop_pipe, O_CLOEXEC))
        return errno;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_signal); /* also if a shell ignores it, for a command in the background */
    signal(SIGTERM, on_signal);
    return 0;
}

/* ---- the database ---------------------------------------------------------------------------- */

/* Installs rowlock's tables where they are missing. */
static int make_lockable(struct rowlock_connection *connection, struct rowlock_error *error)
{
    static const struct rowlock_want want = {.name = "DocumentTable:document",
                                             .mode = ROWLOCK_EXCLUSIVE};
    int code = rowlock_begin(connection, &want, 1, -1, error);

    if (code == ROWLOCK_ESCHEMA) {
        code = rowlock_install(connection, NULL, error);
        if (!code)
            code = rowlock_begin(connection, &want, 1, -1, error);
    }
    return code ? code : rowlock_rollback(connection, error);
}

static int set_up(const struct options *o, int stop_fd)
{
    struct store store;
    struct rowlock_error error;
    int code = store_open(&store, o, stop_fd, &error);

    if (!code)
        code = make_lockable(store.connection, &error);
    if (!code)
        code = store.engine->execute(&store, store.engine->create, &error);
    if (!code && o->empty)
        code = store.engine->execute(&store, "DELETE FROM document", &error);
    store_close(&store);
    if (code)
        fprintf(stderr, "documents: %s\n", error.text);
    return code;
}

int main(int argc, char **argv)
{
    struct options options = options_of(argc, argv);
    struct inputs inputs;
    int failed = catch_signals();

    if (failed) {
        fprintf(stderr, "documents: %s\n", strerror(failed));
        return EXIT_FAILURE;
    }
    if (set_up(&options, stop_pipe[0]))
        return EXIT_FAILURE;
    if (inputs_find(&inputs, &options)) {
        fputs("documents: out of memory for the list of files\n", stderr);
        return EXIT_FAILURE;
    }
    failed = load(&options, &inputs, stop_pipe[0]);
    if (!failed && options.verify)
        failed = verify(&options, &inputs, stop_pipe[0]);
    inputs_free(&inputs);
    free(options.url);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
