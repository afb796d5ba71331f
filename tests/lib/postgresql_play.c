/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/postgresql_play.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/postgresql_gates.h"
#include "lib/postgresql_players.h"
#include "lib/test.h"

#define MOST_STEPS 400
#define MOST_DEATHS 2
#define LIMITED_MS 2500 /* longer than the limited waits for rows and tables */

/* A search in depth: the choice at each step, and how many there were. */
static struct {
    int choice[MOST_STEPS], width[MOST_STEPS], depth;
    bool exhausted;
} search;

static struct referee referee;
static uint64_t seed;

static unsigned draw(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 11) % n;
}

static PGconn *admin(void)
{
    return t_admin();
}

/* ---- waiting until no player moves by itself ------------------------------------------------- */

static int receive_all(void)
{
    int running = 0;

    for (int i = 0; i < referee.players; i++) {
        struct player *player = &referee.player[i];

        if (player->state != RUNS && player->state != WAITS)
            continue;
        PQconsumeInput(player->session);
        if (PQisBusy(player->session))
            running++;
        else
            player_receive(&referee, player);
    }
    return running;
}

/* Asks the server which of them wait, and for what; returns whether all do. */
static bool all_wait(void)
{
    PGresult *result = PQexec(admin(), "SELECT pid, classid, objid, objsubid FROM pg_locks "
                                       "WHERE NOT granted");
    bool all = true;

    for (int i = 0; i < referee.players; i++) {
        struct player *player = &referee.player[i];

        if (player->state != RUNS && player->state != WAITS)
            continue;
        player->state = RUNS;
        for (int row = 0; row < PQntuples(result); row++) {
            if (atoi(PQgetvalue(result, row, 0)) != player->pid)
                continue;
            player->gate =
                PQgetvalue(result, row, 3)[0] != '2'
                    ? -1
                    : gates_at(PQgetvalue(result, row, 1), PQgetvalue(result, row, 2), i);
            player->state = player->gate < 0 ? WAITS : AT_GATE;
        }
        all = all && player->state != RUNS;
    }
    PQclear(result);
    return all;
}

/* Until one of them answers, or soon. */
static void listen_to_all(void)
{
    struct pollfd polls[PLAYERS];
    nfds_t n = 0;

    for (int i = 0; i < referee.players; i++)
        if (referee.player[i].state == RUNS)
            polls[n++] = (struct pollfd){PQsocket(referee.player[i].session), POLLIN, 0};
    poll(polls, n, 1);
}

static void settle(void)
{
    long long end = t_now() + T_TIMEOUT_MS;

    while (receive_all() && !all_wait()) {
        listen_to_all();
        if (t_now() > end)
            t_fail(__FILE__, __LINE__, "a session neither waits nor answers:%s", referee.story);
    }
}

/* ---- one schedule ---------------------------------------------------------------------------- */

static void connect_player(struct player *player)
{
    player->session = t_native_at(t_url());
    player->pid = PQbackendPID(player->session);
    gates_enter(player->session, player->number);
}

static void insert_gate(const char *which)
{
    gates_sql(admin(),
              "INSERT INTO rowlock.lease (token, name, mode, expires, acquired) VALUES (0, '%s%s', "
              "'gate', '-infinity', 'infinity')",
              referee.name, which);
}

static void insert_expired(const char *which)
{
    insert_gate(which);
    gates_sql(admin(),
              "INSERT INTO rowlock.lease (token, name, n, mode, expires, acquired) SELECT t.t, "
              "'%s%s', t.t, 'shared', '-infinity', 'infinity' FROM (SELECT "
              "nextval('rowlock.number') AS t) t",
              referee.name, which);
}

static void insert_crossed(void)
{
    insert_expired(TOO);
    insert_expired("");
}

/* The lease of the first player, past the trigger that sees the rows of a restore. */
static void insert_lease(bool shared, bool expired)
{
    struct player *holder = &referee.player[0];

    if (shared)
        insert_gate("");
    referee.first = referee.last = atoll(gates_sql(
        admin(),
        "INSERT INTO rowlock.lease (token, name, n, mode, owner, expires, acquired) SELECT t.t, "
        "'%s', %s, '%s', '%s', clock_timestamp() + interval '%s', 'infinity' FROM (SELECT "
        "nextval('rowlock.number') AS t) t RETURNING token",
        referee.name, shared ? "t.t" : "0", shared ? "shared" : "exclusive", holder->owner,
        expired ? "-1 s" : "1 h"));
    holder->token = referee.first;
    holder->hold = shared ? SHARED : EXCLUSIVE;
    holder->expired = expired;
    holder->wakes = holder->pid;
    gates_sql(holder->session, "SELECT pg_advisory_lock(rowlock.session_key(%lld))", holder->token);
}

static void set_up(const struct play *play, int schedule)
{
    const char *script = play->scripts;

    referee.story[0] = referee.violation[0] = '\0';
    referee.first = referee.last = 0;
    referee.first_ended = false;
    snprintf(referee.name, sizeof referee.name, "play %d %s", schedule, play->scripts);
    for (referee.players = 0; *script; referee.players++) {
        struct player *player = &referee.player[referee.players];
        PGconn *session = player->session;
        int length = (int)strcspn(script, "/"), pid = player->pid;

        *player = (struct player){.session = session, .pid = pid, .number = referee.players};
        snprintf(player->script, sizeof player->script, "%.*s", length, script);
        snprintf(player->owner, sizeof player->owner, "owner %d %d", schedule, referee.players);
        script += length + (script[length] == '/');
        if (!session)
            connect_player(player);
    }
    if (play->start == PLAY_MOVED)
        gates_sql(admin(), "SELECT rowlock.move('%s', 0, nextval('rowlock.number'), false)",
                  referee.name);
    else if (play->start == PLAY_GATED)
        insert_gate("");
    else if (play->start == PLAY_CROSSED)
        insert_crossed();
    else if (play->start != PLAY_FREE)
        insert_lease(play->start == PLAY_SHARED, play->start != PLAY_HELD);
}

static int ready(struct player **choices)
{
    int n = 0;

    for (int i = 0; i < referee.players; i++) {
        struct player *player = &referee.player[i];

        /* a player that was refused has nothing to release, or to renew */
        while (player->state == READY && strchr("RruN", player->script[player->at]) &&
               !player->token) {
            player->at++;
            player->state = player->script[player->at] ? READY : DONE;
        }
        if (player->state == READY || player->state == AT_GATE)
            choices[n++] = player;
    }
    return n;
}

static void go_on(struct player *player)
{
    if (player->state == READY) {
        player_send(&referee, player);
    } else {
        story(&referee, " %d.", player->number);
        player->state = RUNS;
        gates_open(admin(), player->number, player->gate);
    }
}

static void kill_player(struct player *player)
{
    story(&referee, " %dx", player->number);
    t_engine()->kill(admin(), player->pid);
    PQfinish(player->session);
    connect_player(player);
    player_died(&referee, player);
}

static int choose(int n, int step, bool random)
{
    if (random || step >= MOST_STEPS)
        return (int)draw((unsigned)n);
    if (step >= search.depth) {
        search.choice[step] = 0;
        search.depth = step + 1;
    }
    search.width[step] = n;
    return search.choice[step] % n;
}

/* No player can continue. Waits of a limited time end by themselves; the others never do. */
static bool is_stuck(void)
{
    struct player *choices[PLAYERS];

    for (long long end = t_now() + LIMITED_MS; t_now() < end; settle())
        if (receive_all() == 0 || !all_wait() || ready(choices) > 0)
            return false;
    violation(&referee, "no session wakes the waiters");
    for (int i = 0; i < referee.players; i++)
        if (referee.player[i].state == WAITS)
            kill_player(&referee.player[i]);
    return true;
}

static bool somebody_waits(void)
{
    for (int i = 0; i < referee.players; i++)
        if (referee.player[i].state == WAITS)
            return true;
    return false;
}

static long play_on(const struct play *play, bool random, struct played *played)
{
    struct player *choices[PLAYERS];
    int deaths = 0, n;
    long step = 0;

    for (;; step++) {
        settle();
        n = ready(choices);
        if (n == 0 && (!somebody_waits() || is_stuck()))
            return step;
        if (n == 0)
            continue;
        if (play->deaths && deaths < MOST_DEATHS && draw(8) == 0) {
            deaths++;
            kill_player(&referee.player[draw((unsigned)referee.players)]);
        } else {
            go_on(choices[choose(n, (int)step, random)]);
        }
        played->deaths += deaths;
    }
}

/* At the end each holder has a row, which no row hides, and no ticket lacks a gate. */
static void check_rows(const struct play *play)
{
    int holders = 0;
    const char *found;

    for (int i = 0; i < referee.players; i++)
        holders += referee.player[i].hold != NOTHING;
    found = gates_sql(
        admin(),
        "SELECT concat_ws(' ', count(*) FILTER (WHERE CASE WHEN l.n > 0 THEN EXISTS (SELECT FROM "
        "rowlock.lease g WHERE g.name = l.name AND g.token = 0 AND g.least < l.n) ELSE NOT EXISTS "
        "(SELECT FROM rowlock.lease o WHERE o.name = l.name AND o.n < l.n) END), count(*), "
        "(SELECT count(*) FROM rowlock.waiter w WHERE w.name = '%s' AND NOT EXISTS (SELECT FROM "
        "rowlock.lease g WHERE g.name = w.name AND (g.token = 0 OR g.token > 0 AND g.queued)))) "
        "FROM rowlock.lease l WHERE l.name = '%s' AND l.token > 0 AND l.owner IS NOT NULL",
        referee.name, referee.name);
    /* a call whose answer was lost may have a lease that no player knows */
    if (atoi(found) != atoi(strchr(found, ' ')) ||
        (play->deaths ? atoi(found) < holders : atoi(found) != holders) ||
        atoi(strrchr(found, ' ')) != 0)
        violation(&referee, "%d holders, but leases that are seen, leases, stray tickets: %s",
                  holders, found);
}

static void clear(struct played *played)
{
    played->moved += atol(
        gates_sql(admin(),
                  "WITH d AS (DELETE FROM rowlock.lease WHERE name LIKE '%s%%' RETURNING token, n) "
                  "SELECT count(*) FROM d WHERE token < 0 AND n %% 2 <> 0",
                  referee.name));
    gates_sql(admin(), "DELETE FROM rowlock.waiter WHERE name LIKE '%s%%'", referee.name);
    for (int i = 0; i < referee.players; i++)
        gates_sql(referee.player[i].session, "SELECT pg_advisory_unlock_all()");
}

/* The next schedule in order. */
static void advance(void)
{
    int last = search.depth - 1;

    while (last >= 0 && search.choice[last] + 1 >= search.width[last])
        last--;
    search.exhausted = last < 0;
    search.depth = last + 1;
    if (last >= 0)
        search.choice[last]++;
}

struct played play(const struct play *play)
{
    static char violation_text[sizeof referee.violation];
    struct played played = {0};

    memset(&search, 0, sizeof search);
    referee.grants = referee.refusals = referee.locks = referee.fences = 0;
    referee.taken = referee.tidied = 0;
    seed = 88172645463325252U;
    gates_move(admin(), play->moves || play->start == PLAY_MOVED);
    for (int i = 0; i < play->most && !played.violation; i++) {
        bool random = play->deaths || search.exhausted || i >= play->most / 2;

        set_up(play, i);
        gates_move(admin(), play->moves);
        played.steps += play_on(play, random, &played);
        check_rows(play);
        clear(&played);
        played.schedules++;
        if (!random)
            advance();
        snprintf(violation_text, sizeof violation_text, "%s", referee.violation);
        played.violation = violation_text[0] ? violation_text : NULL;
        if (search.exhausted && referee.players == 2 && !play->deaths)
            break;
    }
    played.all = search.exhausted;
    played.grants = referee.grants;
    played.refusals = referee.refusals;
    played.locks = referee.locks;
    played.fences = referee.fences;
    played.taken = referee.taken;
    played.tidied = referee.tidied;
    return played;
}
