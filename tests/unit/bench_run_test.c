/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark's harness with peers that need no server: a correct one (flock), one that lets
 * every client in, one that is absent. The tests repeat until they find the expected defect,
 * however slow the machine.
 */
#include "lib/test.h"
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TRIES 200

static struct {
    atomic_int opened;
    char who[64];
} * diary; /* the clients that opened a session; shared memory */

static void *opened_by(char who)
{
    int place = atomic_fetch_add(&diary->opened, 1);

    if (place < 64)
        diary->who[place] = who;
    return diary;
}

#define OPENS(function, who)                                           \
    static void *function(const struct bench_place *place, int client) \
    {                                                                  \
        (void)place;                                                   \
        (void)client;                                                  \
        return opened_by(who);                                         \
    }
OPENS(open_a, 'A')
OPENS(open_b, 'B')
OPENS(open_c, 'C')

static void *open_nowhere(const struct bench_place *place, int client)
{
    (void)place;
    (void)client;
    bench_die("no answer at %s", "port 1\nand more");
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
    const char *path = t_say("%s/%u", right->folder, name);

    right->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (right->file < 0 || flock(right->file, LOCK_EX))
        bench_die("no lock on %s", path);
}

static void unlock_right(void *session, unsigned name)
{
    (void)name;
    close(((struct right *)session)->file);
}

#define PEER(name_, open_, acquire_, release_, close_)                                  \
    {                                                                                   \
        .name = (name_), .open = (open_), .acquire = (acquire_), .release = (release_), \
        .close = (close_), .server = ""                                                 \
    }
static const struct bench_peer right = PEER("right", open_right, lock_right, unlock_right, free);
static const struct bench_peer broken = PEER("broken", open_a, let_in, let_in, forget);
static const struct bench_peer broken_b = PEER("b", open_b, let_in, let_in, forget);
static const struct bench_peer broken_c = PEER("c", open_c, let_in, let_in, forget);
static const struct bench_peer nowhere = PEER("nowhere", open_nowhere, let_in, let_in, forget);
static const struct bench_pair no_pairs[] = {{NULL, NULL}};

static const char *no_server(const char *server, int *pid)
{
    (void)server;
    *pid = 0;
    return "";
}

static double process_cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

/* Uses a millisecond of CPU time. */
static void work_hard(void *session, unsigned name)
{
    double until = process_cpu_us() + 1000;

    (void)session;
    (void)name;
    while (process_cpu_us() < until)
        ;
}

static void *open_third_fails(const struct bench_place *place, int client)
{
    if (client == 2)
        bench_die("no session for client %d", client);
    return open_a(place, client);
}

static void be_killed(void *session, unsigned name)
{
    (void)session;
    (void)name;
    raise(SIGKILL);
}

static const struct bench_peer busy = PEER("busy", open_a, work_hard, let_in, forget);
static const struct bench_peer failing = PEER("failing", open_third_fails, let_in, let_in, forget);
static const struct bench_peer killed = PEER("killed", open_a, be_killed, let_in, forget);

static void *shared(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* ---- loaders: they run a script instead ------------------------------------------------------ */

static void say(struct bench_command *out, const char *script)
{
    out->argv[0] = "/bin/sh";
    out->argv[1] = "-c";
    out->argv[2] = script;
}

static void load_well(const struct bench_place *place, struct bench_command *out)
{
    (void)place;
    say(out, "printf '%s\\n' 'read 90' 'refused 5' 'documents/s 900' 'seconds 0.10' 'verified 7' "
             "'differs 0'");
}

static void load_with_losses(const struct bench_place *place, struct bench_command *out)
{
    (void)place;
    say(out,
        "printf '%s\\n' 'read 90' 'refused 5' 'seconds 0.05' 'verified 7' 'differs 3'; exit 1");
}

static void load_in_vain(const struct bench_place *place, struct bench_command *out)
{
    (void)place;
    say(out, "printf '%s\\n' 'read 90' 'seconds 0.10' 'verified 7' 'differs 0'; exit 1");
}

static const struct bench_peer loader = {.name = "loader", .load = load_well, .server = ""};
static const struct bench_peer losing = {.name = "losing", .load = load_with_losses, .server = ""};
static const struct bench_peer vain = {.name = "vain", .load = load_in_vain, .server = ""};

/* ---- a run ----------------------------------------------------------------------------------- */

static struct bench_options options_of(int repetitions)
{
    return (struct bench_options){.workloads = "",
                                  .place = {.url = "",
                                            .folder = getenv("ROWLOCK_TEST_TEMP"),
                                            .documents = "",
                                            .names = 2000,
                                            .ttl_ms = 60000},
                                  .seconds = 0.1,
                                  .repetitions = repetitions,
                                  .takeover_ttl_ms = 1000,
                                  .url_of = no_server};
}

static struct bench_results *results; /* of the last run */

static void begin_results(const struct bench_workload *table)
{
    bench_results_free(results);
    results = bench_results_new(table, no_pairs);
}

/* Of the only workload of the last run. */
static const struct bench_cell *cell(int contestant)
{
    return bench_cell_of(results, 0, contestant);
}

/* Runs one workload of the real table, with fewer clients. */
static void run(const char *workload, int clients, int repetitions,
                const struct bench_peer *const *peers)
{
    static struct bench_workload table[2];
    struct bench_options options = options_of(repetitions);

    if (!diary)
        diary = shared(sizeof *diary);
    memset(diary, 0, sizeof *diary);
    for (const struct bench_workload *one = bench_workloads; one->name; one++)
        if (strcmp(one->name, workload) == 0)
            table[0] = *one;
    t_text(table[0].name, workload);
    begin_results(table);
    table[0].clients = clients;
    for (; *peers; peers++)
        results->contestant[results->contestants++] = *peers;
    t_int(bench_run(&options, results), 0);
}
#define RUN(workload, clients, repetitions, ...) \
    run(workload, clients, repetitions, (const struct bench_peer *const[]){__VA_ARGS__, NULL})

static void must_be_found_out(const struct bench_peer *peer, const char *workload)
{
    unsigned long overlaps = 0;

    for (int tries = 0; tries < TRIES && overlaps == 0; tries++) {
        RUN(workload, 4, 1, peer);
        overlaps = cell(0)->overlaps;
    }
    t_true(overlaps > 0);
}

/* In the take-over the broken peer grants the lock while its holder is alive. */
TEST(a_broken_peer_is_found_out)
{
    static const char *const workloads[] = {"hot", "handover", "crowd"};

    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        must_be_found_out(&broken, workloads[i]);
    must_be_found_out(&broken, "takeover");
}

TEST(a_right_peer_is_measured_and_overlaps_nowhere)
{
    static const char *const workloads[] = {"uncontended-8", "names",    "hot",
                                            "handover",      "takeover", "crowd"};

    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        double value = 0;

        for (int tries = 0; tries < TRIES && value <= 0; tries++) {
            RUN(workloads[i], 4, 1, &right);
            t_int((int)cell(0)->overlaps, 0);
            value = cell(0)->taken ? cell(0)->values[0][0] : 0;
        }
        t_true(value > 0);
    }
}

TEST(the_crowd_is_served_to_the_last)
{
    RUN("crowd", 30, 1, &right);
    t_text(cell(0)->why, "");
    t_int((int)cell(0)->values[1][0], 29);
}

/* A client that got no processor in the time of a measurement has failed, and is left out of the
   next repetitions. */
static int had_no_processor(void)
{
    for (int i = 0; i < 3; i++)
        if (strstr(cell(i)->why, "no client acquired it"))
            return 1;
    return 0;
}

TEST(contestants_are_alternated)
{
    int tries = 0;

    do
        RUN("uncontended-1", 1, 4, &broken, &broken_b, &broken_c);
    while (had_no_processor() && ++tries < TRIES);
    t_text(diary->who, "ABCCBAABCCBA");
    for (int i = 0; i < 3; i++) {
        t_text(cell(i)->why, "");
        t_int(cell(i)->taken, 4);
    }
}

/* It is tried once, not again in the second repetition. */
TEST(a_failing_peer_gives_its_reason_and_the_others_continue)
{
    json_t *json, *measured;

    RUN("uncontended-8", 3, 2, &nowhere, &broken);
    json = bench_results_json(results);
    measured = json_object_get(json, "measurements");
    t_int(cell(0)->taken, 0);
    t_text(cell(0)->why, "no answer at port 1");
    t_int(cell(1)->taken, 2);
    t_int((int)json_array_size(measured), 2);
    t_text(json_string_value(json_object_get(json_array_get(measured, 0), "failed")),
           "no answer at port 1");
    json_decref(json);
}

TEST(the_cpu_time_of_a_client_is_measured)
{
    double cpu_us = 0;

    for (int tries = 0; tries < TRIES && cpu_us <= 0; tries++) {
        RUN("uncontended-8", 4, 1, &busy);
        cpu_us = cell(0)->client_us;
    }
    t_true(cpu_us >= 1000);
}

TEST(a_client_that_fails_says_why_and_one_that_is_killed_is_noticed)
{
    RUN("uncontended-8", 4, 1, &failing, &killed, &right);
    t_text(cell(0)->why, "no session for client 2");
    t_text(cell(1)->why, "a client was killed");
    t_int(cell(2)->taken, 1);
}

/* ---- documents, variants, the estimate ------------------------------------------------------- */

/* Runs until the slice ends: the second needs two turns. Updates that it lost do not count for
   the others. */
TEST(lost_updates_are_counted_and_reported)
{
    RUN("documents", 1, 1, &losing, &loader, &vain);
    t_text(cell(0)->why, "");
    t_int((int)cell(0)->overlaps, 6);
    t_int((int)(cell(0)->values[0][0] + 0.5), 1800);
    t_int((int)cell(0)->values[1][0], 180);
    t_int((int)cell(0)->values[2][0], 10);
    t_int((int)cell(0)->values[3][0], 6);
    t_int((int)cell(1)->overlaps, 0);
    t_int((int)(cell(1)->values[0][0] + 0.5), 900);
    t_contains(cell(2)->why, "the loader failed");
    json_decref(bench_results_json(results));
}

TEST(a_variant_is_measured_only_where_durability_matters)
{
    static struct bench_peer variant;
    static const char *const without[] = {"takeover", "crowd"};

    variant = right;
    variant.variant = 1;
    RUN("uncontended-8", 3, 1, &variant, &right);
    t_int(cell(0)->taken, 1);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        RUN(without[i], 3, 1, &variant, &right);
        t_int(cell(0)->taken, 0);
        t_int(cell(0)->failed, 0);
        t_int(cell(1)->taken, 1);
    }
}

/* Of the real table: omitted workloads do not count, and each repetition does. */
TEST(the_estimate_knows_what_will_be_measured)
{
    struct bench_options options = options_of(1);
    double hot, hot_twice, both;

    begin_results(bench_workloads);
    results->contestant[results->contestants++] = &right;
    options.workloads = "hot";
    hot = bench_estimate(&options, results);
    t_true(hot >= 0.1 && hot < 10);
    options.repetitions = 2;
    hot_twice = bench_estimate(&options, results);
    t_true(hot_twice > 1.99 * hot && hot_twice < 2.01 * hot);
    options.workloads = "hot takeover";
    both = bench_estimate(&options, results);
    t_true(both > hot_twice);
    options.workloads = "documents";
    t_true(bench_estimate(&options, results) <= 0);
}
