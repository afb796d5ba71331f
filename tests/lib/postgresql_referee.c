/* SPDX-License-Identifier: Apache-2.0 */
/* The rules: reads the answers of players, and finds violations. */
#include "lib/postgresql_players.h"

#include <stdlib.h>
#include <string.h>

#include "lib/postgresql_gates.h"

#define MOST_TRIES 12 /* of a turn; each waits for an event */

static void next_call(struct player *player)
{
    player->at++;
    player->step = player->tries = 0;
    player->again = false;
    player->state = player->script[player->at] ? READY : DONE;
}

static void next_step(struct player *player, int step)
{
    player->step = step;
    player->state = READY;
}

/* Whether another session may end its lease. */
static bool may_end(const struct player *player)
{
    return player->expired || player->breakable;
}

static bool conflict(enum hold a, enum hold b)
{
    return a != NOTHING && b != NOTHING && !(a == SHARED && b == SHARED) &&
           !(a == PERMIT && b == PERMIT);
}

static void granted(struct referee *referee, struct player *player, long long token, enum hold hold)
{
    bool adopted = token == player->token && player->token;
    int permits = 1;

    story(referee, "+%lld", token);
    referee->grants++;
    for (int i = 0; i < referee->players; i++) {
        struct player *other = &referee->player[i];

        if (other == player)
            continue;
        if (conflict(hold, other->hold) && !may_end(other))
            violation(referee, "granted to %d while %d has it", player->number, i);
        if (conflict(hold, other->hold) && may_end(other)) {
            other->hold = NOTHING;
            referee->taken++;
            referee->first_ended = true;
        }
        if (conflict(hold, other->locked))
            violation(referee, "granted to %d during a transaction lock", player->number);
        if (other->fenced || other->beneath)
            violation(referee, "granted to %d during a fence", player->number);
        permits += other->hold == PERMIT;
        if (player->ticket && other->ticket && other->ticket < player->ticket)
            violation(referee, "%d passed the ticket of %d", player->number, i);
    }
    if (hold == PERMIT && permits > 2)
        violation(referee, "%d permits of two", permits);
    if (player->ahead && !player->ticket && !adopted)
        violation(referee, "%d passed a ticket", player->number);
    if (hold == EXCLUSIVE && !adopted) {
        if (token <= referee->last)
            violation(referee, "token %lld after %lld", token, referee->last);
        referee->last = token;
    }
    referee->first = referee->first ? referee->first : token;
    player->token = token;
    player->hold = hold;
    player->expired = player->breakable = false;
    player->wakes = player->pid;
}

static void ended(struct referee *referee, const struct player *player, bool by_it)
{
    if (player->token != referee->first)
        return;
    referee->first_ended = true;
    for (int i = 0; i < referee->players && by_it; i++)
        if (referee->player[i].fenced || referee->player[i].beneath)
            violation(referee, "ended during a fence of %d", i);
}

static void judge_grant(struct referee *referee, struct player *player, bool got, long long token,
                        enum hold hold)
{
    if (got) {
        granted(referee, player, token, hold);
    } else {
        referee->refusals++;
        player->token = 0;
        story(referee, "-");
    }
    next_call(player);
}

static void judge_release(struct referee *referee, struct player *player, char call, bool found)
{
    if (call == 'R' && player->step == 0 && !found) {
        story(referee, "~");
        next_step(player, 1);
        return;
    }
    story(referee, found ? "" : "lost");
    ended(referee, player, found);
    next_call(player);
}

static void judge_renewal(struct referee *referee, struct player *player, bool found)
{
    if (player->step == 0 && !found) {
        next_step(player, 1);
        return;
    }
    story(referee, found ? "ok" : "lost");
    if (found && player->hold != NOTHING)
        player->expired = false;
    else if (!found && player->hold != NOTHING && !may_end(player))
        violation(referee, "the lease of %d was lost", player->number);
    else if (!found)
        player->hold = NOTHING;
    next_call(player);
}

/* It ends what it finds. A lease that was granted since is not `breakable`. */
static void judge_break(struct referee *referee, struct player *player, bool found)
{
    story(referee, found ? "broken" : "nothing");
    for (int i = 0; i < referee->players && found; i++) {
        struct player *other = &referee->player[i];

        if (!other->breakable)
            continue;
        ended(referee, other, true);
        other->hold = NOTHING;
    }
    for (int i = 0; i < referee->players; i++)
        referee->player[i].breakable = false;
    next_call(player);
}

static void judge_turn(struct referee *referee, struct player *player, int status, long long token,
                       long long awaited)
{
    if (player->step == 0 && status != 12) {
        player->kind = status == 0 ? -1 : status == 3;
        player->awaited = awaited;
        next_step(player, 1);
    } else if (player->step == 1 && status == 0) {
        granted(referee, player, token, EXCLUSIVE);
        player_forgets_ticket(referee, player);
        next_call(player);
    } else if (status == 12) {
        violation(referee, "the ticket of %d is gone", player->number);
        next_call(player);
    } else if (++player->tries == MOST_TRIES) {
        violation(referee, "%d retries without end (%d)", player->number, status);
        next_call(player);
    } else {
        story(referee, "-%d", status);
        next_step(player, 0);
    }
}

/* The statement in the transaction that locks has the status. */
static void judge_transaction(struct referee *referee, struct player *player, char call, int status)
{
    int acts = strchr("Xfuv", call) ? 2 : 1;

    if (player->step == acts && call == 'u') {
        ended(referee, player, status == 0);
    } else if (player->step == acts && call == 'v') {
        referee->tidied++;
    } else if (player->step == acts && status != 0) {
        story(referee, "-%d", status);
        referee->refusals++;
    } else if (player->step == acts && strchr("XYy", call)) {
        player->locked = call == 'y' ? SHARED : EXCLUSIVE;
        referee->locks++;
        for (int i = 0; i < referee->players; i++)
            if (&referee->player[i] != player &&
                (conflict(player->locked, referee->player[i].locked) ||
                 (conflict(player->locked, referee->player[i].hold) &&
                  !may_end(&referee->player[i]))))
                violation(referee, "%d locked it while %d has it", player->number, i);
    } else if (player->step == acts) {
        referee->fences++;
        if (referee->first_ended)
            violation(referee, "%d fenced a lease that had ended", player->number);
        for (int i = 0; i < referee->players && call == 'O'; i++)
            if (referee->player[i].beneath)
                violation(referee, "%d and %d at once beneath one lease", player->number, i);
        *(call == 'O' ? &player->beneath : &player->fenced) = true;
    }
    if (player->step == acts + 1)
        next_call(player);
    else
        next_step(player, player->step + 1);
}

static void judge(struct referee *referee, struct player *player, const PGresult *result)
{
    char call = player->script[player->at];
    bool row = PQntuples(result) > 0;
    long long value[3] = {0, 0, 0};

    for (int i = 0; row && i < 3 && i < PQnfields(result); i++)
        value[i] = atoll(PQgetvalue(result, 0, i));
    switch (call) {
    case 'G':
        judge_grant(referee, player, row, value[0], EXCLUSIVE);
        break;
    case 'D':
        judge_grant(referee, player, true, value[0], EXCLUSIVE);
        break;
    case 'g':
    case 'A':
        judge_grant(referee, player, value[0] == 0, value[1], EXCLUSIVE);
        break;
    case 'S':
    case 'Z':
        judge_grant(referee, player, value[0] == 0, value[1], SHARED);
        break;
    case 'P':
        judge_grant(referee, player, value[0] == 0, value[1], PERMIT);
        break;
    case 'R':
    case 'r':
        judge_release(referee, player, call,
                      row && (value[0] != 0 || (call == 'R' && player->step == 0)));
        break;
    case 'N':
        judge_renewal(referee, player, row && value[0] == 0);
        break;
    case 'E':
    case 'Q':
        player->ticket = value[0];
        next_call(player);
        break;
    case 'T':
        if (player->step == 0)
            judge_turn(referee, player, (int)value[0], 0, value[1]);
        else
            judge_turn(referee, player, (int)value[0], value[1], value[2]);
        break;
    case 'V':
        referee->tidied += value[0];
        next_call(player);
        break;
    case 'K':
        judge_break(referee, player, value[0] > 0);
        break;
    case 'W':
        next_call(player);
        break;
    default:
        judge_transaction(referee, player, call, row ? (int)value[0] : 0);
    }
}

/* A restore may find the name leased. Any other error is a mistake, deadlocks too. */
static void judge_error(struct referee *referee, struct player *player, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char call = player->script[player->at];

    story(referee, "!%s", state ? state : "");
    if (!state || strcmp(state, call == 'D' ? "23505" : call == 'u' ? "40001" : "") != 0)
        violation(referee, "error of %d: %s", player->number, PQerrorMessage(player->session));
    if (PQtransactionStatus(player->session) != PQTRANS_IDLE)
        gates_sql(player->session, "ROLLBACK");
    player->locked = NOTHING;
    player->fenced = player->beneath = false;
    if (call == 'u') { /* the client repeats it */
        player->script[player->at] = 'r';
        next_step(player, 0);
    } else {
        next_call(player);
    }
}

void player_receive(struct referee *referee, struct player *player)
{
    PGresult *result, *last = NULL;

    while ((result = PQgetResult(player->session))) {
        PQclear(last);
        last = result;
    }
    if (PQresultStatus(last) == PGRES_TUPLES_OK || PQresultStatus(last) == PGRES_COMMAND_OK)
        judge(referee, player, last);
    else
        judge_error(referee, player, last);
    PQclear(last);
}

void player_died(struct referee *referee, struct player *player)
{
    char *call = &player->script[player->at];
    const char *queued = strpbrk(player->script, "EQ");

    player->locked = NOTHING;
    player->fenced = player->beneath = false;
    player->wakes = 0;
    player_forgets_ticket(referee, player);
    if (player->state == DONE)
        return;
    if (*call == 'T' && queued && queued < call) {
        player->at = (int)(queued - player->script);
        player->step = player->tries = 0;
    } else if (strchr("GgSPAZEQ", *call)) {
        player->again = *call != 'E' && *call != 'Q' && player->state != READY;
        *call = *call == 'G' ? 'g' : *call;
        player->step = 0;
    } else if (*call == 'R' || *call == 'r') {
        *call = 'r';
    } else if (*call == 'N') {
        player->step = 0;
    } else {
        next_call(player);
        return;
    }
    player->state = READY;
}
