/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulation: a farm of clients in one process and thread. What they run is the product: its
 * machines, its executor, its SQL, its SQLite driver. What is made up is time, and misfortune.
 * There are two kinds of histories: some clients and their leases, for seconds; and a farm of nodes
 * with its jobs (farm.h), for up to a year.
 *
 *   scheduler.c  true time, the order in which clients take their steps, stops and crashes
 *   driver.c     every batch on its way to SQLite: delays, lost connections, lost replies
 *   seam.c       where the library asks for time, dice and pauses, and shows its steps
 *   life.c       what a client does with its days
 *   rows.c       the database as an observer reads it
 *   check.c      the promises, after every step
 *   story.c      what happened, in sentences
 *   wrong.c      deliberate mistakes, which the promises must catch
 *   farm*.c      the same for jobs: lives, rows, promises
 *
 * Everything is drawn from one seed, so a history can be told again.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lease/lease.h"
#include "lease/machine/machine.h"
#include "rowlock.h"
#include "simulation/fiber.h"

#define SIM_CLIENTS 7 /* the last one is the newcomer who tries every name at the end */
#define SIM_NODES 25
#define SIM_MOST (SIM_NODES + 2) /* of a farm; the last two: its operator, and the newcomer */
#define SIM_NAMES 3
#define SIM_TOKENS 512
#define SIM_ROWS 64

/* A deliberate mistake (wrong.c). */
enum sim_wrong {
    SIM_RIGHT,
    SIM_COUNTS_FROM_ANSWER, /* a holder counts its ttl from the answer, not from the sending */
    SIM_IGNORES_QUEUE,      /* a grant does not look who came first */
    SIM_NEW_OWNER,          /* a lost reply is followed by a try under another owner id */
    SIM_STEPS_OVER,         /* a grant takes a lease for expired a second before it is */
    SIM_REVIVES,            /* a renewal that finds no beat makes one */
    SIM_IGNORES_STOP,       /* a renewal does not look whether the lease was broken */
    SIM_MISCOUNTS,          /* one permit too many */
    SIM_LEAVES_THE_DEAD,    /* a look does not remove dead tickets */
    SIM_STRIKES_ALL,        /* a roll call removes also the tickets of waiters that answered */
    SIM_ANSWERS_NOTHING,    /* a look does not answer a roll call */
    SIM_CALLS_NOBODY,       /* a roll call marks nothing, and so never passes a frozen waiter */
    SIM_LEASE_WRONGS,       /* from here on it is made with jobs */
    SIM_CLAIMS_BLINDLY = SIM_LEASE_WRONGS, /* a claim does not ask whether the row was changed */
    SIM_CLEARS_SUCCESSOR,                  /* a finish ends whatever run the job has */
    SIM_FORGETS_THE_LOST, /* a claim does not record that the run before was lost */
    SIM_KEEPS_NO_RUN,     /* a claim writes no row of its run */
    SIM_TRUSTS_THE_LATE,  /* who finishes late is believed */
    SIM_LEAVES_THE_LEASE, /* who lays a lost run to rest leaves its lease */
    SIM_RUNS_EARLY,       /* a node that comes early runs the job before its due time */
    SIM_SKIPS_ALWAYS,     /* missed instants are skipped where they are to be made up */
    SIM_REPEATS_FOR_EVER, /* nobody counts the repeats of a run */
    SIM_WRONGS
};

/* How a history is to be: drawn from its seed. Chances are in 10,000. */
struct sim_temper {
    unsigned clients, names, episodes;
    unsigned stop, crash, lose, lose_reply, slow, stopped_ms;
    unsigned transactions, breaks, permits, shared, fences; /* in 100 */
    bool wild;                                              /* some clocks run as they like */
    bool pooled; /* waiters behave as behind a pooler: a server, but no session locks */
    bool
        frozen; /* a ticket never looks dead, as where a frozen session has its lock: the roll is called */
};

/* What a client wants or has. */
struct sim_claim {
    struct rowlock_want want[SIM_NAMES];
    size_t n;
};

struct sim_client {
    unsigned id; /* from 1 */
    struct fiber *fiber;
    bool running, dying, honest;
    int64_t wake;         /* true time */
    int64_t offset, rate; /* of its clock; rate in 1,000 */
    struct rowlock_connection *connection;
    void (*script)(struct sim_client *client); /* NULL: a life by lot */

    /* the acquire call that is under way */
    unsigned call;
    struct rowlock_request *request;
    const struct rowlock_step *step;
    int64_t ticket;
    int64_t looked;        /* when its last look began, in true time */
    int64_t asked;         /* when the step that is under way was begun, by the database's clock */
    int64_t behind, place; /* what the story said last */

    /* what it believes */
    struct sim_claim asks;
    bool believes;
    int64_t token, end_ms; /* of its own clock */
    bool locks;            /* it is inside a transaction lock of `asks` */
    bool breaking_now;
    bool next_reply_lost; /* by a script: of its next COMMIT */
    bool met_busy;        /* a try of its call found the file locked by a transaction */
};

/* What is simulated: who checks it, and what it is called. */
struct sim_kind {
    unsigned clients;
    unsigned spared; /* nothing happens to this one */
    unsigned long most_steps;
    void (*check_step)(void);                           /* what clients believe, now */
    void (*check_committed)(struct sim_client *client); /* it has just committed something */
    const char *(*name_client)(unsigned id, char *out, size_t size);
    int64_t (*draw_stop)(const struct sim_client *client); /* for how long it stands still */
    bool (*history)(uint64_t seed);                        /* true: every promise was kept */
};
extern const struct sim_kind sim_leases, sim_farm;

struct sim_world {
    const struct sim_kind *kind;
    uint64_t seed, random;
    int64_t now; /* true time, and the database's */
    unsigned long steps;
    struct sim_temper temper;
    struct sim_client client[SIM_MOST];
    struct sim_client *running; /* NULL: nobody, the simulation itself */
    enum sim_wrong wrong;
    bool calm; /* no more misfortune */
    char failure[600];
};

extern struct sim_world sim;

/* ---- scheduler.c */
uint32_t sim_dice(void);
unsigned sim_below(unsigned n); /* 0 .. n-1 */
int64_t sim_between(int64_t least, int64_t most);
bool sim_chance(unsigned of_10000);
int64_t sim_database_ms(void);
int64_t sim_own_ms(const struct sim_client *client);
int64_t sim_true_ms(const struct sim_client *client, int64_t own_ms); /* when its clock says so */
void sim_pass(int64_t ms);      /* the running client stands still; returns at once if it dies */
void sim_until(int64_t own_ms); /* until its own clock says so */
void sim_reset(uint64_t seed);
void sim_enter(struct sim_client *client, unsigned id, void (*script)(struct sim_client *client));
void sim_play(void); /* until nobody lives any more, or a promise was broken; then all is calm */
bool sim_scripted(void (*const *script)(struct sim_client *client), unsigned n);
void sim_kill(struct sim_client *client); /* from outside, or of itself */

/* ---- driver.c */
bool sim_holds_file(
    const struct sim_client *client);    /* it is inside of a transaction that writes */
void sim_cut(struct sim_client *client); /* its transaction, if any, is rolled back by the server */
void sim_close_pool(void);

/* ---- life.c */
void sim_live(struct sim_client *client);
/* What may go wrong when nobody made a mistake. */
void sim_check_code(const struct sim_client *client, const char *what, int code,
                    const struct rowlock_error *error);
void sim_come_new(struct sim_client *client);
bool sim_connect(struct sim_client *client);
/* Parts of a life, for scripts: acquires; holds for so long, renewing; releases. */
int sim_acquire(struct sim_client *client, const struct sim_claim *claim, int64_t ttl_ms,
                int64_t wait_ms, struct rowlock_lease **out);
bool sim_hold(struct sim_client *client, struct rowlock_lease *lease, int64_t ms);
void sim_release(struct sim_client *client, struct rowlock_lease *lease);
void sim_lock(struct sim_client *client, const struct sim_claim *claim, int64_t wait_ms,
              int64_t ms);
void sim_break(struct sim_client *client, const char *name, bool now);
struct sim_claim sim_one(unsigned name, enum rowlock_mode mode);

/* ---- rows.c */
struct sim_row { /* a lease: one name of one token */
    int64_t token, expires;
    char name[8], owner[40];
    enum rowlock_mode mode;
    int count, limit;
    bool beat, stop;
};
struct sim_waiter {
    int64_t ticket, seen;
    char name[8], owner[40];
    enum rowlock_mode mode;
};
struct sim_rows {
    struct sim_row lease[SIM_ROWS];
    struct sim_waiter waiter[SIM_ROWS];
    size_t leases, waiters, beats;
};
void rows_open(const char *folder); /* once */
void rows_close(void);
void rows_reset(void);
bool rows_read(struct sim_rows *rows); /* false: a writer has the file */
const char *rows_url(void);
/* Inside of a client's own transaction: the first column, or `otherwise`. */
int64_t rows_ask(struct rowlock_connection *connection, int64_t otherwise, const char *text,
                 const char *name, int64_t number);

/* ---- check.c */
void check_reset(void);
void check_step(void);
void check_committed(struct sim_client *client);
void check_placed(struct sim_client *client, const struct rowlock_reply *reply);
unsigned check_whose_token(int64_t token); /* a client's id, 0: unknown */
unsigned check_whose_ticket(int64_t ticket);
void check_ticket(int64_t ticket, unsigned id);
void check_called(const struct sim_client *client, int64_t call); /* it has just called the roll */
const char *check_name_client(unsigned id, char *out, size_t size);
bool sim_conflict(const struct sim_claim *a, const struct sim_claim *b);
__attribute__((format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* ---- story.c */
__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);
void story_reset(void);
const char *story_text(bool with_times);
const char *story_claim(const struct sim_claim *claim);
const char *story_client(unsigned id);
void story_reply(struct sim_client *client, const struct rowlock_step *step,
                 const struct rowlock_reply *reply);

/* ---- wrong.c */
const char *wrong_name(enum sim_wrong wrong);
const struct sim_kind *wrong_kind(enum sim_wrong wrong); /* in what it is to be found */
void wrong_free(void);
/* The statement as the mistaken program would send it. */
const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement);

#endif
