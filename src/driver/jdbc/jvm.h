/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java virtual machine of the process, and the helper class in it (RowlockSession.java).
 * The first session starts the JVM, or uses the one that the process has. It is never ended,
 * because a process can start only one. It does not survive fork().
 */
#ifndef ROWLOCK_JDBC_JVM_H
#define ROWLOCK_JDBC_JVM_H

#include <stdio.h>

#include "driver/jdbc/message.h"
#include "rowlock.h"

/* class.c: the compiled helper class. */
extern const unsigned char rowlock__jdbc_class[];
extern const int rowlock__jdbc_class_size;

/* find.c: loads libjvm: the copy that the process has, that of ROWLOCK_LIBJVM, of JAVA_HOME,
   or of the usual directories. EDRIVER. */
int rowlock__jdbc_find_jvm(void **library, struct rowlock_error *error);
/* ROWLOCK_CLASSPATH, or the jars of JDBC drivers in /usr/share/java. malloc'd; NULL: no memory. */
char *rowlock__jdbc_class_path(void);
/* `describe` of struct rowlock_driver; also lists the jars. Loads libjvm without starting it. */
void rowlock__jdbc_describe(FILE *out);

/* The first call starts the JVM and defines the helper class. The caller must block all signals,
   because the threads of the JVM inherit the mask of its thread. All signal handlers stay as they
   were, except those of errors of the processor (SIGSEGV and others), which the JVM needs. Fails
   with EDRIVER or ENOMEM. */
int rowlock__jdbc_start(struct rowlock_error *error);

/*
 * Calls of the helper. Any thread: it is attached to the JVM until it ends. The reply replaces the
 * bytes of `message`. EDRIVER if Java could not reply.
 */

/* Opens a session; the caller closes it. `*session` is NULL if the reply is a failure. */
int rowlock__jdbc_call_open(struct rowlock__jdbc_message *message, void **session,
                            struct rowlock_error *error);
/* Sends one request of the session. */
int rowlock__jdbc_call(void *session, struct rowlock__jdbc_message *message,
                       struct rowlock_error *error);
/* Cancels the statement that another thread executes. */
void rowlock__jdbc_call_cancel(void *session);
/* Also frees the session. */
void rowlock__jdbc_call_close(void *session);

#endif
