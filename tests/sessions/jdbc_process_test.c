/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JDBC driver and the process: it leaves signals, descriptors and threads alone, refuses
 * databases that cannot lock for others, and shows no password.
 * Runs on: alone
 * Needs: derby h2 hsqldb postgresql mariadb
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/jdbc/jni.h"
#include "driver/jdbc/jvm.h"
#include "lib/jdbc.h"
#include "lib/test.h"
#include "util/clock.h"

/* ---- the process --------------------------------------------------------------------------- */

static void on_signal(__attribute__((unused)) int signal)
{
}

static int jvm_needs(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

static unsigned long long blocked_by(const char *path)
{
    unsigned long long mask = 0;
    char line[200];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        sscanf(line, "SigBlk: %llx", &mask);
    if (file)
        fclose(file);
    return mask;
}

static int threads(void)
{
    char line[200];
    int n = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Threads: %d", &n);
    if (file)
        fclose(file);
    return n;
}

/* Every other thread blocks the signals of the application. */
static void check_masks(void)
{
    long tid, seen = 0;
    FILE *list;

    list = popen(t_say("ls /proc/%ld/task", (long)getpid()), "r");
    while (fscanf(list, "%ld", &tid) == 1) {
        static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2};
        unsigned long long mask;

        mask = blocked_by(t_say("/proc/self/task/%ld/status", tid));
        for (size_t i = 0; tid != getpid() && mask && i < sizeof ours / sizeof *ours; i++)
            if (!(mask >> (ours[i] - 1) & 1))
                t_fail(__FILE__, __LINE__, "thread %ld does not block signal %d", tid, ours[i]);
        seen++;
    }
    pclose(list);
    t_true(seen > 5);
}

/* The first test, because only the first session starts the JVM. */
TEST(jdbc_keeps_signal_handlers_and_masks)
{
    struct sigaction before[SIGSYS + 1], after, action = {.sa_handler = on_signal};
    unsigned long long mask;
    struct rowlock_link *link;

    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (int signal = 1; signal <= SIGSYS; signal++)
        sigaction(signal, NULL, &before[signal]);
    mask = blocked_by("/proc/self/status");
    t_true(getenv("_JAVA_SR_SIGNUM") == NULL);
    link = t_jdbc_open(&t_jdbc_h2);
    for (int signal = 1; signal <= SIGSYS; signal++) {
        sigaction(signal, NULL, &after);
        if (!jvm_needs(signal) && after.sa_handler != before[signal].sa_handler)
            t_fail(__FILE__, __LINE__, "signal %d has another handler", signal);
    }
    t_int((long long)blocked_by("/proc/self/status"), (long long)mask);
    t_true(getenv("_JAVA_SR_SIGNUM") == NULL);
    check_masks();
    t_jdbc()->close(link);
    signal(SIGUSR2, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

TEST(jdbc_a_child_process_does_not_use_the_jvm)
{
    struct rowlock_link *link = t_jdbc_open(&t_jdbc_h2);
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        struct rowlock_link *own = NULL;

        _exit(t_jdbc_open_url(t_jdbc_url(&t_jdbc_h2), NULL, &own) == ROWLOCK_EDRIVER &&
                      strstr(t_error.text, "after exec()")
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    t_true(WIFEXITED(status));
    t_int(WEXITSTATUS(status), 0);
    t_int(t_jdbc_ask(link, "SELECT 7"), 7);
    t_jdbc()->close(link);
}

T_JDBC_ON_EACH(leaves_no_descriptor_to_a_command)
{
    struct rowlock_link *link = t_jdbc_prepare(on);
    int fd = t_jdbc()->socket(link);

    t_true(fd >= 0);
    /* a command that was started now has no other socket, and no other file */
    t_int(WEXITSTATUS(system("for fd in /proc/self/fd/*; do case $(readlink $fd) in "
                             "socket:* | */lib/modules | *.jar) exit 9 ;; esac; done")),
          0);
    t_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    t_jdbc()->close(link);
}

struct stranger {
    const struct t_jdbc_facts *on;
    struct rowlock_link *link;
    int code;
    int64_t number;
};

static void *use_session(void *data)
{
    struct stranger *stranger = data;
    struct rowlock_statement statement = {"test", "SELECT COUNT(*) FROM item", 0, "", NULL};
    struct rowlock_call call = {
        .statement = &statement, .row = t_jdbc_take_number, .data = &stranger->number};
    struct rowlock_budget minute = {rowlock__now_ms() + 60000, -1, 0};
    struct rowlock_outcome out;

    stranger->code = t_jdbc()->run(stranger->link, ROWLOCK_INSIDE, &call, 1, &minute, &out, NULL);
    return NULL;
}

TEST(jdbc_any_thread_can_use_a_session)
{
    struct rowlock_link *link = t_jdbc_prepare(&t_jdbc_h2);
    int before = threads();

    for (int i = 0; i < t_effort(20, 200); i++) {
        struct stranger stranger = {.link = link};
        pthread_t thread;

        t_int(pthread_create(&thread, NULL, use_session, &stranger), 0);
        pthread_join(thread, NULL);
        t_int(stranger.code, ROWLOCK_OK);
        t_int(stranger.number, 2);
    }
    t_true(threads() <= before + 2);
    t_jdbc()->close(link);
}

/* ---- a thread that ends --------------------------------------------------------------------- */

typedef int32_t created_vms(rowlock__jni_vm **vms, int32_t size, int32_t *n);

static int32_t (*detach)(rowlock__jni_vm *vm);
static int detached, detached_without_errors;

/* In place of the JVM's function: notes whether the thread blocks an error of the processor. */
static int32_t check_and_detach(rowlock__jni_vm *vm)
{
    sigset_t mask;

    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    detached++;
    for (int signal = 1; signal <= SIGSYS; signal++)
        if (jvm_needs(signal) && sigismember(&mask, signal))
            detached_without_errors++;
    return detach(vm);
}

/* A JVM executes Java code while it detaches a thread. Its compiled code stops at a safepoint by a
   SIGSEGV; if the thread blocks that signal, the system kills the process, without a message. */
TEST(jdbc_a_thread_that_ends_can_stop_at_a_safepoint)
{
    struct rowlock_link *link = t_jdbc_open(&t_jdbc_h2); /* the JVM runs */
    created_vms *created;
    void *library = NULL, *symbol;
    rowlock__jni_vm *vm = NULL, own;
    struct rowlock__jni_invoke table;
    int32_t n = 0;

    t_jdbc()->close(link);
    t_ok(rowlock__jdbc_find_jvm(&library, &t_error));
    symbol = dlsym(library, "JNI_GetCreatedJavaVMs");
    memcpy(&created, &symbol, sizeof symbol);
    t_int(created(&vm, 1, &n), 0);
    t_int(n, 1);
    own = *vm;
    table = *own;
    detach = table.DetachCurrentThread;
    table.DetachCurrentThread = check_and_detach;
    *vm = &table;
    link = t_jdbc_open(&t_jdbc_h2); /* by a thread that blocks all signals, and ends */
    *vm = own;
    t_jdbc()->close(link);
    t_int(detached, 1);
    t_int(detached_without_errors, 0);
}

/* ---- refusals ------------------------------------------------------------------------------ */

TEST(jdbc_refuses_databases_that_cannot_lock_for_others)
{
    static const char *const urls[][2] = {
        {"jdbc:derby:test;create=true", "jdbc:derby://HOST:1527/DATABASE"},
        {"jdbc:derby:memory:test", "start Derby's network server"},
        {"jdbc:h2:mem:test", "jdbc:h2:tcp://HOST:9092/DATABASE"},
        {"jdbc:h2:~/test", "start H2's TCP server"},
        {"jdbc:h2:file:/tmp/test;AUTO_SERVER=TRUE", "start H2's TCP server"},
        {"jdbc:hsqldb:mem:test", "jdbc:hsqldb:hsql://HOST:9001/DATABASE"},
        {"jdbc:HSQLDB:file:/tmp/test", "start HSQLDB's server"},
        {"jdbc:hsqldb:res:test", "start HSQLDB's server"},
        {"jdbc:firebirdsql://localhost/test", "use another database"},
        {"jdbc:sqlite:/tmp/test", "write sqlite:PATH"},
    };
    struct rowlock_link *link = NULL;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        t_fails(t_jdbc_open_url(urls[i][0], NULL, &link), EINVAL);
        t_contains(t_error.text, urls[i][1]);
    }
    t_fails(t_jdbc_open_url("jdbc:nosuch://127.0.0.1/test", NULL, &link), EDRIVER);
    t_contains(t_error.text, "no JDBC driver for 'jdbc:nosuch:'; name its jar");
}

TEST(jdbc_messages_hide_passwords)
{
    char path[300], url[300];
    struct rowlock_link *link = t_jdbc_open(&t_jdbc_h2);
    FILE *file;

    snprintf(path, sizeof path, "%s/password", getenv("ROWLOCK_TEST_TEMP"));
    file = fopen(path, "w");
    fputs("no-such-secret\n", file);
    fclose(file);
    chmod(path, 0600);
    snprintf(url, sizeof url, "%s", t_jdbc_url(&t_jdbc_h2));
    *strstr(url, ";USER=") = '\0';
    setenv("ROWLOCK_USER", "sa", 1);
    setenv("ROWLOCK_PASSWORD_FILE", path, 1);
    t_fails(t_jdbc_open_url(url, NULL, &link), EDENIED);
    t_lacks(t_error.text, "no-such-secret");
    file = fopen(path, "w");
    fputs("secret\n", file);
    fclose(file);
    t_jdbc()->close(link);
    t_ok(t_jdbc_open_url(url, NULL, &link)); /* the right one */
    chmod(path, 0644);
    t_fails(t_jdbc_open_url(url, NULL, &link), EDENIED);
    t_contains(t_error.text, "chmod 600");
    unsetenv("ROWLOCK_USER");
    unsetenv("ROWLOCK_PASSWORD_FILE");
    t_jdbc()->close(link);
    strcat(url, ";USER=sa;PASSWORD=another-secret;");
    for (int n = 10; n < 500; n += n < 440 ? 200 : 3) { /* the message is cut somewhere */

        t_true(t_jdbc_open_url(t_say("%s%0*danother-secret=1", url, n, 0), NULL, &link) !=
               ROWLOCK_OK);
        t_contains(t_error.text, "000");
        t_lacks(t_error.text, "anot");
    }
}
