/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Players are sessions that execute a script on one name, a letter for each call:
 *
 *     G grant_free, or nothing        g grant by function         N renew       K break now
 *     R release_free, or by function  r release by function       V tidy
 *     S P grant of a shared lease, of one of two permits
 *     A Z the same of two names at once: exclusive, shared
 *     E enqueue      Q for two names  T wait for the ticket's turn, and acquire     W withdraw
 *     F fence, COMMIT                 f at REPEATABLE READ, with a snapshot from before
 *     X transaction lock, COMMIT      Y y by rowlock.lock, exclusive, shared; they end what expired
 *     O transaction beneath the first lease, COMMIT
 *     u v release by function, and tidy, at REPEATABLE READ with a snapshot from before
 *     D a restore inserts a lease at the name's first generation
 *
 * The referee compares each answer with those of the other players, and knows what must never be.
 */
#ifndef TEST_POSTGRESQL_PLAYERS_H
#define TEST_POSTGRESQL_PLAYERS_H

#include <libpq-fe.h>
#include <stdbool.h>

#define PLAYERS 3
#define TOO ", too" /* the end of the second name */

enum player_state { READY, RUNS, AT_GATE, WAITS, DONE };
enum hold { NOTHING, EXCLUSIVE, SHARED, PERMIT };

struct player {
    PGconn *session;
    int number, pid;
    char script[16];
    int at, step; /* the call of the script, and its statement */
    enum player_state state;
    int gate;
    char owner[24];
    long long token, ticket;
    int kind; /* of a turn: 0 a ticket, 1 a lease, -1 the name is free */
    long long awaited;
    bool two; /* the ticket is for two names */
    int tries;
    /* what the referee knows */
    enum hold hold;
    int wakes;               /* the session, if it has the session lock of its token */
    bool expired, breakable; /* the lease may be taken over, or broken */
    enum hold locked;        /* by a transaction lock */
    bool fenced, beneath;
    unsigned ahead; /* the players that had a ticket when the call was sent */
    bool again;     /* the call is repeated, because its session died */
};

struct referee {
    char name[40];
    long long first, last; /* tokens: of the first lease, of the last exclusive grant */
    bool first_ended;
    struct player player[PLAYERS];
    int players;
    char story[4000], violation[4300];
    /* counts of all schedules */
    long grants, refusals, locks, fences, taken, adopted, tidied;
};

/* Sends the next statement of the player's call. */
void player_send(struct referee *referee, struct player *player);
/* Reads the answer that has arrived, and judges it. */
void player_receive(struct referee *referee, struct player *player);
/* The session was ended: the call is unknown, and is repeated by function, or given up. */
void player_died(struct referee *referee, struct player *player);

/* For the two files that play: postgresql_players.c and postgresql_referee.c. */
void player_forgets_ticket(struct referee *referee, struct player *player);
void story(struct referee *referee, const char *format, ...) __attribute__((format(printf, 2, 3)));
void violation(struct referee *referee, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
