/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness with peers that need no server: a right one (flock), one that lets everybody in, one that is
 * not there. What must be found is looked for until it is found, however slow the machine.
 */
#include "lib/test.h"
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES 200

static struct {
    atomic_int opened;
    char who[64];
} * diary; /* of who opened a session, in shared memory */

static void *opened_by(char who)
{
    int place = atomic_fetch_add(&diary->opened, 1);

    if (place < 64)
        diary->who[place] = who;
    return diary;
}

static void *open_a(const struct bench_place *place, int client)
{
    (void)place;
    (void)client;
    return opened_by('A');
}

static void *open_b(const struct bench_place *place, int client)
{
    (void)place;
    (void)client;
    return opened_by('B');
}

static void *open_c(const struct bench_place *place, int client)
{
    (void)place;
    (void)client;
    return opened_by('C');
}

static void *open_nowhere(const struct bench_place *place, int client)
{
    (void)place;
    (void)client;
    bench_die("nobody answers at %s", "port 1\nand more");
}

static void let_in(void *session, unsigned name)
{
    (void)session;
    (void)name;
}

static void forget(void *session)
{
    (void)session;
}

struct right {
    const char *folder;
    int file;
};

static void *open_right(const struct bench_place *place, int client)
{
    struct right *right = calloc(1, sizeof *right);

    (void)client;
    right->folder = place->folder;
    return right;
}

static void lock_right(void *session, unsigned name)
{
    struct right *right = session;
    char path[600];

    snprintf(path, sizeof path, "%s/%u", right->folder, name);
    right->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (right->file < 0 || flock(right->file, LOCK_EX))
        bench_die("no lock on %s", path);
}

static void unlock_right(void *session, unsigned name)
{
    (void)name;
    close(((struct right *)session)->file);
}

static const struct bench_peer right = {.name = "right",
                                        .open = open_right,
                                        .acquire = lock_right,
                                        .release = unlock_right,
                                        .close = free,
                                        .server = ""};
static const struct bench_peer broken = {.name = "broken",
                                         .open = open_a,
                                         .acquire = let_in,
                                         .release = let_in,
                                         .close = forget,
                                         .server = ""};
static const struct bench_peer broken_b = {.name = "b",
                                           .open = open_b,
                                           .acquire = let_in,
                                           .release = let_in,
                                           .close = forget,
                                           .server = ""};
static const struct bench_peer broken_c = {.name = "c",
                                           .open = open_c,
                                           .acquire = let_in,
                                           .release = let_in,
                                           .close = forget,
                                           .server = ""};
static const struct bench_peer nowhere = {.name = "nowhere",
                                          .open = open_nowhere,
                                          .acquire = let_in,
                                          .release = let_in,
                                          .close = forget,
                                          .server = ""};
static const struct bench_pair no_pairs[] = {{NULL, NULL}};

static const char *no_server(const char *server, int *pid)
{
    (void)server;
    *pid = 0;
    return "";
}

/* One workload of the real table, with fewer clients. */
static struct bench_results *run(const char *workload, int clients, int repetitions,
                                 const struct bench_peer *const *peers)
{
    static struct bench_workload table[2];
    struct bench_options options = {
        .workloads = "",
        .place = {.url = "", .folder = getenv("ROWLOCK_TEST_TEMP"), .names = 2000, .ttl_ms = 60000},
        .seconds = 0.1,
        .repetitions = repetitions,
        .takeover_ttl_ms = 1000,
        .url_of = no_server};
    struct bench_results *results;

    if (!diary)
        diary =
            mmap(NULL, sizeof *diary, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(diary, 0, sizeof *diary);
    for (const struct bench_workload *one = bench_workloads; one->name; one++)
        if (strcmp(one->name, workload) == 0)
            table[0] = *one;
    t_text(table[0].name, workload);
    results = bench_results_new(table, no_pairs);
    table[0].clients = clients;
    for (; *peers; peers++)
        results->contestant[results->contestants++] = *peers;
    t_int(bench_run(&options, results), 0);
    return results;
}

TEST(a_broken_peer_is_found_out)
{
    static const struct bench_peer *const peers[] = {&broken, NULL};
    static const char *const workloads[] = {"hot", "handover", "crowd"};

    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        unsigned long overlaps = 0;

        for (int tries = 0; tries < TRIES && overlaps == 0; tries++) {
            struct bench_results *results = run(workloads[i], 4, 1, peers);

            overlaps = bench_cell_of(results, 0, 0)->overlaps;
            bench_results_free(results);
        }
        t_true(overlaps > 0);
    }
}

/* It has the lock while its holder lives. */
TEST(a_broken_peer_is_found_out_in_the_take_over)
{
    static const struct bench_peer *const peers[] = {&broken, NULL};
    unsigned long overlaps = 0;

    for (int tries = 0; tries < TRIES && overlaps == 0; tries++) {
        struct bench_results *results = run("takeover", 2, 1, peers);

        overlaps = bench_cell_of(results, 0, 0)->overlaps;
        bench_results_free(results);
    }
    t_true(overlaps > 0);
}

TEST(a_right_peer_is_measured_and_overlaps_nowhere)
{
    static const struct bench_peer *const peers[] = {&right, NULL};
    static const char *const workloads[] = {"uncontended-8", "names",    "hot",
                                            "handover",      "takeover", "crowd"};

    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        double value = 0;

        for (int tries = 0; tries < TRIES && value <= 0; tries++) {
            struct bench_results *results = run(workloads[i], 4, 1, peers);
            const struct bench_cell *cell = bench_cell_of(results, 0, 0);

            t_int((int)cell->overlaps, 0);
            value = cell->taken ? cell->values[0][0] : 0;
            bench_results_free(results);
        }
        t_true(value > 0);
    }
}

TEST(the_crowd_is_served_to_the_last)
{
    static const struct bench_peer *const peers[] = {&right, NULL};
    struct bench_results *results = run("crowd", 30, 1, peers);

    t_text(bench_cell_of(results, 0, 0)->why, "");
    t_int((int)bench_cell_of(results, 0, 0)->values[1][0], 29);
    bench_results_free(results);
}

TEST(contestants_are_alternated)
{
    static const struct bench_peer *const peers[] = {&broken, &broken_b, &broken_c, NULL};
    struct bench_results *results = run("uncontended-1", 1, 4, peers);

    t_text(diary->who, "ABCCBAABCCBA");
    for (int i = 0; i < 3; i++)
        t_int(bench_cell_of(results, 0, i)->taken, 4);
    bench_results_free(results);
}

/* Once is enough: it is not tried in the second repetition. */
TEST(who_fails_says_why_and_the_others_go_on)
{
    static const struct bench_peer *const peers[] = {&nowhere, &broken, NULL};
    struct bench_results *results = run("uncontended-8", 3, 2, peers);
    json_t *json = bench_results_json(results), *measured = json_object_get(json, "measurements");

    t_int(bench_cell_of(results, 0, 0)->taken, 0);
    t_text(bench_cell_of(results, 0, 0)->why, "nobody answers at port 1");
    t_int(bench_cell_of(results, 0, 1)->taken, 2);
    t_int((int)json_array_size(measured), 2);
    t_text(json_string_value(json_object_get(json_array_get(measured, 0), "failed")),
           "nobody answers at port 1");
    json_decref(json);
    bench_results_free(results);
}
