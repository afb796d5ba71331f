/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the tests of one program. TEST registers each test before main() starts. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/harness.h"
#include "lib/nursery.h"
#include "lib/test.h"

#define MOST 200

static struct CMUnitTest tests[MOST];
static size_t n;
static long long begun;

static int setup(void **state)
{
    (void)state;
    begun = t_now();
    t_enter_harness();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    t_clean_harness();
    printf("# %lld ms\n", t_now() - begun); /* of the test that the line before or after names */
    return 0;
}

void t_add(const char *name, void (*function)(void **))
{
    if (n == MOST)
        abort();
    tests[n].name = name;
    tests[n].test_func = function;
    tests[n].setup_func = setup;
    tests[n].teardown_func = teardown;
    n++;
}

int main(void)
{
    int failed = 0;

    t_start_nursery(&failed);
    failed = _cmocka_run_group_tests("rowlock", tests, n, NULL, NULL);
    t_close_harness();
    return failed != 0;
}
