/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board.h"

static const char help[] =
    "usage: documents --db URL [options] --id ELEMENT --time ELEMENT PATH...\n"
    "       documents --db URL [options] --generate N\n"
    "\n"
    "Registers XML documents in the table document (id, ts, body): creates a missing document,\n"
    "replaces a registered version by a newer one, and ignores any other. With any number of\n"
    "workers and machines, one transaction at a time handles each document.\n"
    "\n"
    "  --db URL         sqlite:PATH, postgresql://..., mariadb://... (default: $ROWLOCK_URL)\n"
    "  --workers N      processes that share the work (default 3)\n"
    "  --id ELEMENT     local name of the element that holds the id: its first occurrence\n"
    "  --time ELEMENT   local name of the element that holds the version's time (xs:dateTime; no\n"
    "                   zone: UTC)\n"
    "  --report FILE    a line for each refused document (default documents-refused.txt)\n"
    "  --generate N     generate N documents instead of reading PATH\n"
    "  --seed N         select other generated documents\n"
    "  --versions N     versions of each generated id, on average (default 4)\n"
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

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < least || value > most)
        usage("--%s takes a number from %" PRIu64 " to %" PRIu64, option, least, most);
    return value;
}

/* A local name is what it says in documents; a prefix is ignored there and here. */
static const char *element(const char *option, const char *text)
{
    const char *colon = strchr(text, ':');
    const char *name = colon ? colon + 1 : text;

    if (!*name || strlen(name) > 64 || strpbrk(name, " \t\r\n<>&\"'=/"))
        usage("--%s takes the name of an element", option);
    return name;
}

static char *take_url(char *text)
{
    char *copy = strdup(text);

    if (!copy)
        usage("out of memory");
    memset(text, '*', strlen(text));
    return copy;
}

enum {
    OPT_DB = 1,
    OPT_WORKERS,
    OPT_ID,
    OPT_TIME,
    OPT_REPORT,
    OPT_GENERATE,
    OPT_SEED,
    OPT_VERSIONS,
    OPT_VERIFY,
    OPT_NO_LOCK,
    OPT_EMPTY,
    OPT_HELP
};

static const struct option names[] = {{"db", required_argument, NULL, OPT_DB},
                                      {"workers", required_argument, NULL, OPT_WORKERS},
                                      {"id", required_argument, NULL, OPT_ID},
                                      {"time", required_argument, NULL, OPT_TIME},
                                      {"report", required_argument, NULL, OPT_REPORT},
                                      {"generate", required_argument, NULL, OPT_GENERATE},
                                      {"seed", required_argument, NULL, OPT_SEED},
                                      {"versions", required_argument, NULL, OPT_VERSIONS},
                                      {"verify", no_argument, NULL, OPT_VERIFY},
                                      {"no-lock", no_argument, NULL, OPT_NO_LOCK},
                                      {"empty", no_argument, NULL, OPT_EMPTY},
                                      {"help", no_argument, NULL, OPT_HELP},
                                      {NULL, 0, NULL, 0}};

static void take(struct options *o, int option)
{
    switch (option) {
    case OPT_DB:
        free(o->url);
        o->url = take_url(optarg);
        break;
    case OPT_WORKERS:
        o->workers = (unsigned)number("workers", optarg, 1, BOARD_WORKERS_MAX);
        break;
    case OPT_ID:
        o->id_element = element("id", optarg);
        break;
    case OPT_TIME:
        o->time_element = element("time", optarg);
        break;
    case OPT_REPORT:
        o->report = optarg;
        break;
    case OPT_GENERATE:
        o->generator.documents = number("generate", optarg, 1, UINT64_C(1000000000000));
        break;
    case OPT_SEED:
        o->generator.seed = number("seed", optarg, 0, UINT64_MAX);
        break;
    case OPT_VERSIONS:
        o->generator.versions = number("versions", optarg, 1, 4096);
        break;
    case OPT_VERIFY:
        o->verify = true;
        break;
    case OPT_NO_LOCK:
        o->no_lock = true;
        break;
    case OPT_EMPTY:
        o->empty = true;
        break;
    case OPT_HELP:
        fputs(help, stdout);
        exit(EXIT_SUCCESS);
    default:
        usage("bad option");
    }
}

static void check(struct options *o)
{
    if (!o->url && getenv("ROWLOCK_URL"))
        o->url = strdup(getenv("ROWLOCK_URL"));
    if (!o->url)
        usage("--db is missing");
    if (o->generator.documents) {
        if (*o->paths)
            usage("--generate takes no PATH");
        if (!o->id_element)
            o->id_element = "tradeId";
        if (!o->time_element)
            o->time_element = "updatedAt";
    } else if (!*o->paths) {
        usage("a PATH or --generate is needed");
    }
    if (!o->id_element || !o->time_element)
        usage("--id and --time are needed");
    for (char *const *path = o->paths; *path; path++) {
        if (access(*path, F_OK))
            usage("%s: %s", *path, strerror(errno));
    }
    o->generator.id_element = o->id_element;
    o->generator.time_element = o->time_element;
}

void options_parse(struct options *o, int argc, char **argv)
{
    int option;

    *o = (struct options){
        .workers = 3, .report = "documents-refused.txt", .generator = {.seed = 1, .versions = 4}};
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
        take(o, option);
    o->paths = argv + optind;
    check(o);
}
