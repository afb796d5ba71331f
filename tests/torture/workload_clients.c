/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads by the packages of clients/ (worker.h): a program in another language, that of
 * clients/conformance, calls the package; this process tells it what to do, and logs. The language
 * is one of TORTURE_LANGUAGES; "c" is this process itself, by the library. The program is in the
 * folder TORTURE_PROGRAMS. It renews its lease in the background.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture/worker.h"

#define WAIT_MS 20000 /* as in workload_leases.c */
#define LIMIT 3

static struct {
    pid_t pid; /* 0: it does not run */
    FILE *to, *from;
    char answer[1000];
} program;

/* The language of this client; its number decides. */
static const char *language_of(const struct client *client)
{
    static char languages[200], *language[20];
    int n = 0;

    if (!language[0]) {
        snprintf(languages, sizeof languages, "%s", getenv("TORTURE_LANGUAGES"));
        for (char *one = strtok(languages, " "); one && n < 20; one = strtok(NULL, " "))
            language[n++] = one;
        language[0] = language[client->id % n];
    }
    return language[0];
}

/* ---- the program ----------------------------------------------------------------------------- */

static void end_program(void)
{
    if (!program.pid)
        return;
    kill(program.pid, SIGKILL);
    waitpid(program.pid, NULL, 0);
    fclose(program.to);
    fclose(program.from);
    program.pid = 0;
}

static void execute(const struct client *client, const int *in, const int *out)
{
    char path[500];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1 || dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
        _exit(1);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    snprintf(path, sizeof path, "%s/%s/run", getenv("TORTURE_PROGRAMS"), language_of(client));
    execl(path, path, client->url, NULL);
    _exit(1);
}

/* 0: it has answered; else it has ended. */
static int read_answer(void)
{
    if (fgets(program.answer, sizeof program.answer, program.from))
        return 0;
    end_program();
    return 1;
}

static void start_program(const struct client *client)
{
    int in[2], out[2];

    signal(SIGPIPE, SIG_IGN);
    if (pipe(in) || pipe(out) || (program.pid = fork()) < 0)
        abort();
    if (!program.pid)
        execute(client, in, out);
    close(in[0]);
    close(out[1]);
    program.to = fdopen(in[1], "w");
    program.from = fdopen(out[0], "r");
    read_answer();
}

/* The text after a member's name in the answer, or NULL. */
static const char *member(const char *name)
{
    char key[40];
    const char *at;

    snprintf(key, sizeof key, "\"%s\":", name);
    at = strstr(program.answer, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), " \"") : NULL;
}

static int64_t number(const char *name)
{
    const char *at = member(name);

    return at ? strtoll(at, NULL, 10) : 0;
}

enum reply { REPLY_OK, REPLY_BUSY, REPLY_LOST, REPLY_NONE };

/* Sends a command. NONE: it has failed, or the program has ended; its session may be lost, so it is
   started again by the next turn. */
__attribute__((format(printf, 1, 2))) static enum reply ask(const char *format, ...)
{
    static const char *const words[] = {"ok", "busy", "lost"};
    va_list arguments;
    const char *is;

    if (!program.pid)
        return REPLY_NONE;
    va_start(arguments, format);
    vfprintf(program.to, format, arguments);
    va_end(arguments);
    fputc('\n', program.to);
    if (fflush(program.to) || read_answer()) {
        end_program();
        return REPLY_NONE;
    }
    is = member("is");
    for (int i = 0; is && i <= REPLY_LOST; i++)
        if (strncmp(is, words[i], strlen(words[i])) == 0)
            return (enum reply)i;
    fprintf(stderr, "%s", program.answer);
    end_program();
    return REPLY_NONE;
}

static int starts(const struct client *client)
{
    if (!program.pid)
        start_program(client);
    return program.pid != 0 && !worker_stopped;
}

/* ---- a lease --------------------------------------------------------------------------------- */

/* When the lease ends at the earliest; 0: it is lost. */
static int64_t end_of_lease(void)
{
    int64_t before = worker_now();

    return ask("{\"do\": \"check\"}") == REPLY_OK ? before + number("remaining") * 1000000 : 0;
}

static int acquire(struct client *client, int key, int64_t *token)
{
    struct rowlock_want want = worker_want(client, key);
    char permits[40] = "";
    enum reply reply;

    if (want.mode == ROWLOCK_PERMIT)
        snprintf(permits, sizeof permits, ", \"permits\": %d", LIMIT);
    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    reply = ask("{\"do\": \"acquire\", \"name\": \"%s\", \"ttl\": %d, \"wait\": %d, "
                "\"mode\": \"%s\"%s}",
                want.name, worker_ttl_ms(), WAIT_MS, worker_modes[want.mode], permits);
    if (reply == REPLY_BUSY)
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, "1");
    if (reply != REPLY_OK) /* after an error it may have the lease */
        return 1;
    *token = number("token");
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 %d %" PRId64 " %" PRId64, (int)want.mode,
               want.mode == ROWLOCK_PERMIT ? LIMIT : 0, *token, end_of_lease());
    return 0;
}

/* The program has renewed it meanwhile. */
static void look_at_lease(struct client *client, int key)
{
    int64_t end;

    worker_log(client, PHASE_INVOKE, KIND_RENEW, key, " ");
    end = end_of_lease();
    worker_log(client, end ? PHASE_OK : PHASE_FAIL, KIND_RENEW, key, "%" PRId64, end);
}

/* Writes a counter's value in the program's transaction, as worker_write. */
static int write_value(const struct client *client, int key, int64_t value, int64_t token)
{
    return ask("{\"do\": \"execute\", \"sql\": \"UPDATE torture_value SET n = %" PRId64
               " WHERE k = %d\"}",
               value, key) ||
           ask("{\"do\": \"execute\", \"sql\": \"INSERT INTO torture_row (k, n, client, op, token) "
               "VALUES (%d, %" PRId64 ", %ld, %ld, %" PRId64 ")\"}",
               key, value, client->id, client->op, token);
}

static int write_fenced(struct client *client, int key, int64_t value, int64_t token)
{
    enum reply reply;

    worker_log(client, PHASE_INVOKE, KIND_FENCE, key, " ");
    reply = ask("{\"do\": \"fence\"}");
    worker_log(client, reply ? PHASE_FAIL : PHASE_OK, KIND_FENCE, key, " ");
    if (reply == REPLY_OK)
        worker_outlast(client);
    if (reply == REPLY_OK && write_value(client, key, value, token) == 0)
        return 0;
    ask("{\"do\": \"rollback\"}");
    return 1;
}

static enum phase commit(struct client *client)
{
    (void)client;
    return ask("{\"do\": \"commit\"}") ? PHASE_UNKNOWN : PHASE_OK;
}

/* Returns whether its fenced transaction has committed. */
static int use(struct client *client, int key, int64_t token)
{
    enum phase phase = PHASE_FAIL;

    if (client->workload->fenced) {
        phase = worker_act_fenced(client, key, token, write_fenced, commit);
        if (phase == PHASE_FAIL)
            worker_recover(client); /* the reader's session may be lost */
    } else if (client->workload->outside && end_of_lease())
        worker_act_outside(client, key);
    else
        worker_dwell(client);
    if (!worker_draw(client, 4)) {
        worker_outlast(client);
        look_at_lease(client, key);
    }
    return phase == PHASE_OK;
}

void turn_client_lease(struct client *client)
{
    long turn = client->op, last;
    int key = worker_draw(client, client->workload->keys);
    int64_t token = 0;
    enum reply reply;

    if (strcmp(language_of(client), "c") == 0) {
        turn_lease(client);
        return;
    }
    if (!starts(client) || acquire(client, key, &token))
        return;
    for (int i = 1; use(client, key, token) && i < client->workload->fenced; i++)
        client->op++;
    last = client->op;
    client->op = turn; /* that of the lease */
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    reply = ask("{\"do\": \"release\"}");
    worker_log(client, reply ? PHASE_UNKNOWN : PHASE_OK, KIND_LEAVE, key, " ");
    client->op = last;
}

/* ---- a counter under a transaction lock ------------------------------------------------------ */

static enum phase add(struct client *client, const char *name, int64_t *value)
{
    if (ask("{\"do\": \"lock\", \"name\": \"%s\", \"wait\": 3000}", name))
        return PHASE_FAIL;
    if (worker_sql(client, value, "SELECT n FROM torture_value WHERE k = 0")) {
        worker_recover(client);
        return PHASE_FAIL;
    }
    if (!worker_draw(client, 4))
        worker_dwell(client);
    if (write_value(client, 0, ++*value, 0))
        return PHASE_FAIL;
    return commit(client);
}

void turn_client_counter(struct client *client)
{
    enum phase phase;
    int64_t value = 0;

    if (strcmp(language_of(client), "c") == 0) {
        turn_counters(client);
        return;
    }
    if (!starts(client))
        return;
    worker_log(client, PHASE_INVOKE, KIND_ADD, 0, " ");
    phase = add(client, worker_name(client, 0), &value);
    worker_log(client, phase, KIND_ADD, 0, "%" PRId64, value);
    if (phase == PHASE_FAIL)
        ask("{\"do\": \"rollback\"}");
}

/* ---- runs of jobs ---------------------------------------------------------------------------- */

/* The program performs runs of all jobs side by side. The body of each waits until a turn has seen
   its begin, and ends it. */
static int serves(const struct client *client)
{
    static pid_t serving;

    if (program.pid == serving)
        return 1;
    for (int key = 0; key < client->workload->keys; key++)
        if (ask("{\"do\": \"job\", \"fresh\": %d, \"name\": \"%s\", \"body\": \"waits\", "
                "\"every\": \"3s\", \"ttl\": %d, \"retry\": 3, \"backoff\": 1}",
                key == 0, worker_name(client, key) + sizeof "job:" - 1, worker_ttl_ms()))
            return 0;
    if (ask("{\"do\": \"serve\"}"))
        return 0;
    serving = program.pid;
    return 1;
}

/* The run's lease is logged only while it is certain: a later run may have begun otherwise. */
static int is_begun(struct client *client, int key, int64_t token, int64_t due, int64_t retry)
{
    int64_t end;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    end = end_of_lease();
    if (!end) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, " ");
        return 0;
    }
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 %" PRId64 " %" PRId64,
               (int)ROWLOCK_EXCLUSIVE, token, end);
    worker_log(client, PHASE_INVOKE, KIND_BEGIN, key, " ");
    worker_log(client, PHASE_OK, KIND_BEGIN, key, "%" PRId64 " %" PRId64, due, retry);
    return 1;
}

/* Whether the database has the run as done. Its program records the end in the background. */
static enum phase is_done(struct client *client, int64_t token)
{
    int64_t state = 0, limit = worker_now() + INT64_C(1000000) * worker_ttl_ms();
    const char *run = strncmp(client->url, "postgresql", 10) == 0 ? "rowlock.run" : "rowlock_run";

    while (client->connection && !state && worker_now() < limit) { /* none: at its end */
        if (worker_sql(client, &state,
                       "SELECT max(CASE outcome WHEN 'running' THEN 0 WHEN 'done' THEN 1 ELSE 2 "
                       "END) FROM %s WHERE token = %" PRId64,
                       run, token)) {
            worker_recover(client);
            return PHASE_UNKNOWN;
        }
        worker_pause(2000);
    }
    return state == 1 ? PHASE_OK : PHASE_UNKNOWN;
}

void turn_client_job(struct client *client)
{
    long turn = client->op, last;
    int64_t token, due, retry;
    int key;

    if (strcmp(language_of(client), "c") == 0) {
        turn_job(client);
        return;
    }
    if (!starts(client) || !serves(client) || ask("{\"do\": \"began\", \"limit\": %d}", WAIT_MS))
        return;
    token = number("token");
    due = number("due");
    retry = number("number");
    key = atoi(member("job") + sizeof "torture " - 1);
    if (is_begun(client, key, token, due, retry))
        use(client, key, token);
    last = client->op;
    client->op = turn;
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    worker_log(client, PHASE_INVOKE, KIND_END, key, " ");
    if (ask("{\"do\": \"end\"}") == REPLY_OK)
        worker_log(client, is_done(client, token), KIND_END, key, " ");
    client->op = last;
}
