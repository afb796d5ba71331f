/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measurements of `make bench`. bench/run starts the servers and calls this program with their
 * URLs. It writes bench.json to standard output and progress to standard error.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define MOST 40

struct word { /* NAME=VALUE */
    char name[64];
    const char *value;
    int pid;
};
struct words {
    struct word word[MOST];
    int n;
};
static struct words servers, absent, facts;
static const char *wanted = ""; /* names of peers, separated by spaces; "": all */
static int list, memory;

static const char *url_of(const char *server, int *pid);
static void progress(const struct bench_workload *workload, const char *contestant, int repetition,
                     const struct bench_cell *cell);

static struct bench_options options = {.place = {.url = "",
                                                 .folder = ".",
                                                 .rowlock = "",
                                                 .psql = "psql",
                                                 .loader = "",
                                                 .documents = "",
                                                 .loader_options = "",
                                                 .made_up = 5000,
                                                 .names = 1000000,
                                                 .ttl_ms = 300000},
                                       .workloads = "",
                                       .seconds = 2,
                                       .repetitions = 5,
                                       .takeover_ttl_ms = 4000, /* the minimum of ZooKeeper */
                                       .url_of = url_of,
                                       .progress = progress};

/* ---- the command line ------------------------------------------------------------------------ */

static void usage(void)
{
    fprintf(stderr, "usage: bench --list | bench --server NAME=URL,PID ... (see bench/run)\n");
    exit(64);
}

static void take_flag(void *target, char *text)
{
    (void)text;
    *(int *)target = 1;
}

static void take_text(void *target, char *text)
{
    *(const char **)target = text;
}

static void take_seconds(void *target, char *text)
{
    *(double *)target = atof(text);
}

static void take_number(void *target, char *text)
{
    *(int *)target = atoi(text);
}

static void take_word(void *target, char *text)
{
    struct words *words = target;
    char *equals = strchr(text, '=');

    if (!equals || words->n == MOST || equals - text >= (long)sizeof words->word[0].name)
        usage();
    memcpy(words->word[words->n].name, text, (size_t)(equals - text));
    words->word[words->n++].value = equals + 1;
}

static void take_server(void *target, char *text)
{
    struct words *words = target;
    char *comma = strrchr(text, ',');

    if (comma)
        *comma = 0;
    take_word(words, text);
    words->word[words->n - 1].pid = comma ? atoi(comma + 1) : 0;
}

static const struct setting {
    const char *name;
    void (*take)(void *target, char *text);
    void *target;
} settings[] = {
    {"seconds", take_seconds, &options.seconds},
    {"repetitions", take_number, &options.repetitions},
    {"names", take_number, &options.place.names},
    {"quick", take_flag, &options.quick},
    {"folder", take_text, &options.place.folder},
    {"rowlock", take_text, &options.place.rowlock},
    {"psql", take_text, &options.place.psql},
    {"loader", take_text, &options.place.loader},
    {"documents", take_text, &options.place.documents},
    {"loader-options", take_text, &options.place.loader_options},
    {"made-up", take_number, &options.place.made_up},
    {"server", take_server, &servers},
    {"absent", take_word, &absent},
    {"fact", take_word, &facts},
    {"peers", take_text, &wanted},
    {"workloads", take_text, &options.workloads},
    {"memory", take_flag, &memory},
    {"list", take_flag, &list},
};
#define SETTINGS (sizeof settings / sizeof *settings)

static void parse(int argc, char **argv)
{
    struct option known[SETTINGS + 1] = {{0}};

    for (size_t i = 0; i < SETTINGS; i++)
        known[i] = (struct option){settings[i].name, settings[i].take != take_flag, NULL, (int)i};
    for (int i; (i = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (i < 0 || i >= (int)SETTINGS)
            usage();
        settings[i].take(settings[i].target, optarg);
    }
    if (optind < argc || options.seconds <= 0 || options.repetitions < 1 ||
        options.repetitions > BENCH_REPETITIONS || options.place.names < 2000 ||
        options.place.names > 100000000)
        usage();
}

/* ---- the contestants ------------------------------------------------------------------------- */

static const char *find(const struct words *words, const char *name, int *pid)
{
    for (int i = 0; i < words->n; i++)
        if (strcmp(words->word[i].name, name) == 0) {
            if (pid)
                *pid = words->word[i].pid;
            return words->word[i].value;
        }
    return NULL;
}

static const char *url_of(const char *server, int *pid)
{
    *pid = 0;
    return *server ? find(&servers, server, pid) : "";
}

/* rowlock's first contestant that is compared with this peer. */
static const char *first_of_ours(const char *peer)
{
    for (int i = 0; bench_pairs[i].ours; i++)
        if (strcmp(bench_pairs[i].peer, peer) == 0)
            return bench_pairs[i].ours;
    return "";
}

/* Whether this is a requested peer, or rowlock's first contestant for one. */
static int takes_part(const struct bench_peer *peer)
{
    if (!*wanted || bench_is_word(wanted, peer->name))
        return 1;
    for (int i = 0; bench_pairs[i].ours; i++)
        if (bench_is_word(wanted, bench_pairs[i].peer) &&
            strcmp(first_of_ours(bench_pairs[i].peer), peer->name) == 0)
            return 1;
    return 0;
}

static void absent_because(json_t *missing, const char *name, const char *why)
{
    fprintf(stderr, "absent: %s: %s\n", name, why);
    json_array_append_new(missing, json_pack("{s:s, s:s}", "peer", name, "why", why));
}

/* Selects the contestants, and reports requested peers whose server or client is missing. */
static json_t *choose(struct bench_results *results)
{
    json_t *missing = json_array();
    int pid;

    for (int f = 0; bench_peer_files[f]; f++)
        for (const struct bench_peer *peer = bench_peer_files[f]; peer->name; peer++) {
            const char *why = find(&absent, peer->server, NULL);

            if (!takes_part(peer))
                continue;
            if (url_of(peer->server, &pid))
                results->contestant[results->contestants++] = peer;
            else
                absent_because(missing, peer->name, why ? why : "its server was not started");
        }
    for (int i = 0; i < absent.n; i++)
        if (strncmp(absent.word[i].name, "client-", 7) == 0)
            absent_because(missing, absent.word[i].name + 7, absent.word[i].value);
    return missing;
}

static int knows_workloads(const char *words)
{
    char word[64];
    int n, known = 1;

    for (; known && sscanf(words, "%63s%n", word, &n) == 1; words += n) {
        known = 0;
        for (int w = 0; bench_workloads[w].name; w++)
            known |= strcmp(bench_workloads[w].name, word) == 0;
        if (!known)
            fprintf(stderr, "bench: no workload %s\n", word);
    }
    return known;
}

static void list_peers(void)
{
    for (int f = 0; bench_peer_files[f]; f++)
        for (const struct bench_peer *peer = bench_peer_files[f]; peer->name; peer++)
            if (takes_part(peer))
                printf("%s %s\n", peer->name, *peer->server ? peer->server : "-");
}

/* ---- progress -------------------------------------------------------------------------------- */

static void progress(const struct bench_workload *workload, const char *contestant, int repetition,
                     const struct bench_cell *cell)
{
    fprintf(stderr, "%2d  %-15s %-32s ", repetition + 1, workload->name, contestant);
    if (cell->failed)
        fprintf(stderr, "failed: %s", cell->why);
    else
        fprintf(stderr, "%12.3f", cell->values[0][cell->taken - 1]);
    if (cell->overlaps)
        fprintf(stderr, "  %lu %s so far", cell->overlaps, bench_wrong(workload));
    fputc('\n', stderr);
}

static json_t *facts_json(void)
{
    json_t *object = json_object();

    for (int i = 0; i < facts.n; i++)
        json_object_set_new(object, facts.word[i].name, json_string(facts.word[i].value));
    return object;
}

static int overlapped(const struct bench_results *results)
{
    for (int w = 0; results->workloads[w].name; w++)
        for (int i = 0; i < results->contestants; i++)
            if (results->contestant[i]->ours && bench_cell_of(results, w, i)->overlaps)
                return 1;
    return 0;
}

/* Prints a duration in seconds or minutes. */
static void tell(const char *what, double seconds)
{
    fprintf(stderr, seconds < 100 ? "bench: %s %.0f seconds\n" : "bench: %s %.0f minutes\n", what,
            seconds < 100 ? seconds : seconds / 60);
}

static json_t *document_of(const struct bench_results *results, json_t *missing, double took_s)
{
    json_t *document = bench_results_json(results);

    json_object_set_new(document, "facts", facts_json());
    json_object_set_new(document, "absent", missing);
    json_object_set_new(document, "seconds", json_real(options.seconds));
    json_object_set_new(document, "repetitions", json_integer(options.repetitions));
    json_object_set_new(document, "quick", json_boolean(options.quick));
    json_object_set_new(document, "takeover_ttl_s", json_real(options.takeover_ttl_ms / 1000.0));
    json_object_set_new(document, "names", json_integer(options.place.names));
    json_object_set_new(document, "took_s", json_real(took_s));
    return document;
}

int main(int argc, char **argv)
{
    struct bench_results *results;
    json_t *document, *missing;
    long long began;
    double took_s;
    int wrong;

    parse(argc, argv);
    if (!knows_workloads(options.workloads))
        return 64;
    if (list) {
        list_peers();
        return 0;
    }
    results = bench_results_new(bench_workloads, bench_pairs);
    results->volatile_storage = memory;
    missing = choose(results);
    if (options.quick)
        options.takeover_ttl_ms = 2000;
    tell("this will take about", bench_estimate(&options, results));
    began = bench_now();
    if (bench_run(&options, results))
        return 1;
    took_s = (double)(bench_now() - began) / 1e9;
    tell("it took", took_s);
    document = document_of(results, missing, took_s);
    json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(document);
    wrong = overlapped(results);
    bench_results_free(results);
    return wrong;
}
