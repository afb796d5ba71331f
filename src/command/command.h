/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the command `rowlock`. main.c contains the table of verbs; a verb reads
 * its options by a table with scan_options(), connects by connect_as() or connect_by_lookup(), and
 * returns the exit status. The command uses the library through rowlock.h only.
 */
#ifndef ROWLOCK_COMMAND_H
#define ROWLOCK_COMMAND_H

#include <getopt.h>
#include <stdint.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "rowlock.h"

#define MAX_LONG_OPTIONS 32 /* of a verb with the global ones, and an end */

struct command;

typedef int run_verb(struct command *command); /* the exit status, or -N: end by signal N */

/* A row of the table in main.c, which finds the function of a verb by its name. */
struct verb {
    const char *name;
    run_verb *run;
    int takes_names; /* as operands, and by --name */
};

/* The texts of a verb: made from man/verbs/NAME.txt, as are its manual page and completion. */
struct verb_text {
    const char *name;
    const char *summary;  /* one line of `rowlock help` */
    const char *synopsis; /* what follows the name */
    const char *help;     /* options and remarks of `rowlock help NAME` */
};
extern const struct verb_text verb_texts[]; /* ends with a NULL name */

/* The command line: read_globals() fills the first members, scan_options() the rest. */
struct command {
    const struct verb *verbs; /* all of them; the last has a NULL name */
    const struct verb *verb;  /* NULL before it is known */
    int argc;
    char **argv;      /* argv[0] is the verb */
    char *db;         /* --db, a copy: the original is overwritten */
    int json;         /* --json */
    int is_farm_wide; /* refuses the default database, which differs on every machine */
    int has_name_option;
    char **operands; /* words before `--` */
    int n_operands;
    char **rest; /* words after `--` */
    int n_rest;
    struct option long_options[MAX_LONG_OPTIONS]; /* for getopt_long(), as are the letters */
    char short_options[64];
    int scanning; /* scan_options() was called */
};

/* ---- options.c ----------------------------------------------------------------------- */

/* Values of long options: of the n-th row of a verb's tables OPTION_OWN + n; the global ones are
   above. */
enum { OPTION_OWN = 256, OPTION_DB = 512, OPTION_JSON, OPTION_VERSION, OPTION_NAME };

/* The verb of that name. Ends the program if there is none. */
const struct verb *find_verb(const struct command *command, const char *name);

/* Reads the options before the verb, and finds the verb. Ends the program on wrong usage, and after
   --help or --version. */
void read_globals(struct command *command, int argc, char **argv);

/* An option of a verb. Its taker stores the value, optarg, at `into`: the member of the row. */
struct option_row;
typedef void option_taker(const struct command *command, const struct option_row *row, void *into);

/* The last row of a table has no taker. */
struct option_row {
    const char *name;   /* without the dashes; NULL: it is a letter only */
    int letter;         /* 0: none */
    int value;          /* no_argument, required_argument */
    option_taker *take; /* takes the value, optarg, or ends the program */
    size_t at;          /* of the member that it sets */
    /* limits of a number; of a duration, `least` is the unit of a bare number in ms */
    long least, most;
};

struct option_table {
    const struct option_row *rows; /* the last has no `take`; of the last table NULL */
    void *into;                    /* the rows set its members */
};

/* Reads all options: those of the tables (NULL: none) and the global ones. An unknown option ends
   the program. Then operands and rest are filled. */
void scan_options(struct command *command, const struct option_table *tables);
/* The same for one table, whose rows set members of `into`. */
void scan_own_options(struct command *command, const struct option_row *rows, void *into);

/* In this order, they set an int to 1; a const char *, which must be UTF-8; a const char *; an int;
   an int64_t; an int64_t, in ms. */
option_taker set_flag, set_utf8, set_text, set_number, set_long_number, set_duration;
/* The value of an option, for other takers: of a duration in ms; of a number within the limits of
   the row. End the program if it is wrong. */
int64_t option_duration(const struct command *command, const struct option_row *row);
long option_number(const struct command *command, const struct option_row *row);

/* Reads the options if the verb has not, and takes the words after -- as operands, too. More than
   `most` end the program. */
void read_operands(struct command *command, int most);

/* Ends the program if the pattern has a '[' without ']'. */
void check_pattern(const struct command *command, const char *pattern);

/* ---- suggest.c ----------------------------------------------------------------------- */

/* "; did you mean ls?", or "" if nothing is close. Static, valid until the next call of one of the
   two. */
const char *suggest_verb(const struct verb *verbs, const char *word);
/* Of the options that the verb takes, without "--"; `length`: of the word. */
const char *suggest_option(const struct option *options, const char *word, size_t length);

/* ---- usage.c -------------------------------------------------------------------------- */

/* To standard output: the versions, with those of the client libraries that were found; the verbs
   with their summaries; the texts of one verb. */
void print_version(void);
void print_overview(const struct verb *verbs);
void print_help(const struct verb *verb);
/* Whether a command follows the verb's operands and --. */
int takes_command(const struct verb *verb);

/* Wrong usage: prints a message and the synopsis of the verb, and ends the program with
   STATUS_USAGE. */
_Noreturn void usage_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, defined in options.c: the NAME is missing. Mentions --name if an option may have been
   meant as the name. */
_Noreturn void name_missing(const struct command *command);
/* The same for a verb whose command follows --. `other`: another way to give it, or "". */
_Noreturn void command_missing(const struct command *command, const char *other);

/* ---- connection.c -------------------------------------------------------------------- */

/* How a verb connects; zeroed: as most do. */
struct url;
struct approach {
    int64_t deadline_ms;           /* try again until then, by clock.h; 0: one attempt */
    int is_patient;                /* without a deadline: waits for a session of a full server */
    int64_t statement_ms;          /* of rowlock_options */
    int interrupt_fd;              /* readable: gives up, without a message; 0: none */
    const struct signals *signals; /* read after a failure; NULL: none */
    const struct url *url;         /* instead of a lookup; NULL: none */
    int verbose;                   /* reports a file whose URL does not count */
    int is_absolute;               /* the path of a SQLite file: for another working directory */
    int needs_server;              /* refuses SQLite: for run --tx */
    int may_create;                /* creates a SQLite file that does not exist */
};

/* Call it before the first opening: it creates the folder of a local file, reports that the default
   database is used, and keeps the URL secret. Exit status. */
int prepare_database(const struct url *url);
/* Opens the database of url_lookup. Returns an exit status, after printing the error. */
int connect_database(const struct url *url, const struct approach *approach,
                     struct rowlock_connection **out);
/* The same including the lookup and the refusals of the verb. An exit status, or -N: it failed, and
   signal N had come. The caller closes `*out`. connect_by_lookup() is the usual way: one attempt,
   with a time limit of 10 s. */
int connect_as(const struct command *command, const struct approach *approach,
               struct rowlock_connection **out);
int connect_by_lookup(const struct command *command, struct rowlock_connection **out);
/* Before a verb calls functions of a schema that another role may have made: prints a warning if
   this account should not trust them. */
void warn_of_schema(struct rowlock_connection *connection);

/* ---- schema.c ------------------------------------------------------------------------- */

/* Whether a session is refused the transaction lock that another one has, because some servers
   ignore row locks. Uses a name of its own, and leaves no trace. 0; ESERVER: both had it; or
   another error: it could not be examined. */
int prove_exclusion(struct rowlock_connection *one, struct rowlock_connection *two,
                    struct rowlock_error *error);

/* ---- verbs --------------------------------------------------------------------------- */

/* Each in a file of its name: src/run/<verb>.c, src/show/<verb>.c, or here. */
run_verb cmd_acquire, cmd_break, cmd_check, cmd_cron, cmd_demo, cmd_doctor, cmd_expire, cmd_help,
    cmd_hold, cmd_job, cmd_jobs, cmd_log, cmd_ls, cmd_metrics, cmd_next, cmd_refresh, cmd_release,
    cmd_renew, cmd_run, cmd_schema, cmd_serve, cmd_subjects, cmd_top, cmd_use, cmd_vacuum;

#endif
