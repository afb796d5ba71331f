/* SPDX-License-Identifier: Apache-2.0 */
#include "util/thread.h"

#include <signal.h>

int rowlock__thread_start(pthread_t *thread, void *(*work)(void *), void *data)
{
    pthread_attr_t attributes;
    pthread_t detached;
    sigset_t all, before;
    int failed = pthread_attr_init(&attributes);

    if (failed)
        return failed;
    if (!thread)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(thread ? thread : &detached, &attributes, work, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}
