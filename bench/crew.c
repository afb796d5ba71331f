/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, synchronizes and ends the clients of one measurement (crew.h). */
#include "crew.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASSEMBLE_S 120 /* enough for a thousand sessions on a small machine */
#define STOP_S 30

struct bench_crew *bench_reports_to;
static pid_t members[BENCH_CLIENTS]; /* 0: none, or it has ended */

/* Keeps the first reason. `failed` means that the text is complete: a reader may kill the writer
   from then on. */
static void give_reason(struct bench_crew *crew, const char *why)
{
    if (atomic_exchange(&crew->failing, 1))
        return;
    snprintf(crew->why, sizeof crew->why, "%s", why);
    atomic_store(&crew->failed, 1);
}

void bench_die(const char *format, ...)
{
    char text[BENCH_WHY];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text[strcspn(text, "\n")] = 0;
    if (bench_reports_to)
        give_reason(bench_reports_to, text);
    else
        fprintf(stderr, "%s\n", text);
    _exit(1);
}

long long bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

void bench_rest(int us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000L};

    nanosleep(&time, NULL);
}

int bench_fork(void)
{
    pid_t parent = getpid(), pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    return pid;
}

struct bench_crew *bench_crew_new(void)
{
    struct bench_crew *crew = mmap(NULL, sizeof *crew, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return crew == MAP_FAILED ? NULL : crew;
}

void bench_crew_free(struct bench_crew *crew)
{
    if (crew)
        munmap(crew, sizeof *crew);
}

int bench_working(const struct bench_crew *crew)
{
    return atomic_load_explicit(&crew->phase, memory_order_relaxed) == BENCH_WORK;
}

void bench_sample(struct bench_crew *crew, double value)
{
    unsigned place = atomic_fetch_add(&crew->sampled, 1);

    if (place < BENCH_SAMPLES)
        crew->sample[place] = value;
}

/* The interval grows with the number of clients: a thousand that poll often would be a load of
   their own. */
static void until_phase(const struct bench_measurement *measurement, int phase)
{
    while (atomic_load(&measurement->crew->phase) < phase)
        bench_rest(500 + 20 * measurement->clients);
}

static unsigned long long cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (unsigned long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (unsigned long long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- the clients ----------------------------------------------------------------------------- */

/* Its CPU time is that of the whole process, because a client library may have threads. */
static _Noreturn void be_client(const struct bench_measurement *measurement, int client,
                                bench_work warm, bench_work work)
{
    struct bench_crew *crew = measurement->crew;
    unsigned long long began;
    void *session;

    bench_reports_to = crew;
    srandom((unsigned)getpid());
    session = measurement->peer->open(measurement->place, client);
    if (warm)
        warm(measurement, client, session);
    atomic_fetch_add(&crew->ready, 1);
    until_phase(measurement, BENCH_WORK);
    began = cpu_us();
    work(measurement, client, session);
    atomic_fetch_add(&crew->cpu_us, cpu_us() - began);
    atomic_fetch_add(&crew->done, 1);
    until_phase(measurement, BENCH_LEAVE);
    measurement->peer->close(session);
    _exit(0);
}

/* ---- supervising the clients ----------------------------------------------------------------- */

static void reset(struct bench_crew *crew)
{
    atomic_store(&crew->phase, BENCH_ASSEMBLE);
    atomic_store(&crew->ready, 0);
    atomic_store(&crew->done, 0);
    atomic_store(&crew->step, 0);
    atomic_store(&crew->stamp, 0);
    atomic_store(&crew->cpu_us, 0);
    crew->server_us = 0;
    atomic_store(&crew->failed, 0);
    atomic_store(&crew->failing, 0);
    atomic_store(&crew->sampled, 0);
    memset(crew->why, 0, sizeof crew->why);
    memset(crew->client, 0, sizeof crew->client);
}

static int fail(struct bench_crew *crew, const char *why)
{
    give_reason(crew, why);
    return -1;
}

/* A client that fails gives its reason by bench_die; one that was killed cannot. */
static int look_after(struct bench_crew *crew)
{
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (int i = 0; i < BENCH_CLIENTS; i++)
            if (members[i] == pid)
                members[i] = 0;
        if (status != 0)
            return fail(crew, "a client was killed");
    }
    return atomic_load(&crew->failed) ? -1 : 0;
}

static int await(struct bench_crew *crew, atomic_int *counter, int wanted, double seconds)
{
    long long until = bench_now() + (long long)(seconds * 1e9);

    while (atomic_load(counter) < wanted) {
        if (look_after(crew))
            return -1;
        if (bench_now() > until)
            return 1;
        bench_rest(500);
    }
    return 0;
}

int bench_crew_assemble(const struct bench_measurement *measurement, bench_work warm,
                        bench_work work)
{
    struct bench_crew *crew = measurement->crew;

    reset(crew);
    if (measurement->clients > BENCH_CLIENTS)
        return fail(crew, "too many clients");
    for (int i = 0; i < measurement->clients; i++) {
        members[i] = bench_fork();
        if (members[i] == 0)
            be_client(measurement, i, warm, work);
        if (members[i] < 0) {
            members[i] = 0;
            return fail(crew, strerror(errno));
        }
    }
    if (await(crew, &crew->ready, measurement->clients, ASSEMBLE_S))
        return fail(crew, "the clients were not ready in time");
    return 0;
}

void bench_crew_go(struct bench_crew *crew)
{
    atomic_store(&crew->phase, BENCH_WORK);
}

int bench_crew_await(const struct bench_measurement *measurement, double seconds)
{
    return await(measurement->crew, &measurement->crew->done, measurement->clients, seconds);
}

unsigned long bench_total(const struct bench_measurement *measurement)
{
    unsigned long sum = 0;

    for (int i = 0; i < measurement->clients; i++)
        sum += atomic_load(&measurement->crew->client[i].count);
    return sum;
}

int bench_crew_stop(const struct bench_measurement *measurement)
{
    struct bench_crew *crew = measurement->crew;

    atomic_store(&crew->phase, BENCH_STOP);
    if (await(crew, &crew->done, measurement->clients, STOP_S))
        return fail(crew, "some clients still waited half a minute after the end");
    return 0;
}

static int any_left(void)
{
    for (int i = 0; i < BENCH_CLIENTS; i++)
        if (members[i] > 0)
            return 1;
    return 0;
}

/* Kills all at once; otherwise each would acquire the lock of the one killed before it. */
static int kill_rest(void)
{
    int killed = 0;

    for (int i = 0; i < BENCH_CLIENTS; i++)
        if (members[i] > 0) {
            kill(members[i], SIGKILL);
            killed++;
        }
    for (int i = 0; i < BENCH_CLIENTS; i++)
        if (members[i] > 0) {
            waitpid(members[i], NULL, 0);
            members[i] = 0;
        }
    return killed;
}

/* Waits only a few seconds for a client that hangs in its work or in its close. */
int bench_crew_dismiss(const struct bench_measurement *measurement)
{
    struct bench_crew *crew = measurement->crew;
    long long until = bench_now() + 5000000000LL;

    if (atomic_load(&crew->phase) != BENCH_STOP || atomic_load(&crew->failed))
        until = 0;
    atomic_store(&crew->phase, BENCH_LEAVE);
    while (any_left() && bench_now() < until) {
        look_after(crew);
        bench_rest(500);
    }
    return kill_rest();
}

int bench_guarded(struct bench_crew *crew, void (*setup)(const struct bench_place *),
                  const struct bench_place *place)
{
    int status, pid;

    reset(crew);
    if (!setup)
        return 0;
    pid = bench_fork();
    if (pid == 0) {
        bench_reports_to = crew;
        setup(place);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return fail(crew, "its preparation failed");
    return 0;
}
