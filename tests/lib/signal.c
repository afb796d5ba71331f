/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the place of the C library's signal(). cmocka calls it before and after each test, to
 * handle SIGSEGV and the like itself; a JVM in the process could not work then.
 */
#include <signal.h>
#include <stddef.h>

#include "lib/jdbc.h"

int t_java_runs;

static int java_needs(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;

    if (t_java_runs && java_needs(number))
        return SIG_DFL;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
