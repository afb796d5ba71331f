/* SPDX-License-Identifier: Apache-2.0 */
/* The Java virtual machine: its start, and calls of the helper class. */
#include "driver/jdbc/jvm.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/jdbc/jni.h"
#include "util/bytes.h"
#include "util/error.h"

extern char **environ;

typedef rowlock__jni_object object;

static struct {
    pthread_mutex_t lock;
    rowlock__jni_vm *vm; /* NULL: not started */
    pid_t pid;           /* the process that started it */
    int32_t failed;      /* the error of a failed start, which a process cannot repeat */
    pthread_key_t attached;
    object class;
    rowlock__jni_method open, request, cancel, close;
} java = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- signals ------------------------------------------------------------------------------- */

/* Errors of the processor: the JVM causes and handles some of them in normal operation. */
static const int errors[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

struct shield {
    sigset_t mask;     /* before */
    bool pipe_pending; /* before: not Java's */
};

/* Blocks SIGPIPE in this thread, because Java writes to sockets without MSG_NOSIGNAL. Unblocks the
   errors of the processor, because Java handles them. `*before` is for lower_shield. */
static void raise_shield(struct shield *before)
{
    sigset_t pipe, set;

    sigpending(&set);
    before->pipe_pending = sigismember(&set, SIGPIPE);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before->mask);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        sigaddset(&set, errors[i]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Discards the SIGPIPE that Java caused, even if the caller blocks it: it would find it later. */
static void lower_shield(const struct shield *before)
{
    static const struct timespec none;
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!before->pipe_pending)
        while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}

/*
 * The JVM unblocks SIGUSR2 in all its threads, for its own use. That signal would then end a
 * process that reads its signals by signalfd. Only an environment variable chooses another signal.
 * This function makes a new environment array, because setenv() may free memory that another thread
 * reads. NULL: the variable is set already.
 */
static char **other_signal(void)
{
    static char variable[] = "_JAVA_SR_SIGNUM=60";
    char **list;
    size_t n = 0;

    if (getenv("_JAVA_SR_SIGNUM"))
        return NULL;
    while (environ && environ[n])
        n++;
    list = calloc(n + 2, sizeof *list);
    if (list && n > 0)
        memcpy(list + 1, environ, n * sizeof *list);
    if (list)
        list[0] = variable;
    return list;
}

/* ---- the start ----------------------------------------------------------------------------- */

typedef int32_t create_vm(rowlock__jni_vm **vm, void **env, void *arguments);
typedef int32_t created_vms(rowlock__jni_vm **vms, int32_t size, int32_t *n);

/* Creates the JVM and restores the signal handlers. Only in between can a signal reach a handler of
   the JVM. */
static int32_t create_quietly(create_vm *create, rowlock__jni_vm **vm, void **env,
                              struct rowlock__jni_start *arguments)
{
    static char **list; /* stays: another thread may be reading it */
    struct sigaction actions[SIGSYS + 1];
    char **before = environ;
    sigset_t kept;
    int32_t failed;

    for (int signal = 1; signal <= SIGSYS; signal++)
        sigaction(signal, NULL, &actions[signal]);
    list = other_signal();
    if (list)
        environ = list;
    failed = create(vm, env, arguments);
    if (list && environ == list)
        environ = before;
    sigemptyset(&kept);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        sigaddset(&kept, errors[i]);
    for (int signal = 1; signal <= SIGSYS; signal++)
        if (!sigismember(&kept, signal))
            sigaction(signal, &actions[signal], NULL);
    return failed;
}

static int start_fails(int32_t failed, struct rowlock_error *error)
{
    java.failed = failed;
    return rowlock__fail(error, ROWLOCK_EDRIVER,
                         "the Java virtual machine does not start (error %d); its message is on "
                         "the standard output or error",
                         (int)failed);
}

static int create(create_vm *start, rowlock__jni_vm **vm, void **env, struct rowlock_error *error)
{
    char *path = rowlock__jdbc_class_path(), *class_path = NULL;
    struct rowlock__jni_option options[] = {
        {NULL, NULL},
        {"-XX:TieredStopAtLevel=1", NULL},
        {"-XX:+UseSerialGC", NULL},
        {"-Xmx32m", NULL},
        {"-Xrs", NULL},
        {"-XX:-UsePerfData", NULL},
    };
    struct rowlock__jni_start arguments = {JNI_VERSION, sizeof options / sizeof *options, options,
                                           0};
    int32_t failed;

    if (path)
        class_path = rowlock__join("-Djava.class.path=", path, "");
    if (!class_path) {
        free(path);
        return rowlock__no_memory(error);
    }
    options[0].text = class_path;
    failed = create_quietly(start, vm, env, &arguments);
    free(class_path);
    free(path);
    return failed ? start_fails(failed, error) : ROWLOCK_OK;
}

/* Runs when a thread ends, which may block all signals: the JVM executes Java code here too. */
static void detach(void *vm)
{
    struct shield before;

    raise_shield(&before);
    (*(rowlock__jni_vm *)vm)->DetachCurrentThread(vm);
    lower_shield(&before);
}

/* The JNI environment of the calling thread; NULL: the thread cannot be attached. */
static rowlock__jni *attach(rowlock__jni_vm *vm)
{
    void *env = NULL;

    if ((*vm)->GetEnv(vm, &env, JNI_VERSION) == 0)
        return env;
    if ((*vm)->AttachCurrentThreadAsDaemon(vm, &env, NULL) != 0)
        return NULL;
    pthread_setspecific(java.attached, vm);
    return env;
}

/* The JVM of a Java program that uses rowlock, or a new one. */
static int find_or_create(rowlock__jni_vm **vm, rowlock__jni **env, struct rowlock_error *error)
{
    void *library = NULL, *created = NULL, *symbol;
    created_vms *get_created;
    int32_t n = 0;
    create_vm *start;
    int code = rowlock__jdbc_find_jvm(&library, error);

    if (code)
        return code;
    symbol = dlsym(library, "JNI_GetCreatedJavaVMs");
    memcpy(&get_created, &symbol, sizeof symbol);
    if (symbol && get_created(vm, 1, &n) == 0 && n > 0) {
        *env = attach(*vm);
        return *env ? ROWLOCK_OK : rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory in Java");
    }
    symbol = dlsym(library, "JNI_CreateJavaVM");
    memcpy(&start, &symbol, sizeof symbol);
    if (!symbol)
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "the libjvm has no JNI_CreateJavaVM: set ROWLOCK_LIBJVM to the path "
                             "of another one, or install the package default-jre-headless and "
                             "unset it");
    code = create(start, vm, &created, error);
    *env = created;
    if (!code)
        pthread_setspecific(java.attached, *vm);
    return code;
}

/* Defines the helper class. If that fails, looks it up: another copy of the library in this process
   may have defined it. */
static int define_helper(rowlock__jni *env, struct rowlock_error *error)
{
    static const char name[] = "RowlockSession";
    object class = (*env)->FindClass(env, "java/lang/ClassLoader");
    rowlock__jni_method get = class ? (*env)->GetStaticMethodID(env, class, "getSystemClassLoader",
                                                                "()Ljava/lang/ClassLoader;")
                                    : NULL;
    object loader = get ? (*env)->CallStaticObjectMethodA(env, class, get, NULL) : NULL;

    class = (*env)->DefineClass(env, name, loader, (const signed char *)rowlock__jdbc_class,
                                rowlock__jdbc_class_size);
    if (!class) {
        (*env)->ExceptionClear(env);
        class = (*env)->FindClass(env, name);
    }
    if (class) {
        java.open = (*env)->GetStaticMethodID(env, class, "open", "([B)[Ljava/lang/Object;");
        java.request = (*env)->GetMethodID(env, class, "request", "([B)[B");
        java.cancel = (*env)->GetMethodID(env, class, "cancel", "()V");
        java.close = (*env)->GetMethodID(env, class, "close", "()V");
        java.class = (*env)->NewGlobalRef(env, class);
    }
    (*env)->ExceptionClear(env);
    if (java.class && java.open && java.request && java.cancel && java.close)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EDRIVER,
                         "the Java virtual machine does not accept rowlock's class: it needs Java "
                         "8 or later");
}

static int start(struct rowlock_error *error)
{
    rowlock__jni_vm *vm = NULL;
    rowlock__jni *env = NULL;
    int code;

    if (java.failed)
        return start_fails(java.failed, error);
    if (!java.pid && pthread_key_create(&java.attached, detach) != 0)
        return rowlock__no_memory(error);
    java.pid = getpid();
    code = find_or_create(&vm, &env, error);
    if (code)
        return code;
    if ((*env)->PushLocalFrame(env, 16) == 0) {
        code = define_helper(env, error);
        (*env)->PopLocalFrame(env, NULL);
    }
    if (!code)
        java.vm = vm;
    return code;
}

int rowlock__jdbc_start(struct rowlock_error *error)
{
    struct shield before;
    int code = ROWLOCK_OK;

    raise_shield(&before);
    pthread_mutex_lock(&java.lock);
    if (!java.vm)
        code = start(error);
    else if (java.pid != getpid())
        code = rowlock__fail(error, ROWLOCK_EDRIVER,
                             "the Java virtual machine of the parent process does not survive "
                             "fork(): open jdbc: connections only before it, or after exec()");
    pthread_mutex_unlock(&java.lock);
    lower_shield(&before);
    return code;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Calls `request` of the session, or `open`, which sets `*opened` to a global reference. */
static bool exchange(rowlock__jni *env, object session, struct rowlock__jdbc_message *message,
                     object *opened)
{
    union rowlock__jni_value argument = {.number = 0};
    object pair = NULL, reply = NULL;
    int32_t length;

    argument.object = (*env)->NewByteArray(env, (int32_t)message->length);
    if (!argument.object)
        return false;
    (*env)->SetByteArrayRegion(env, argument.object, 0, (int32_t)message->length,
                               (const signed char *)message->bytes);
    if (session)
        reply = (*env)->CallObjectMethodA(env, session, java.request, &argument);
    else
        pair = (*env)->CallStaticObjectMethodA(env, java.class, java.open, &argument);
    if (pair) {
        object made = (*env)->GetObjectArrayElement(env, pair, 0);

        *opened = made ? (*env)->NewGlobalRef(env, made) : NULL;
        reply = (*env)->GetObjectArrayElement(env, pair, 1);
    }
    if (!reply)
        return false;
    length = (*env)->GetArrayLength(env, reply);
    if (!rowlock__jdbc_room(message, (size_t)length))
        return false;
    (*env)->GetByteArrayRegion(env, reply, 0, length, (signed char *)message->bytes);
    message->length = (size_t)length;
    message->at = 0;
    return true;
}

int rowlock__jdbc_call(void *session, struct rowlock__jdbc_message *message, void **opened,
                       struct rowlock_error *error)
{
    struct shield before;
    rowlock__jni *env;
    bool done = false;

    if (message->broken)
        return rowlock__no_memory(error);
    raise_shield(&before);
    env = attach(java.vm);
    if (env && (*env)->PushLocalFrame(env, 16) == 0) {
        done = exchange(env, session, message, opened);
        (*env)->ExceptionClear(env);
        (*env)->PopLocalFrame(env, NULL);
    }
    lower_shield(&before);
    return done ? ROWLOCK_OK : rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory in Java");
}

static void call_void(object session, rowlock__jni_method method, bool free_it)
{
    struct shield before;
    rowlock__jni *env;

    raise_shield(&before);
    env = attach(java.vm);
    if (env) {
        (*env)->CallVoidMethodA(env, session, method, NULL);
        (*env)->ExceptionClear(env);
        if (free_it)
            (*env)->DeleteGlobalRef(env, session);
    }
    lower_shield(&before);
}

void rowlock__jdbc_call_cancel(void *session)
{
    call_void(session, java.cancel, false);
}

void rowlock__jdbc_call_close(void *session)
{
    call_void(session, java.close, true);
}
