/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: what its files share. main.c holds the table of verbs; a verb reads its options with
 * next_option(), finds its database with connect_database() and returns the exit status. The command
 * knows the library by rowlock.h alone, prints and exits; the library does neither.
 */
#ifndef ROWLOCK_COMMAND_H
#define ROWLOCK_COMMAND_H

#include <getopt.h>
#include <stdint.h>

#include "rowlock.h"

#define MAX_LONG_OPTIONS 32

enum status {
    STATUS_OK = 0,
    STATUS_ANSWER_IS_NO = 1, /* of a verb that asks */
    STATUS_USAGE = 64,
    STATUS_UNAVAILABLE = 69,
    STATUS_NOT_ACQUIRED = 75,
    STATUS_LOST = 123,
    STATUS_TIME_OVER = 124,
    STATUS_FAILED = 125,
    STATUS_CANNOT_EXECUTE = 126,
    STATUS_NOT_FOUND = 127
};

struct command;

struct verb {
    const char *name;
    int (*run)(struct command *command); /* the exit status */
    int takes_names;                     /* as operands, and by --name */
};

/* What is said about a verb: made from man/verbs/NAME.txt, as are its manual page and completion. */
struct verb_text {
    const char *name;
    const char *summary;  /* one line of `rowlock help` */
    const char *synopsis; /* what follows the name */
    const char *help;     /* options and remarks of `rowlock help NAME` */
};
extern const struct verb_text verb_texts[]; /* ends with a NULL name */

struct command {
    const struct verb *verb; /* NULL before it is known */
    int argc;
    char **argv;      /* argv[0] is the verb */
    char *db;         /* --db, a copy: the original is overwritten */
    int json;         /* --json */
    int is_farm_wide; /* the default database is refused: it is another one on every machine */
    char **operands;  /* words before `--` */
    int n_operands;
    char **rest; /* words after `--` */
    int n_rest;
    struct option long_options[MAX_LONG_OPTIONS];
    char short_options[64];
    int scanning;
};

/* ---- main.c -------------------------------------------------------------------------- */

extern const struct verb verbs[]; /* ends with a NULL name */
const struct verb *find_verb(const char *name);
/* Before a command of the caller's is executed: SIGXFSZ is what it was to the caller. */
void leave_large_files_to_command(void);

/* ---- options.c ----------------------------------------------------------------------- */

/* Values of long options without a letter; the global ones are above what a verb may use. */
enum { OPTION_OWN = 256, OPTION_DB = 512, OPTION_JSON, OPTION_VERSION, OPTION_NAME };

/* Reads the options before the verb, and finds the verb. */
void read_globals(struct command *command, int argc, char **argv);

/*
 * The next option of the verb's own, its value in optarg; -1 when all are read and operands and
 * rest are filled. Handles the global options; ends the program on what is unknown.
 */
int next_option(struct command *command, const char *short_options,
                const struct option *long_options);

/* For a verb without options of its own: reads to the end; at most `most` operands. */
void read_operands(struct command *command, int most);

/* The value of an option, or the end of the program. A bare number counts `bare_ms` each. */
int64_t option_duration(const struct command *command, const char *option, int64_t bare_ms);
long option_number(const struct command *command, const char *option, long least, long most);

/* ---- suggest.c ----------------------------------------------------------------------- */

/* "; did you mean ls?", or "" if nothing is close. Valid until the next call. */
const char *suggest_verb(const char *word);
/* Of the options that the verb takes, without "--"; `length`: of the word. */
const char *suggest_option(const struct option *options, const char *word, size_t length);

/* ---- help.c -------------------------------------------------------------------------- */

void print_version(void);
void print_overview(void);
void print_help(const struct verb *verb);
int cmd_help(struct command *command);
/* Of options.c: names --name where an option may have been meant as the name. */
_Noreturn void name_missing(const struct command *command);
_Noreturn void usage_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- output/message.c ---------------------------------------------------------------- */

/* "rowlock: ..." on stderr, one line, control characters and backslashes escaped. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same to somebody else's descriptor. */
void message_to(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text, with control characters and backslashes escaped, cut to fit; its length. A byte may become
   six. */
size_t escape_controls(const char *text, char *out, size_t size);

/* What stands before a name in a command line that a message recommends: "--name " where it must. */
const char *before_name(const char *name);

/* An argument as a message may show it: what looks like a URL might hold a password. */
const char *shown(const char *argument);

/* ---- output/standard.c --------------------------------------------------------------- */

/* No socket of ours takes the place of a standard descriptor that the caller closed. */
void keep_standard_places(void);
/* For a verb that would lose what it took if its result cannot be printed: an exit status, with a message
   if standard output is closed, or its reader has gone. From then on a reader that goes is an error. */
int check_output(void);
/* Writes what is buffered; an exit status, with a message. */
int finish_output(void);

/* ---- output/terminal.c --------------------------------------------------------------- */

/* Standard output is a terminal, and nobody asked for no colours (NO_COLOR, TERM=dumb). */
int terminal_is_coloured(void);
/* Of the terminal; 0: it is none, or does not know. */
size_t terminal_columns(void);

/* ---- exit_status.c ------------------------------------------------------------------- */

int exit_status(int code);
/* Says what the library said, and returns the exit status for it. */
int report(const struct rowlock_error *error);

/* ---- connection.c -------------------------------------------------------------------- */

struct approach {
    int64_t deadline_ms;  /* try again until then; 0: one attempt */
    int interrupt_fd;     /* 0: none */
    int64_t statement_ms; /* of rowlock_options */
};

/* Opens what url_lookup found. Returns an exit status, having said what is wrong. `*code` is the
   library's, for who must know that it was interrupted; may be NULL. */
struct url;
int connect_database(const struct url *url, const struct approach *approach,
                     struct rowlock_connection **out, int *code);
/* The same, by lookup, for a verb whose wait has a limit; and for one that wants nothing special. */
int connect_until(const struct command *command, int64_t deadline_ms,
                  struct rowlock_connection **out);
int connect_by_lookup(const struct command *command, struct rowlock_connection **out);

/* The database that connect_database() was asked for, as an error names it: "ROWLOCK_URL,
   postgresql://db/shop"; "": none yet. */
const char *database_asked_for(void);
/* The second half of it: where that leads. */
const char *database_place(void);

/* ---- verbs --------------------------------------------------------------------------- */

int cmd_schema(struct command *command);
int cmd_vacuum(struct command *command);
int cmd_demo(struct command *command);
int cmd_run(struct command *command);
int cmd_acquire(struct command *command);
int cmd_renew(struct command *command);
int cmd_release(struct command *command);
int cmd_check(struct command *command);
int cmd_hold(struct command *command);
int cmd_ls(struct command *command);
int cmd_break(struct command *command);
int cmd_next(struct command *command);
int cmd_job(struct command *command);
int cmd_jobs(struct command *command);
int cmd_cron(struct command *command);
int cmd_refresh(struct command *command);
int cmd_use(struct command *command);
int cmd_expire(struct command *command);
int cmd_subjects(struct command *command);

#endif
