/* SPDX-License-Identifier: Apache-2.0 */
/* How the library starts its threads inside of an application. */
#ifndef ROWLOCK_THREAD_H
#define ROWLOCK_THREAD_H

#include <pthread.h>

/* Starts a thread that handles no signal, and neither do threads that it starts: signals belong to
   the application. `thread` NULL: it is detached. 0, or an error number. */
int rowlock__thread_start(pthread_t *thread, void *(*work)(void *), void *data);

#endif
