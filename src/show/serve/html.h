/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML. Every text that comes from outside this program goes through these functions. Times
   are milliseconds since 1970 by the database's clock. */
#ifndef ROWLOCK_SERVE_HTML_H
#define ROWLOCK_SERVE_HTML_H

#include <stdint.h>
#include <stdio.h>

#include "command/output/words.h"
#include "rowlock.h"
#include "show/tree/tree_rows.h"

/* Writes the text, escaped. Control characters, and bytes that are not UTF-8, appear as on a
   terminal: \n, \x1b. */
void html_text(FILE *out, const char *text);
/* The same, isolated from the direction of the text around it. */
void html_word(FILE *out, const char *text);
/* The same as code. */
void html_code(FILE *out, const char *text);
/* The same as html_text() with line breaks. */
void html_lines(FILE *out, const char *text);
/* Percent-encoded, for a URL. */
void html_encoded(FILE *out, const char *text);
/* <a href="ADDRESS NAME">NAME</a>: `address` ends with the parameter that the name is. */
void html_link(FILE *out, const char *address, const char *name);
/* "-": there is no value. */
void html_none(FILE *out);

/* A coloured label; the tone is a class of style.css: good, wait, bad, calm. */
void html_pill(FILE *out, const char *tone, const char *text);

/* "-" if `is` is 0. */
void html_duration(FILE *out, int is, int64_t ms);
/* The time since `at_ms`, or until then, with the time of day in its title. `at_ms` 0: "-". */
void html_age(FILE *out, int64_t at_ms, int64_t now_ms);   /* 3m12s */
void html_left(FILE *out, int64_t at_ms, int64_t now_ms);  /* 4m05s: until then */
void html_since(FILE *out, int64_t at_ms, int64_t now_ms); /* 3m12s ago; in 4m05s */
void html_next(FILE *out, int64_t at_ms, int64_t now_ms);  /* due 3m12s ago; in 4m05s */

/* The time of day of this machine: 14:05:09. */
void html_clock(FILE *out, int64_t at_ms);

/* ---- tables ------------------------------------------------------------------------------ */

/* The cells of the first row state the titles of the columns; a table without a row writes nothing.
   On a narrow screen each row becomes a card, whose cells show their titles. */
struct html_table {
    FILE *out; /* of the present cell */
    FILE *page;
    int *failed; /* set: out of memory */
    const char *caption;
    size_t n; /* rows */
    int in_cell;
    char *first; /* the cells of the first row, which follow the head */
    size_t size;
};

/* `failed` and `caption` must stay until html_table_end(). */
struct html_table html_table_begin(FILE *page, int *failed, const char *caption);
/* Begins the next row; its cells follow, the same ones in every row. */
void html_row(struct html_table *table);
/* Begins the next cell. "*TITLE": numbers, aligned at the right. */
FILE *html_cell(struct html_table *table, const char *title);
void html_table_end(struct html_table *table);

/* Parts that several pages show. */

/* The first holder of a name; if none is reported, one of which nothing is known: its cells are
   "-". */
const struct rowlock_holder *first_holder(const struct lock_tree *locks,
                                          const struct tree_name *name);
/* Writes host:pid; "-" for "", nothing for pid 0. */
void cell_process(FILE *out, const char *host, int64_t pid);
/* The same and the command. */
void cell_caller(FILE *out, const char *host, int64_t pid, const char *command);
/* The same; for a transaction the server's number of the session. */
void cell_who(FILE *out, const struct rowlock_holder *holder);
/* "exclusive", "2 of 3 permits". */
void cell_mode(FILE *out, const struct rowlock_holder *holder);
/* The time until the lease expires. */
void cell_left(FILE *out, const struct rowlock_holder *holder, int64_t now_ms);
/* A text, or "-". */
void cell_or_none(FILE *out, const char *text);

/* Of a run: its node and process; how it ended, as a pill; how long it took, "-" if it did not
   end. */
void cell_node(FILE *out, const struct rowlock_run *run);
void cell_result(FILE *out, const struct rowlock_run *run);
void cell_took(FILE *out, const struct rowlock_run *run);
/* The state of a job or of a subject, as a pill. */
void cell_health(FILE *out, enum rowlock_health health);

void cell_subject_status(FILE *out, enum rowlock_subject_status status);

#endif
