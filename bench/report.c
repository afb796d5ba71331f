/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report BENCH.JSON FOLDER: writes Markdown to standard output, and into the folder all numbers as
 * *.tsv, and the data of the plots.
 */
#include "report.h"

#include <string.h>

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *bench;

    if (argc != 3) {
        fprintf(stderr, "usage: report BENCH.JSON FOLDER\n");
        return 64;
    }
    bench = json_load_file(argv[1], 0, &error);
    if (!bench) {
        fprintf(stderr, "%s: line %d: %s\n", argv[1], error.line, error.text);
        return 1;
    }
    report_page(bench, stdout);
    printf("\n<!-- tables -->\n\n");
    report_markdown(bench, stdout);
    if (report_data(bench, argv[2]) || report_page_plots(bench, argv[2]) ||
        report_plots(bench, argv[2])) {
        perror(argv[2]);
        return 1;
    }
    json_decref(bench);
    return 0;
}
