/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulation: a farm of clients in one process and one thread. The clients run the product's
 * own code: its state machines, its executor, its SQL, its SQLite driver. Only time and faults are
 * simulated. There are four kinds of histories: some clients and their leases, for seconds; the
 * same on a simulated database that has tables only (table.h); on one that has functions
 * (functions.c); and a farm of nodes with its jobs (farm.h), for up to a year.
 *
 *   scheduler.c  true time, the order of the clients' steps, stops and crashes
 *   driver.c     every batch on its way to SQLite: delays, lost connections, lost replies
 *   seam.c       where the library asks for time, random numbers and pauses, and shows its steps
 *   life.c       the life of a client
 *   rows.c       the database as an observer reads it
 *   check.c      the rows of the database, after every COMMIT
 *   record.c     the operations of the clients, for the judge of make torture
 *   story.c      the history in sentences
 *   wrong.c      deliberate mistakes, which the promises must detect
 *   farm*.c      the same for jobs: lives, rows, promises
 *   table*.c     a database of rows and locks, for the plain dialects
 *   functions.c  functions on top of it: session locks, turn
 *   crowd.c      many waiters for one name, with bounds of times and looks
 *
 * Everything is drawn from one seed, so a history can be repeated.
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

#define SIM_CLIENTS 7 /* the last one is the newcomer, which tries every name at the end */
#ifndef SIM_NODES
#define SIM_NODES 25 /* docs/scale.md: 10,000 */
#endif
#define SIM_MOST (SIM_NODES + 2) /* of a farm; the last two are its operator and the newcomer */
#define SIM_CROWD 1001           /* a holder, and those who wait */
#define SIM_ALL (SIM_MOST > SIM_CROWD ? SIM_MOST : SIM_CROWD)
#define SIM_NAMES 3
#define SIM_TOKENS 512
#define SIM_ROWS 64

/* A deliberate mistake (wrong.c). */
enum sim_wrong {
    SIM_RIGHT,
    /* a holder counts its ttl from the answer instead of from the request */
    SIM_COUNTS_FROM_ANSWER,
    SIM_NEW_OWNER,                         /* after a lost reply the retry uses another owner id */
    SIM_REVIVES,                           /* a renewal that finds no heartbeat inserts one */
    SIM_LEAVES_THE_DEAD,                   /* a look does not remove dead tickets */
    SIM_LEASE_WRONGS,                      /* the following ones concern jobs */
    SIM_CLAIMS_BLINDLY = SIM_LEASE_WRONGS, /* a claim does not check whether the row has changed */
    SIM_CLEARS_SUCCESSOR,                  /* a finish ends any run that the job has */
    SIM_FORGETS_THE_LOST, /* a claim does not record that the previous run was lost */
    SIM_KEEPS_NO_RUN,     /* a claim writes no row of its run */
    SIM_TRUSTS_THE_LATE,  /* a late finish is accepted */
    SIM_LEAVES_THE_LEASE, /* recording a lost run leaves its lease */
    SIM_RUNS_EARLY,       /* a node that comes early runs the job before its due time */
    SIM_SKIPS_ALWAYS,     /* missed due times are skipped although the job repeats them */
    SIM_REPEATS_FOR_EVER, /* the repeats of a run are not counted */
    SIM_FARM_WRONGS,      /* the following ones concern the plain dialects */
    SIM_READS_FIRST = SIM_FARM_WRONGS, /* a grant reads the rows before it locks the name */
    SIM_LOCKS_NOTHING,                 /* a transaction lock is not acquired */
    SIM_DRAWS_UNLOCKED,                /* a token is not drawn under the lock of its row */
    SIM_FENCES_NOTHING,                /* a fence reads the lease without locking it */
    SIM_SWEEPS_BLINDLY,                /* a sweep has no condition that the lease has expired */
    SIM_RENEWS_STOPPED,                /* a renewal has no condition that the lease is not broken */
    SIM_EXPIRES_BLINDLY,               /* a dead ticket is deleted without that condition */
    SIM_STRIKES_BLINDLY,               /* a silent ticket is deleted though it has answered since */
    SIM_MARKS_NOBODY,                  /* a roll call marks no ticket */
    SIM_SHOWS_NO_LIFE,                 /* a sign of life does not answer a roll call */
    SIM_IGNORES_READERS,               /* judge: a shared lease is not in the way of another mode */
    SIM_IGNORES_WRITERS,               /* judge: an exclusive lease is not in the way of a reader */
    SIM_GRANTS_ONE_MORE,               /* judge: one permit too many */
    SIM_SWEEPS_NOT,                    /* judge: an expired lease is free without a sweep */
    SIM_JUDGES_NO_QUEUE,               /* judge: the queue is empty */
    SIM_RELEASES_BY_NAME,              /* a release ends the lease that the name has */
    SIM_TABLE_WRONGS,                  /* the following ones concern session locks */
    SIM_TURN_IGNORES_QUEUE = SIM_TABLE_WRONGS, /* a turn grants although tickets are before it */
    SIM_REMOVES_THE_LIVING, /* an await removes a ticket whose session lock is held */
    SIM_WRONGS
};

/* The parameters of a history, drawn from its seed. Chances are in 10,000. */
struct sim_temper {
    unsigned clients, names, episodes;
    unsigned stop, crash, lose, lose_reply, slow, stopped_ms;
    unsigned transactions, breaks, permits, shared, fences; /* in 100 */
    bool wild;                                              /* some clocks run at any rate */
    bool pooled;      /* waiters behave as behind a pooler: a server, but no session locks */
    bool sessions;    /* tickets live as long as their session locks (functions.c) */
    bool frozen;      /* tickets never look dead, like those of frozen sessions, so that the roll is
                    called */
    bool seizes;      /* with sessions: no turns, but tries after an await, as on MariaDB */
    int64_t delay_ms; /* of a statement on its way, at most; 0: 3; < 0: none */
    int64_t late_ms;  /* how much longer a pause is */
};

/* The names that a client asks for or holds. */
struct sim_claim {
    struct rowlock_want want[SIM_NAMES];
    size_t n;
};

struct sim_client {
    unsigned id; /* from 1 */
    struct fiber *fiber;
    bool running, dying, honest, stopped; /* stopped: forever */
    int64_t wake;                         /* true time */
    int64_t offset, rate;                 /* of its clock; rate 1,000 is correct */
    struct rowlock_connection *connection;
    void (*script)(struct sim_client *client); /* NULL: a random life */

    /* the acquire call under way */
    unsigned call;
    struct rowlock_request *request;
    const struct rowlock_step *step;
    int64_t ticket;
    int64_t looked;           /* when its last look began, in true time */
    int64_t asked;            /* when the current step began, by the database's clock */
    unsigned long asked_step; /* the same, as sim.steps */
    int64_t behind, place;    /* as last reported in the story */

    /* the client's beliefs */
    struct sim_claim asks;
    bool believes;
    int64_t token, end_ms; /* by its own clock */
    long op;               /* in the record */
    bool locks;            /* it holds a transaction lock on `asks` */
    bool breaking_now;
    char owner[40];                       /* of its last acquire */
    void (*meets)(const char *statement); /* set by a script: called before each statement */
    bool met_busy;                        /* a try found the file locked by a transaction */
};

struct sim_rows;

struct sim_written { /* a fenced write */
    char name[8];
    int64_t value, token;
    long client, op;
};

/* A database, for the clients and the observer. All from `begin` to `write` work inside a client's
   own transaction. */
struct sim_store {
    const char *(*url)(void);
    void (*reset)(void);
    bool (*read)(struct sim_rows *rows); /* false: a writer has locked the file */
    bool (*begin)(struct sim_client *client);
    bool (*has_lease)(struct sim_client *client, const char *name, int64_t token);
    bool (*is_leased)(struct sim_client *client, const char *name, bool but_shared);
    /* raises the counter of the name, as a row of this client and operation; its value, or 0 */
    int64_t (*write)(struct sim_client *client, const char *name, int64_t token, long op);
    size_t (*written)(struct sim_written *rows, size_t room);
};
extern const struct sim_store sqlite_store, functions_store;

/* The differences between the kinds of histories. */
struct sim_kind {
    const char *name;
    const struct sim_store *store;
    unsigned clients;
    unsigned spared; /* no fault hits this client */
    unsigned long most_steps;
    void (*check_step)(void); /* checks the beliefs of all clients; NULL: the judge does */
    void (*check_committed)(struct sim_client *client); /* after a commit of this client */
    const char *(*name_client)(unsigned id, char *out, size_t size);
    /* how long a client is stopped */
    int64_t (*draw_stop)(const struct sim_client *client);
    bool (*history)(uint64_t seed); /* true: every promise was kept */
    void (*adapt)(void);            /* changes the parameters that were drawn; may be NULL */
};
extern const struct sim_kind sim_leases, sim_tables, sim_functions, sim_farm;

struct sim_world {
    const struct sim_kind *kind;
    uint64_t seed, random;
    int64_t now; /* true time, and the database's */
    unsigned long steps;
    struct sim_temper temper;
    struct sim_client client[SIM_ALL];
    struct sim_client *running; /* NULL: no client, the simulation itself */
    enum sim_wrong wrong;
    bool calm;                             /* no more faults */
    unsigned long asked[ROWLOCK_ACT_DONE]; /* the steps of all acquire calls */
    unsigned long removed;                 /* waiters that found their tickets gone */
    char failure[600];
};

extern struct sim_world sim;

/* Begins the function that the linker calls instead of the library's or libc's function of that
   name (simulation.mk), which is __real_... here. */
#define SEAM(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

/* ---- scheduler.c */
uint32_t sim_dice(void);
unsigned sim_below(unsigned n); /* 0 .. n-1 */
int64_t sim_between(int64_t least, int64_t most);
int64_t sim_pick(const int64_t *values, unsigned n);
#define PICK(...) \
    sim_pick((const int64_t[]){__VA_ARGS__}, sizeof(const int64_t[]){__VA_ARGS__} / sizeof(int64_t))
bool sim_chance(unsigned of_10000);
int64_t sim_database_ms(void);
int64_t sim_own_ms(const struct sim_client *client);
/* when its clock shows that time */
int64_t sim_true_ms(const struct sim_client *client, int64_t own_ms);
int64_t sim_delay(void);        /* of a statement on its way, at most */
void sim_pass(int64_t ms);      /* the running client sleeps; returns at once if it dies */
void sim_until(int64_t own_ms); /* until its own clock shows that time */
void sim_reset(uint64_t seed);
void sim_enter(struct sim_client *client, unsigned id, void (*script)(struct sim_client *client));
bool sim_history(uint64_t seed);
int64_t sim_draw_stop(const struct sim_client *client);
void sim_play(void); /* until all clients have ended or a promise was broken; then faults end */
bool sim_scripted(void (*const *script)(struct sim_client *client), unsigned n);

/* ---- driver.c */
bool sim_holds_file(const struct sim_client *client); /* it is inside a transaction that writes */
void sim_cut(struct sim_client *client); /* the server rolls back its transaction, if any */
void sim_fill_pool(void);
void sim_close_pool(void);

/* ---- life.c */
void sim_live(struct sim_client *client);
/* Fails the history if the error is none that faults alone can cause. */
void sim_check_code(const struct sim_client *client, const char *what, int code,
                    const struct rowlock_error *error);
void sim_come_new(struct sim_client *client);
bool sim_connect(struct sim_client *client);
/* Parts of a life, for scripts: acquires; holds for `ms`, renewing; releases. */
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
    bool heartbeat, stop;
};
struct sim_waiter {
    int64_t ticket, seen;
    char name[8], owner[40];
    enum rowlock_mode mode;
};
struct sim_rows {
    struct sim_row lease[SIM_ROWS];
    struct sim_waiter waiter[SIM_ROWS];
    size_t leases, waiters, heartbeats;
};
void rows_open(const char *folder); /* called once */
void rows_close(void);
const char *rows_url(void);
/* Its connection. A failure ends the program. */
extern struct sqlite3 *rows_observer;
void rows_must(int code, const char *what);
struct sqlite3_stmt *rows_prepare(const char *text);

/* ---- check.c */
void check_reset(void);
void check_committed(struct sim_client *client);
void check_placed(struct sim_client *client, const struct rowlock_reply *reply);
unsigned check_whose_token(int64_t token); /* a client's id; 0: unknown */
unsigned check_whose_ticket(int64_t ticket);
void check_refused(const struct sim_client *client, const struct rowlock_reply *reply);
void check_ticket(int64_t ticket, unsigned id);
void check_called(const struct sim_client *client, int64_t call); /* it has just called the roll */
const char *check_name_client(unsigned id, char *out, size_t size);
__attribute__((format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* ---- record.c */
void record_reset(void);
void record_asks(struct sim_client *client); /* for `asks` */
void record_refused(const struct sim_client *client, int code);
void record_granted(const struct sim_client *client, const struct rowlock_lease *lease);
void record_locked(const struct sim_client *client);
void record_renewed(const struct sim_client *client, const struct rowlock_lease *lease);
void record_leaves(const struct sim_client *client);
void record_left(const struct sim_client *client);
void record_rolled_back(const struct sim_client *client);
void record_revoked(int64_t token);
void record_stop(const struct sim_client *client, int64_t ms);
void record_free(const struct sim_client *client, const char *name, bool is_free);
long record_fences(const struct sim_client *client, const char *name); /* the operation */
void record_fenced(const struct sim_client *client, const char *name, long op, bool fenced);
void record_not_added(const struct sim_client *client, const char *name, long op);
void record_commits(const struct sim_client *client, const char *name, long op);
void record_committed(const struct sim_client *client, const char *name, long op, int64_t value);
void record_judge(void); /* fails the history if the judge of make torture finds a violation */

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
/* Where to begin the search for a history that finds it; 0: anywhere. */
uint64_t wrong_seed(enum sim_wrong wrong);
/* the kind of history that must detect it */
const struct sim_kind *wrong_kind(enum sim_wrong wrong);
void wrong_free(void);
/* The statement with the mistake in it. */
const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement);

#endif
