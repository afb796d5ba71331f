/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parser of durations: no accepted one is negative, and appending a part does not make
 * it shorter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "util/duration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), again[40];
    int64_t ms = -1, same = -1;

    if (rowlock__duration(text, 1000, &ms) == 0) {
        fuzz_check(ms >= 0);
        snprintf(again, sizeof again, "%lldms", (long long)ms);
        fuzz_check(rowlock__duration(again, 1000, &same) == 0 && same == ms);
    } else {
        fuzz_check(ms == -1); /* outputs are written on success only */
    }
    free(text);
    return 0;
}
