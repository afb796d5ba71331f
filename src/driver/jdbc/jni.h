/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of JNI that the driver calls. Their places in the tables are fixed by the JNI
 * specification ("Interface Function Table"), so no JDK is needed to build. It also describes each
 * function; only jvm.c calls them. An object that a function returns belongs to the local frame of
 * its thread, unless it comes from NewGlobalRef.
 */
#ifndef ROWLOCK_JDBC_JNI_H
#define ROWLOCK_JDBC_JNI_H

#include <stddef.h>
#include <stdint.h>

#define JNI_VERSION 0x00010008 /* Java 8 */

typedef const struct rowlock__jni_functions *rowlock__jni; /* a thread has a rowlock__jni * */
typedef const struct rowlock__jni_invoke *rowlock__jni_vm; /* the process has a rowlock__jni_vm * */
typedef void *rowlock__jni_object, *rowlock__jni_method;   /* an object may be NULL, Java's null */

union rowlock__jni_value { /* an argument */
    rowlock__jni_object object;
    int64_t number;
};

/* at_N is a place of functions that are not called, from index N on. */
struct rowlock__jni_functions {
    void *at_0[5];
    rowlock__jni_object (*DefineClass)(rowlock__jni *env, const char *name,
                                       rowlock__jni_object loader, const signed char *bytes,
                                       int32_t size);
    rowlock__jni_object (*FindClass)(rowlock__jni *env, const char *name);
    void *at_7[10];
    void (*ExceptionClear)(rowlock__jni *env);
    void *at_18;
    int32_t (*PushLocalFrame)(rowlock__jni *env, int32_t capacity);
    rowlock__jni_object (*PopLocalFrame)(rowlock__jni *env, rowlock__jni_object result);
    rowlock__jni_object (*NewGlobalRef)(rowlock__jni *env, rowlock__jni_object object);
    void (*DeleteGlobalRef)(rowlock__jni *env, rowlock__jni_object object);
    void *at_23[10];
    rowlock__jni_method (*GetMethodID)(rowlock__jni *env, rowlock__jni_object class,
                                       const char *name, const char *signature);
    void *at_34[2];
    rowlock__jni_object (*CallObjectMethodA)(rowlock__jni *env, rowlock__jni_object object,
                                             rowlock__jni_method method,
                                             const union rowlock__jni_value *arguments);
    void *at_37[26];
    void (*CallVoidMethodA)(rowlock__jni *env, rowlock__jni_object object,
                            rowlock__jni_method method, const union rowlock__jni_value *arguments);
    void *at_64[49];
    rowlock__jni_method (*GetStaticMethodID)(rowlock__jni *env, rowlock__jni_object class,
                                             const char *name, const char *signature);
    void *at_114[2];
    rowlock__jni_object (*CallStaticObjectMethodA)(rowlock__jni *env, rowlock__jni_object class,
                                                   rowlock__jni_method method,
                                                   const union rowlock__jni_value *arguments);
    void *at_117[54];
    int32_t (*GetArrayLength)(rowlock__jni *env, rowlock__jni_object array);
    void *at_172;
    rowlock__jni_object (*GetObjectArrayElement)(rowlock__jni *env, rowlock__jni_object array,
                                                 int32_t index);
    void *at_174[2];
    rowlock__jni_object (*NewByteArray)(rowlock__jni *env, int32_t length);
    void *at_177[23];
    void (*GetByteArrayRegion)(rowlock__jni *env, rowlock__jni_object array, int32_t start,
                               int32_t length, signed char *out);
    void *at_201[7];
    void (*SetByteArrayRegion)(rowlock__jni *env, rowlock__jni_object array, int32_t start,
                               int32_t length, const signed char *bytes);
};

/* The functions of the virtual machine, which any thread may call. They return 0, or a negative
   error, as GetEnv does in a thread that is not attached. */
struct rowlock__jni_invoke {
    void *at_0[5];
    int32_t (*DetachCurrentThread)(rowlock__jni_vm *vm);
    int32_t (*GetEnv)(rowlock__jni_vm *vm, void **env, int32_t version);
    int32_t (*AttachCurrentThreadAsDaemon)(rowlock__jni_vm *vm, void **env, void *arguments);
};

/* Checks the places at compile time: the function after each gap. */
#define ROWLOCK_JNI_AT(function, index)                                                           \
    _Static_assert(offsetof(struct rowlock__jni_functions, function) == (index) * sizeof(void *), \
                   "the index in JNI's table")
ROWLOCK_JNI_AT(FindClass, 6);
ROWLOCK_JNI_AT(ExceptionClear, 17);
ROWLOCK_JNI_AT(DeleteGlobalRef, 22);
ROWLOCK_JNI_AT(GetMethodID, 33);
ROWLOCK_JNI_AT(CallObjectMethodA, 36);
ROWLOCK_JNI_AT(CallVoidMethodA, 63);
ROWLOCK_JNI_AT(GetStaticMethodID, 113);
ROWLOCK_JNI_AT(CallStaticObjectMethodA, 116);
ROWLOCK_JNI_AT(GetArrayLength, 171);
ROWLOCK_JNI_AT(GetObjectArrayElement, 173);
ROWLOCK_JNI_AT(NewByteArray, 176);
ROWLOCK_JNI_AT(GetByteArrayRegion, 200);
ROWLOCK_JNI_AT(SetByteArrayRegion, 208);

struct rowlock__jni_option {
    char *text; /* as on the command line of java: "-Djava.class.path=..." */
    void *extra;
};
struct rowlock__jni_start { /* the arguments of JNI_CreateJavaVM */
    int32_t version, n;
    struct rowlock__jni_option *options; /* n of them */
    unsigned char ignore_unknown;        /* unknown options are no error */
};

#endif
