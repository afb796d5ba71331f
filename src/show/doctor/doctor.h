/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `rowlock doctor`. Each adds findings; doctor.c has the table of them. */
#ifndef ROWLOCK_DOCTOR_H
#define ROWLOCK_DOCTOR_H

#include "command/command.h"
#include "command/url_lookup.h"

#define DOCTOR_MOST 32 /* checks */

struct found { /* the findings of a check, joined */
    char check[20];
    enum rowlock_finding_status status;
    char *finding, *advice; /* NULL: none */
};

struct doctor {
    struct command *command;
    struct url url;
    struct rowlock_connection *connection; /* NULL: the database could not be asked */
    int usable;                            /* the schema is sound */
    int status;                            /* 69, or 64: the database could not be asked; 0 */
    const char *only;                      /* a check; NULL: all */
    struct found found[DOCTOR_MOST];
    size_t n;
};

/* ---- findings.c ----------------------------------------------------------------------- */

/* Whether the check was requested. */
int is_wanted(const struct doctor *doctor, const char *check);

/* Without this check no other is possible, so it is shown also if another one was requested. */
void is_needed(struct doctor *doctor, const char *check);

/* Adds a finding to a check that is wanted. A sound one is dropped if there is another. */
void finding(struct doctor *doctor, const char *check, enum rowlock_finding_status status,
             const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* NULL: nothing was found. */
const struct found *found_by(const struct doctor *doctor, const char *check);
void free_findings(struct doctor *doctor);

/* ---- check_node.c: this node, without a database -------------------------------------- */

void examine_url(struct doctor *doctor);
void examine_proc(struct doctor *doctor);
void examine_init(struct doctor *doctor);
void examine_systemd(struct doctor *doctor);

void examine_guard(struct doctor *doctor);

/* ---- check_database.c ----------------------------------------------------------------- */

/* Opens the session, and adds the findings of rowlock_examine. Creates no SQLite file. */
void examine_database(struct doctor *doctor);
void examine_transactions(struct doctor *doctor);
void examine_jobs(struct doctor *doctor);
void examine_clock(struct doctor *doctor);

/* ---- self_test.c ---------------------------------------------------------------------- */

void examine_locks(struct doctor *doctor);

#endif
