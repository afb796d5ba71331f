/* SPDX-License-Identifier: Apache-2.0 */
/* Prints help from texts that are generated from man/verbs, as are manual pages and completion. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "util/utf8.h"

void print_version(void)
{
    const char *version = rowlock_version(), *drivers = strchr(version, ' ');
    char *found;

    if (!drivers)
        drivers = version + strlen(version);
    printf("rowlock %.*s\ndrivers:%s\n", (int)(drivers - version), version, drivers);
    found = rowlock_drivers();
    if (found)
        fputs(found, stdout);
    rowlock_free(found);
}

static const struct verb_text *text_of(const struct verb *verb)
{
    static const struct verb_text none = {"", "", "", ""};

    for (const struct verb_text *text = verb_texts; text->name; text++)
        if (strcmp(text->name, verb->name) == 0)
            return text;
    return &none;
}

void print_overview(const struct verb *verbs)
{
    puts("usage: rowlock [--db URL] [--json] VERB ...\n"
         "Locks for a farm of servers, on the relational database that the farm already shares.\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        printf("  %-9s %s\n", verb->name, text_of(verb)->summary);
    puts("\n"
         "      --db URL     sqlite:PATH, postgresql://..., mariadb://..., mysql://...,\n"
         "                   odbc:..., jdbc:... (docs/databases.md), or local;\n"
         "                   default: ROWLOCK_URL, the file ROWLOCK_URL_FILE,\n"
         "                   $XDG_CONFIG_HOME/rowlock/url, /etc/rowlock/url, else local: a SQLite\n"
         "                   file, for this user on this machine (ROWLOCK_REQUIRE_URL=1 or the\n"
         "                   file /etc/rowlock/require-url: then it is an error)\n"
         "      --json       results as JSON\n"
         "  -h, --help       this, or with a verb its options\n"
         "      --version    version, the drivers, and the client libraries that were found\n"
         "\n"
         "Exit status: 0 success; 1 a negative answer: of ls NAME: free, of check: not valid, of\n"
         "break: nothing held, of jobs NAME and subjects SUBJECT: not known, of a check of jobs:\n"
         "slow, overdue or failing, 2: lost; of doctor 1: warnings, 2: a failed check; 64 usage,\n"
         "69 database unreachable or without schema, 75 not acquired, 123 lock lost, 124 run time\n"
         "exceeded, 125 rowlock failed, 126 cannot execute, 127 not found; of run, job, refresh\n"
         "and use: the command's.");
}

int takes_command(const struct verb *verb)
{
    return strstr(text_of(verb)->synopsis, "-- COMMAND") != NULL;
}

void print_help(const struct verb *verb)
{
    const struct verb_text *text = text_of(verb);

    printf("usage: rowlock %s%s%s\n%s%s", verb->name, *text->synopsis ? " " : "", text->synopsis,
           *text->help ? "\n" : "", text->help);
}

void usage_error(const struct command *command, const char *format, ...)
{
    const struct verb *verb = command->verb;
    const char *unseen;
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    unseen = rowlock__utf8_unseen(text, NULL);
    message("%s%s%s%s%s", verb ? verb->name : "", verb ? ": " : "", text,
            unseen ? "; it contains " : "", unseen ? unseen : "");
    if (verb)
        fprintf(stderr, "usage: rowlock %s%s%s\n", verb->name, *text_of(verb)->synopsis ? " " : "",
                text_of(verb)->synopsis);
    else
        fprintf(stderr,
                "usage: rowlock [--db URL] [--json] VERB ...; rowlock help lists the verbs\n");
    exit(STATUS_USAGE);
}
