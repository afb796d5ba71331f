/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the named files, and over each of them truncated at every byte. */
#include <stdio.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    static uint8_t data[65536];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        return 1;
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    for (size_t n = 0; n <= size; n++)
        LLVMFuzzerTestOneInput(data, n);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    return failed;
}
