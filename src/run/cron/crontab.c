/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of the cron daemon's file of jobs. */
#include "run/cron/crontab.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/job_name.h"
#include "util/rows.h"
#include "util/utf8.h"

#define LINE_MOST 100000 /* below the kernel's limit for one argument of a program */
#define ZONE_WORD "CRON_TZ"
#define BLANKS " \t"

struct reading {
    struct crontab *crontab;
    struct crontab_mistake mistake; /* the mistake of the line */
    size_t line;
    char *start;        /* the beginning of the line */
    char *at;           /* the unread rest of the line */
    const char *zone;   /* CRON_TZ; NULL: none yet */
    const char *name;   /* of the line's job, which H requires */
    const char *unseen; /* a character of the line that cannot be seen; NULL: none */
    size_t unseen_column;
};

/* ---- mistakes -------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int wrong(struct reading *r, const char *where,
                                                       const char *format, ...)
{
    struct crontab_mistake *mistake = &r->mistake;
    va_list arguments;
    size_t length;

    mistake->line = r->line;
    mistake->column = (size_t)(where - r->start) + 1;
    va_start(arguments, format);
    vsnprintf(mistake->text, sizeof mistake->text, format, arguments);
    va_end(arguments);
    length = strlen(mistake->text);
    if (r->unseen)
        snprintf(mistake->text + length, sizeof mistake->text - length, "; in column %zu is %s",
                 r->unseen_column, r->unseen);
    return -1;
}

static int no_memory(struct reading *r)
{
    r->mistake = (struct crontab_mistake){.text = "out of memory"};
    return -1;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct word {
    char *text;  /* NULL: the line has ended */
    char *where; /* its position in the line */
    int quoted;
};

/* Removes the quotes in place, so the word may become shorter than its text in the line. */
static int next_word(struct reading *r, struct word *out)
{
    char *to;

    r->at += strspn(r->at, BLANKS);
    *out = (struct word){.where = r->at, .text = *r->at ? r->at : NULL};
    to = r->at;
    while (*r->at && !is_blank(*r->at)) {
        char quote = *r->at, *end;

        if (quote != '\'' && quote != '"') {
            *to++ = *r->at++;
            continue;
        }
        end = strchr(r->at + 1, quote);
        if (!end)
            return wrong(r, r->at, "this quote (%c) is not closed", quote);
        memmove(to, r->at + 1, (size_t)(end - r->at - 1));
        to += end - r->at - 1;
        r->at = end + 1;
        out->quoted = 1;
    }
    if (*r->at)
        r->at++;
    *to = '\0';
    return 0;
}

/* ---- schedules ------------------------------------------------------------------------------- */

static int is_period(const char *schedule)
{
    return strncmp(schedule, "every", 5) == 0 && (is_blank(schedule[5]) || !schedule[5]);
}

static int open_schedule(struct reading *r, const char *text, const char *zone, const char *of_zone,
                         struct rowlock_schedule **out)
{
    struct rowlock_error error;
    size_t column = 0;

    if (rowlock_schedule_open_for(text, zone, r->name, out, &column, &error) == 0)
        return 0;
    if (error.code == ROWLOCK_ENOMEM)
        return no_memory(r);
    return wrong(r, column > 0 ? text + column - 1 : of_zone, "%s", error.text);
}

/* Parses the schedule again, with the name, which H requires, and with --tz, which replaces
   CRON_TZ. */
static int open_again(struct reading *r, struct crontab_entry *entry, const char *text,
                      const char *of_zone)
{
    struct rowlock_schedule *schedule;

    if (of_zone && is_period(text))
        return wrong(r, of_zone, "'every' counts real time: it has no time zone (--tz)");
    if (!of_zone && !strchr(text, 'H'))
        return 0;
    r->name = entry->name;
    if (open_schedule(r, text, of_zone ? entry->settings.zone : r->zone, of_zone, &schedule))
        return -1;
    rowlock_schedule_close(entry->schedule);
    entry->schedule = schedule;
    return 0;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static int take_name(struct reading *r, struct crontab_entry *entry)
{
    struct word word;
    char why[160];

    if (next_word(r, &word))
        return -1;
    if (!word.text || (word.text[0] == '-' && !word.quoted))
        return wrong(r, word.where, "the job's NAME is missing: SCHEDULE NAME -- command");
    if (job_name_check(word.text, why, sizeof why))
        return wrong(r, word.where, "%s", why);
    for (size_t i = 0; i < r->crontab->n; i++)
        if (strcmp(r->crontab->entries[i].name, word.text) == 0)
            return wrong(r, word.where, "job '%.100s' exists already, in line %zu", word.text,
                         r->crontab->entries[i].line);
    entry->name = word.text;
    return 0;
}

/* Takes `--option value` or `--option=value`. */
static int take_option(struct reading *r, struct crontab_entry *entry, const struct word *option,
                       const char **of_zone)
{
    char *equals = strchr(option->text, '=');
    struct word value;
    char why[200];
    int taken;

    if (equals) {
        *equals = '\0';
        value = (struct word){.text = equals + 1, .where = option->where};
    } else if (next_word(r, &value)) {
        return -1;
    } else if (!value.text) {
        return wrong(r, value.where, "option '%.80s' requires a value", option->text);
    }
    taken = job_setting_take(&entry->settings, option->text + 2, value.text, why, sizeof why);
    if (taken > 0)
        return wrong(r, option->where, "unknown option: '%.80s'", option->text);
    if (taken < 0)
        return wrong(r, value.where, "%s: %s", option->text, why);
    if (strcmp(option->text, "--tz") == 0)
        *of_zone = value.where;
    return 0;
}

/* Reads the options up to `--`; `*of_zone`: the position of the value of --tz, or NULL. */
static int take_options(struct reading *r, struct crontab_entry *entry, const char **of_zone)
{
    struct word word;

    for (;;) {
        if (next_word(r, &word))
            return -1;
        if (!word.text)
            return wrong(r, word.where, "'--' and a command are missing: SCHEDULE NAME -- command");
        if (strcmp(word.text, "--") == 0 && !word.quoted)
            return 0;
        if (strncmp(word.text, "--", 2) != 0)
            return wrong(r, word.where,
                         "'%.80s' is not an option: the command follows '--', and a NAME is one "
                         "word",
                         word.text);
        if (take_option(r, entry, &word, of_zone))
            return -1;
    }
}

static int take_job(struct reading *r, struct crontab_entry *entry)
{
    const char *of_zone = NULL;
    char *text, why[160];

    /* Ends the schedule after its last word, which separates it from the name that follows. Parses
       it here, before the name is known, so that a mistake in it is reported before one in the
       name. */
    r->at += strspn(r->at, BLANKS);
    text = r->at;
    r->at += rowlock_schedule_length(text);
    if (*r->at)
        *r->at++ = '\0';
    r->name = "";
    if (open_schedule(r, text, is_period(text) ? NULL : r->zone, text, &entry->schedule) ||
        take_name(r, entry) || take_options(r, entry, &of_zone))
        return -1;
    r->at += strspn(r->at, BLANKS);
    entry->command = r->at;
    if (!*r->at)
        return wrong(r, r->at, "the command is missing after '--'");
    if (open_again(r, entry, text, of_zone))
        return -1;
    if (job_settings_settle(&entry->settings, why, sizeof why))
        return wrong(r, text, "%s", why);
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int read_job(struct reading *r)
{
    struct crontab *crontab = r->crontab;
    struct crontab_entry *entries =
        rowlock__grown(crontab->entries, crontab->n, &crontab->room, sizeof *entries);
    struct crontab_entry *entry;

    if (!entries)
        return no_memory(r);
    crontab->entries = entries;
    entry = &entries[crontab->n];
    *entry = (struct crontab_entry){.line = r->line, .settings = job_settings_default()};
    if (take_job(r, entry)) {
        rowlock_schedule_close(entry->schedule);
        return -1;
    }
    crontab->n++;
    return 0;
}

static int read_variable(struct reading *r, size_t length)
{
    struct rowlock_schedule *schedule;
    struct word zone, more;
    char *name = r->at;

    if (length != strlen(ZONE_WORD) || strncmp(name, ZONE_WORD, length) != 0)
        return wrong(r, name,
                     "'%.*s=' is not allowed, only " ZONE_WORD
                     "= is; set variables in the command, or for the daemon",
                     (int)(length > 80 ? 80 : length), name);
    r->at = strchr(name, '=') + 1;
    if (next_word(r, &zone) || next_word(r, &more))
        return -1;
    if (!zone.text || !*zone.text)
        return wrong(r, zone.where,
                     ZONE_WORD "= requires a time zone, such as Europe/Berlin or UTC");
    if (more.text)
        return wrong(r, more.where, "nothing may follow the time zone");
    if (open_schedule(r, "@daily", zone.text, zone.where, &schedule))
        return -1;
    rowlock_schedule_close(schedule);
    r->zone = zone.text;
    return 0;
}

static int read_line(struct reading *r)
{
    size_t length = 0, blanks;

    r->at += strspn(r->at, BLANKS);
    if (!*r->at || *r->at == '#')
        return 0;
    while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_')
        length++;
    blanks = strspn(r->at + length, BLANKS);
    if (length > 0 && r->at[length + blanks] == '=') /* NAME=value */
        return read_variable(r, length);
    return read_job(r);
}

/* Terminates the line, and removes an editor's CR; `*next`: the following line, or NULL. */
static int cut_line(struct reading *r, char *end, char **next)
{
    char *line_end = memchr(r->start, '\n', (size_t)(end - r->start));
    const char *unseen;
    char *zero;

    *next = line_end ? line_end + 1 : NULL;
    r->unseen = NULL;
    if (!line_end)
        line_end = end;
    zero = memchr(r->start, '\0', (size_t)(line_end - r->start));
    if (zero)
        return wrong(r, zero, "the file contains a NUL byte: not a text file");
    if (line_end - r->start > LINE_MOST)
        return wrong(r, r->start, "the line has more than %d bytes", LINE_MOST);
    *line_end = '\0';
    if (line_end > r->start && line_end[-1] == '\r')
        line_end[-1] = '\0';
    r->at = r->start;
    r->unseen = rowlock__utf8_unseen(r->start, &unseen);
    r->unseen_column = r->unseen ? (size_t)(unseen - r->start) + 1 : 0;
    return 0;
}

/* In cron % ends the command, unless it has a backslash. Within quotes the shell keeps that. */
static void warn(struct reading *r, size_t jobs_before, crontab_visit visit, void *data)
{
    const struct crontab *crontab = r->crontab;
    const char *escape =
        crontab->n > jobs_before ? strstr(crontab->entries[crontab->n - 1].command, "\\%") : NULL;

    if (!escape)
        return;
    r->unseen = NULL;
    wrong(r, escape,
          "warning: \\%% is cron's escape, and rowlock passes it on with its backslash: write %%");
    r->mistake.is_warning = 1;
    visit(&r->mistake, data);
    r->mistake.is_warning = 0;
}

/* Reads all lines, also after a mistake, so that all mistakes are reported. */
static int read_lines(struct reading *r, char *text, char *end, crontab_visit visit, void *data)
{
    int wrong_lines = 0;

    for (char *next = text; next && next < end;) {
        size_t jobs_before = r->crontab->n;

        r->line++;
        r->start = next;
        if (cut_line(r, end, &next) == 0 && read_line(r) == 0) {
            warn(r, jobs_before, visit, data);
            continue;
        }
        wrong_lines = 1;
        visit(&r->mistake, data);
        if (!r->mistake.line)
            break; /* no memory */
    }
    return wrong_lines ? -1 : 0;
}

int crontab_read(const char *text, size_t length, struct crontab *out, crontab_visit visit,
                 void *data)
{
    struct crontab crontab = {.text = malloc(length + 1)};
    struct reading reading = {.crontab = &crontab};

    if (!crontab.text) {
        no_memory(&reading);
        visit(&reading.mistake, data);
        return -1;
    }
    memcpy(crontab.text, text, length);
    crontab.text[length] = '\0';
    if (read_lines(&reading, crontab.text, crontab.text + length, visit, data)) {
        crontab_free(&crontab);
        return -1;
    }
    *out = crontab;
    return 0;
}

void crontab_free(struct crontab *crontab)
{
    for (size_t i = 0; i < crontab->n; i++)
        rowlock_schedule_close(crontab->entries[i].schedule);
    free(crontab->entries);
    free(crontab->text);
    *crontab = (struct crontab){0};
}
