/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests with a JVM in their process. signal() takes the place of the C library's: cmocka calls
 * it before and after each test, to handle SIGSEGV and the like itself; a JVM could not work then.
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

/* Asked at the end by LeakSanitizer, which cannot read the memory of a JVM. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return t_java_runs;
}
