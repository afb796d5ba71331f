/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulation as a test that prints TAP: stories with an expected text, some thousands of
 * histories that keep every promise, and a few deliberate mistakes that must break one.
 * `simulation jobs` does the same for farms and their jobs, `simulation tables` for a database
 * that has tables only, `simulation functions` for one with functions, `simulation crowd` for
 * crowds of waiters. As a soak (`make soak`, `make soak KIND=jobs`) it runs histories until one
 * fails; tests/simulation/run runs all kinds.
 *
 * Environment: SEED (of the first history), HISTORIES, WRONG (the number of a mistake), KIND (jobs,
 * tables, functions, or leases, the default). HISTORIES=1 prints the story of the history.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/crowd.h"
#include "simulation/farm.h"
#include "simulation/sim.h"
#include "simulation/stories.h"
#include "simulation/table.h"
#include "simulation/vfs.h"

#define FIRST_SEED 1
#define PROMISES "p1_p3_p4_p5_p6_p7_hold_"

/* How much of it a test run asks for (tests/run). */
struct effort {
    uint64_t quick, full;
};

/* The tests of a kind of histories. */
static const struct check {
    const struct sim_kind *kind;
    const struct story *stories;
    uint64_t told_again;        /* histories */
    struct effort right, wrong; /* histories; a mistake ends with the first that finds it */
    const char *name;
} checks[] = {
    {&sim_leases, file_stories, 5, {300, 3000}, {3000, 30000}, PROMISES "in"},
    {&sim_tables, table_stories, 5, {1500, 20000}, {10000, 20000}, PROMISES "over_tables_in"},
    {&sim_functions, NULL, 5, {1000, 20000}, {6000, 20000}, PROMISES "with_functions_in"},
    {&sim_farm, NULL, 1, {10, 60}, {10, 60}, "jobs_keep_their_promises_in"},
};

static unsigned test_number, failures;

static void result(bool good, const char *name)
{
    printf("%sok %u - %s\n", good ? "" : "not ", ++test_number, name);
    fflush(stdout);
    failures += !good;
}

/* Prints the text as comments of TAP. */
static void print_story(const char *story)
{
    while (*story) {
        size_t length = strcspn(story, "\n");

        printf("# %.*s\n", (int)length, story);
        story += length + (story[length] == '\n');
    }
}

static bool is_quick(void)
{
    const char *text = getenv("ROWLOCK_TEST_EFFORT");

    return text && strcmp(text, "quick") == 0;
}

static uint64_t histories_of(struct effort effort)
{
    return is_quick() ? effort.quick : effort.full;
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void tell_failure(uint64_t seed)
{
    print_story(story_text(true));
    printf("# KIND=%s SEED=%" PRIu64 " HISTORIES=1 tells it again%s%s: %s\n", sim.kind->name, seed,
           sim.kind == &sim_tables ? ", as on " : "", sim.kind == &sim_tables ? table_engine() : "",
           sim.failure);
}

/* How many histories kept every promise before one did not; `wanted` if all did. */
static uint64_t kept_of(uint64_t seed, uint64_t wanted)
{
    for (uint64_t i = 0; i < wanted; i++)
        if (!sim.kind->history(seed + i))
            return i;
    return wanted;
}

static bool is_told(const struct story *story)
{
    unsigned n = 0;

    while (n < SIM_CLIENTS && story->script[n])
        n++;
    return sim_scripted(story->script, n) && strcmp(story_text(false), story->text) == 0;
}

/* Whether some story breaks a promise. */
static bool one_fails(const struct story *story)
{
    for (; story->name; story++)
        if (!is_told(story) && *sim.failure)
            return true;
    return false;
}

static void run_stories(const struct story *story)
{
    for (; story && story->name; story++) {
        bool good = is_told(story);

        result(good, story->name);
        if (!good) {
            printf("# actual story:\n");
            print_story(story_text(false));
            printf("# instead of:\n");
            print_story(story->text);
        }
    }
}

static void run_right(const struct check *check, uint64_t seed)
{
    char name[120];
    uint64_t histories = histories_of(check->right), kept = kept_of(seed, histories);

    snprintf(name, sizeof name, "%s_%" PRIu64 "_histories", check->name, histories);
    result(kept == histories, name);
    if (kept < histories)
        tell_failure(seed + kept);
}

/* The sanitizers' run leaves the mistakes to the quick scope. */
static bool is_sanitized(void)
{
    const char *sanitizers = getenv("SANITIZE");

    return sanitizers && *sanitizers;
}

static void run_wrong(uint64_t seed, uint64_t histories)
{
    if (is_sanitized())
        return;
    for (int wrong = SIM_RIGHT + 1; wrong < SIM_WRONGS; wrong++) {
        uint64_t first = wrong_seed((enum sim_wrong)wrong), kept;
        char name[160];

        if (wrong_kind((enum sim_wrong)wrong) != sim.kind)
            continue;
        sim.wrong = (enum sim_wrong)wrong;
        snprintf(name, sizeof name, "found: %s", wrong_name(sim.wrong));
        if (sim.kind == &sim_tables && one_fails(table_stories)) {
            result(true, name);
            printf("# in a story, WRONG=%d: %s\n", wrong, sim.failure);
            continue;
        }
        first = first ? first : seed;
        kept = kept_of(first, histories);
        result(kept < histories, name);
        if (kept < histories)
            printf("# SEED=%" PRIu64 " WRONG=%d: %s\n", first + kept, wrong, sim.failure);
    }
    sim.wrong = SIM_RIGHT;
}

/* Crowds of waiters, and mistakes that one of them must find. */
static int run_crowds(void)
{
    unsigned seeds = is_quick() ? 5 : 20;

    for (const struct crowd_test *test = crowd_tests; test->name; test++) {
        bool good = test->run(seeds);

        result(good, test->name);
        if (!good)
            printf("# %s\n", sim.failure);
    }
    for (const struct crowd_wrong *it = crowd_wrongs; it->run && !is_sanitized(); it++) {
        char name[160];

        sim.wrong = it->wrong;
        snprintf(name, sizeof name, "found: %s", wrong_name(sim.wrong));
        result(!it->run(1), name);
        printf("# %s\n", *sim.failure ? sim.failure : "every crowd was served");
    }
    return failures != 0;
}

/* The same seed must give the same story. */
static void run_again(uint64_t seed, uint64_t histories)
{
    char *first;
    bool same = true;

    for (uint64_t i = 0; same && i < histories; i++) {
        sim.kind->history(seed + i);
        first = strdup(story_text(true));
        sim.kind->history(seed + i);
        same = first && strcmp(first, story_text(true)) == 0;
        free(first);
    }
    result(same, "a seed tells the same story again");
}

/* The farm of a whole year: every node keeps working, with a fault now and then. */
static void run_year(uint64_t seed)
{
    const struct farm_counts *counts = &farm_counts;
    bool good = sim.kind->history(seed);

    result(good, "a farm of 25 nodes keeps every promise for a year");
    if (!good)
        tell_failure(seed);
    printf("# %lu calls, %lu runs: %lu done, %lu failed, %lu timed out, %lu lost, %lu late, %lu "
           "broken; "
           "%lu repeats, %lu for several instants, %lu instants skipped\n",
           counts->calls, counts->runs, counts->ended[FARM_DONE], counts->ended[FARM_FAILED],
           counts->ended[FARM_TIMED_OUT], counts->ended[FARM_LOST], counts->ended[FARM_LATE],
           counts->ended[FARM_BROKEN], counts->repeats, counts->made_up, counts->skipped);
}

static int run_checks(uint64_t seed)
{
    const struct check *check = checks;

    while (check->kind != sim.kind)
        check++;
    run_stories(check->stories);
    run_again(seed, check->told_again);
    run_right(check, seed);
    run_wrong(seed, histories_of(check->wrong));
    if (sim.kind == &sim_farm && !is_quick())
        run_year(FARM_YEARS);
    return failures != 0;
}

static int soak(uint64_t seed, uint64_t histories)
{
    uint64_t kept;

    sim.wrong = (enum sim_wrong)(environment("WRONG", SIM_RIGHT) % SIM_WRONGS);
    for (uint64_t done = 0; done < histories; done += kept) {
        uint64_t part = histories - done < 10000 ? histories - done : 10000;

        kept = kept_of(seed + done, part);
        if (kept < part || histories == 1) {
            if (kept == part)
                print_story(story_text(true));
            else
                tell_failure(seed + done + kept);
            return kept < part;
        }
        printf("%" PRIu64 " histories from seed %" PRIu64 " kept every promise\n", done + part,
               seed);
        fflush(stdout);
    }
    return 0;
}

static const struct sim_kind *wanted_kind(const char *argument)
{
    enum sim_wrong wrong = (enum sim_wrong)(environment("WRONG", SIM_RIGHT) % SIM_WRONGS);
    const char *kind = getenv("KIND");

    if (strcmp(argument, "crowd") == 0)
        return &sim_crowd;
    for (size_t i = 1; i < sizeof checks / sizeof *checks; i++) /* the first is the default */
        if (strcmp(argument, checks[i].kind->name) == 0 ||
            (kind && strcmp(kind, checks[i].kind->name) == 0))
            return checks[i].kind;
    return wrong ? wrong_kind(wrong) : &sim_leases;
}

/* The first try of a process waits longer where our own clock ends it (src/emulate/work.c), as on
   Derby: that must not change what a seed repeats. */
static void warm_up(void)
{
    for (uint64_t seed = 0; sim.kind == &sim_tables && seed < 64; seed += 8)
        sim.kind->history(seed);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("ROWLOCK_TEST_TEMP");
    bool soaks = argc > 1 && strcmp(argv[1], "soak") == 0;
    uint64_t seed = environment("SEED", FIRST_SEED), histories = environment("HISTORIES", 0);
    int code = 0;

    /* histories allocate and free: keep the memory for the next one */
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    vfs_install();
    rows_open(folder && *folder ? folder : "/tmp");
    sim.kind = wanted_kind(argc > 1 ? argv[1] : "");
    sim_fill_pool();
    if (sim.kind == &sim_farm)
        farm_rows_open();
    warm_up();
    if (soaks || histories) {
        code = soak(seed, histories ? histories : 1000000);
    } else {
        code = sim.kind == &sim_crowd ? run_crowds() : run_checks(seed);
        printf("1..%u\n", test_number);
    }
    wrong_free();
    for (unsigned i = 0; i < SIM_ALL; i++)
        fiber_free(sim.client[i].fiber);
    sim_close_pool();
    if (sim.kind == &sim_farm)
        farm_rows_close();
    rows_close();
    table_free();
    return code;
}
