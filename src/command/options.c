/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses options with getopt_long. Global options are allowed before and after the verb, a verb's
 * own anywhere before `--`. Operands keep their order, and those before `--` are kept apart. The
 * value of --name is an operand, even if it begins with a dash.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "util/duration.h"
#include "util/glob.h"
#include "util/utf8.h"

static const struct option name_option = {"name", required_argument, NULL, OPTION_NAME};

static const struct option globals[] = {
    {"db", required_argument, NULL, OPTION_DB},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
};

static void merge_options(struct command *command, const char *order,
                          const struct option_table *tables)
{
    size_t n = 0, row_number = 0;

    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        command->long_options[n++] = globals[i];
    if (command->verb && command->verb->takes_names)
        command->long_options[n++] = name_option;
    snprintf(command->short_options, sizeof command->short_options, "%s:h", order);
    for (; tables && tables->rows; tables++)
        for (const struct option_row *row = tables->rows; row->take; row++, row_number++) {
            size_t at = strlen(command->short_options);

            if (row->letter)
                snprintf(command->short_options + at, sizeof command->short_options - at, "%c%s",
                         row->letter, row->value == required_argument ? ":" : "");
            if (row->name && n < MAX_LONG_OPTIONS - 1)
                command->long_options[n++] =
                    (struct option){row->name, row->value, NULL, OPTION_OWN + (int)row_number};
        }
    command->long_options[n] = (struct option){0};
}

static const char *name_hint(const struct command *command)
{
    return command->verb && command->verb->takes_names
               ? "; a name that begins with - is given by --name"
               : "";
}

void name_missing(const struct command *command)
{
    int dashes = 0;

    for (int i = 1; i < command->argc; i++)
        dashes += command->argv[i][0] == '-' && strcmp(command->argv[i], "--") != 0;
    usage_error(command, "a NAME is missing%s", dashes ? name_hint(command) : "");
}

void command_missing(const struct command *command, const char *other)
{
    if (command->n_operands > 1)
        usage_error(command, "the command is missing: put -- before it, as in: %s '%s' -- '%s'%s",
                    command->verb->name, shown(command->operands[0]), shown(command->operands[1]),
                    other);
    usage_error(command, "the command is missing: -- COMMAND%s", other);
}

/* An unknown option may belong to the command, be a name, or be mistyped. */
static const char *unknown_hint(const struct command *command)
{
    static char hint[120];

    if (!command->verb)
        return "; rowlock help lists the options";
    if (takes_command(command->verb) && command->n_operands > 1)
        return "; put -- before the command and its options";
    snprintf(hint, sizeof hint, "; rowlock help %s lists the options%s", command->verb->name,
             command->n_operands == 0 ? name_hint(command) : "");
    return hint;
}

/* After an error getopt has 0 or the option's value in optopt for a long option,
   else the letter. */
static _Noreturn void refuse(const struct command *command, int what)
{
    const char *word = command->argv[optind - 1], *suggested;
    int length = (int)strcspn(word, "=");
    int is_long =
        optopt == 0 || optopt >= OPTION_OWN || (what == ':' && strncmp(word, "--", 2) == 0);

    if (what == ':' && is_long)
        usage_error(command, "option '%.*s' requires a value", length, word);
    if (what == ':')
        usage_error(command, "option '-%c' requires a value", optopt);
    if (is_long && optopt)
        usage_error(command, "option '%.*s' takes no value", length, word);
    if (!is_long)
        usage_error(command, "unknown option: '-%c'%s", optopt, unknown_hint(command));
    suggested = suggest_option(command->long_options, word + 2, (size_t)length - 2);
    usage_error(command, "unknown option: '%.*s'%s", length, word,
                *suggested ? suggested : unknown_hint(command));
}

/* 1: it was a global option. */
static int take_global(struct command *command, int option)
{
    switch (option) {
    case OPTION_DB:
        /* Copies the URL and overwrites the original, which `ps` shows and which may contain a
           password. */
        free(command->db);
        command->db = strdup(optarg);
        memset(optarg, 'x', strlen(optarg));
        if (!command->db || !*command->db)
            usage_error(command, "--db requires a URL");
        return 1;
    case OPTION_JSON:
        command->json = 1;
        return 1;
    case OPTION_VERSION:
        print_version();
        exit(finish_output());
    case 'h':
        if (command->verb)
            print_help(command->verb);
        else
            print_overview(command->verbs);
        exit(finish_output());
    case '?':
    case ':':
        refuse(command, option);
    }
    return 0;
}

const struct verb *find_verb(const struct command *command, const char *name)
{
    for (const struct verb *verb = command->verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    usage_error(command, "unknown verb: '%s'%s", shown(name), suggest_verb(command->verbs, name));
}

void read_globals(struct command *command, int argc, char **argv)
{
    int option;

    command->argc = argc;
    command->argv = argv;
    opterr = 0;
    merge_options(command, "+", NULL);
    while ((option =
                getopt_long(argc, argv, command->short_options, command->long_options, NULL)) != -1)
        take_global(command, option);
    if (optind >= argc)
        usage_error(command, "a verb is missing");
    command->verb = find_verb(command, argv[optind]);
    command->argc -= optind;
    command->argv += optind;
}

static void take_own(const struct command *command, const struct option_table *tables, int option)
{
    size_t row_number = 0;

    for (; tables && tables->rows; tables++)
        for (const struct option_row *row = tables->rows; row->take; row++, row_number++)
            if (option == OPTION_OWN + (int)row_number || (row->letter && option == row->letter)) {
                row->take(command, row, (char *)tables->into + row->at);
                return;
            }
}

void scan_options(struct command *command, const struct option_table *tables)
{
    int option;

    merge_options(command, "-", tables);
    command->operands = calloc((size_t)command->argc + 1, sizeof *command->operands);
    if (!command->operands)
        exit(out_of_memory());
    command->scanning = 1;
    optind = 0; /* makes getopt start over with a new argv */
    while ((option = getopt_long(command->argc, command->argv, command->short_options,
                                 command->long_options, NULL)) != -1) {
        command->has_name_option |= option == OPTION_NAME;
        if (option == 1 || option == OPTION_NAME)
            command->operands[command->n_operands++] = optarg;
        else if (!take_global(command, option))
            take_own(command, tables, option);
    }
    command->rest = command->argv + optind;
    command->n_rest = command->argc - optind;
}

void scan_own_options(struct command *command, const struct option_row *rows, void *into)
{
    scan_options(command, (struct option_table[]){{rows, into}, {0}});
}

void read_operands(struct command *command, int most)
{
    if (!command->scanning)
        scan_options(command, NULL);
    for (int i = 0; i < command->n_rest; i++)
        command->operands[command->n_operands++] = command->rest[i];
    if (command->n_operands > most)
        usage_error(command, "unexpected argument: '%s'", shown(command->operands[most]));
}

int64_t option_duration(const struct command *command, const struct option_row *row)
{
    int64_t ms;

    if (rowlock__duration(optarg, row->least, &ms))
        usage_error(command, "--%s: '%s' is not a duration (90, 90s, 500ms, 5m, 1h30m)", row->name,
                    shown(optarg));
    return ms;
}

void check_pattern(const struct command *command, const char *pattern)
{
    struct rowlock_error error;

    if (rowlock__glob_check(pattern, &error))
        usage_error(command, "%s", shown(error.text));
}

long option_number(const struct command *command, const struct option_row *row)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(optarg, &end, 10);
    if (errno || end == optarg || *end || value < row->least || value > row->most)
        usage_error(command, "--%s: '%s' is not a number from %ld to %ld", row->name, shown(optarg),
                    row->least, row->most);
    return value;
}

void set_flag(const struct command *command, const struct option_row *row, void *into)
{
    (void)command;
    (void)row;
    *(int *)into = 1;
}

void set_text(const struct command *command, const struct option_row *row, void *into)
{
    (void)command;
    (void)row;
    *(const char **)into = optarg;
}

/* The database stores UTF-8 text, and its own error would be less clear. */
void set_utf8(const struct command *command, const struct option_row *row, void *into)
{
    if (rowlock__utf8_length(optarg, strlen(optarg)) < 0)
        usage_error(command, "--%s: the text is not UTF-8", row->name);
    *(const char **)into = optarg;
}

void set_number(const struct command *command, const struct option_row *row, void *into)
{
    *(int *)into = (int)option_number(command, row);
}

void set_long_number(const struct command *command, const struct option_row *row, void *into)
{
    *(int64_t *)into = option_number(command, row);
}

void set_duration(const struct command *command, const struct option_row *row, void *into)
{
    *(int64_t *)into = option_duration(command, row);
}
