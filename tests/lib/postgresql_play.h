/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays scripts of two or three sessions (lib/postgresql_players.h) on a real PostgreSQL in many
 * orders. A session stops between its statements and at each gate inside them; the schedule states
 * which of them continues. The server itself reports which sessions wait.
 */
#ifndef TEST_POSTGRESQL_PLAY_H
#define TEST_POSTGRESQL_PLAY_H

enum play_start {
    PLAY_FREE,
    PLAY_MOVED,   /* free, after it has moved */
    PLAY_HELD,    /* the first player has an exclusive lease */
    PLAY_EXPIRED, /* so, and it has expired */
    PLAY_SHARED,  /* the first player has a shared lease, which has expired */
    PLAY_CROSSED, /* two shared leases have expired, the first one of the second name */
    PLAY_GATED    /* free, with a gate that has no members and no waiters */
};

struct play {
    const char *scripts; /* joined by '/' */
    enum play_start start;
    int most;   /* schedules; the first half in their order, the rest at random */
    int moves;  /* each grant by function moves the name */
    int deaths; /* sessions die; all schedules are random */
};

struct played {
    long schedules, steps, deaths, moved;
    int all; /* no other schedule exists */
    long grants, refusals, locks, fences, taken, tidied;
    const char *violation; /* NULL: none; play ends with the first */
};

struct played play(const struct play *play);

#endif
