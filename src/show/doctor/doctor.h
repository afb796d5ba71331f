/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `rowlock doctor`. Each adds findings; doctor.c has the table of them. */
#ifndef ROWLOCK_DOCTOR_H
#define ROWLOCK_DOCTOR_H

#include "command/command.h"
#include "command/url_lookup.h"

#define DOCTOR_MOST 32 /* checks */

/* The texts are malloc'd; free_findings() frees them. */
struct found { /* the findings of a check, joined */
    char check[20];
    enum rowlock_finding_status status;
    char *finding, *advice; /* NULL: none */
};

/* One run of doctor: each check reads it, and adds to `found`. */
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

/* Whether the check was requested; doctor.c runs no other, except those that are needed. */
int is_wanted(const struct doctor *doctor, const char *check);

/* Without this check no other is possible, so it is shown also if another one was requested. */
void is_needed(struct doctor *doctor, const char *check);

/* Adds a finding to a check that is wanted; copies the texts. `advice` "": none. A sound one is
   dropped if there is another, and the status of the check is that of its worst finding. */
void finding(struct doctor *doctor, const char *check, enum rowlock_finding_status status,
             const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The findings of a check; NULL: nothing was found. */
const struct found *found_by(const struct doctor *doctor, const char *check);
void free_findings(struct doctor *doctor);

/* ---- check_node.c: this node, without a database -------------------------------------- */

/* Finds the URL, which must be the first check: sets doctor->url, and doctor->status if there is no
   usable one. */
void examine_url(struct doctor *doctor);
/* Whether /proc shows the processes that the guard must end. */
void examine_proc(struct doctor *doctor);
/* Whether process 1 collects dead processes: in a container it may not. */
void examine_init(struct doctor *doctor);
/* Whether the service of systemd in which this process runs lets rowlock end its command. */
void examine_systemd(struct doctor *doctor);

/* Starts a guard with a command that leaves a daemon behind, and sees that both end. Blocks for
   some seconds at most. */
void examine_guard(struct doctor *doctor);

/* ---- check_database.c ----------------------------------------------------------------- */

/* Opens the session, and adds the findings of rowlock_examine. Creates no SQLite file. */
void examine_database(struct doctor *doctor);
/* The functions below need that session. Transactions that hold a name for more than 5 minutes. */
void examine_transactions(struct doctor *doctor);
/* Jobs that are slow, late, failing or lost, the worst first. */
void examine_jobs(struct doctor *doctor);
/* Compares the database's clock with this node's, twice, 2 s apart. */
void examine_clock(struct doctor *doctor);

/* ---- self_test.c ---------------------------------------------------------------------- */

/* Acquires a lease of a name of its own, hands it over to a second session, and removes the traces.
   Signals wait meanwhile; every step has a time limit. */
void examine_locks(struct doctor *doctor);

#endif
