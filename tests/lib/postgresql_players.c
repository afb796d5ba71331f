/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/postgresql_players.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/postgresql_gates.h"
#include "lib/test.h"

#define TTL "600000"
#define MOST_TRIES 12 /* of a turn; each waits for an event */

void story(struct referee *referee, const char *format, ...)
{
    size_t used = strlen(referee->story);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(referee->story + used, sizeof referee->story - used, format, arguments);
    va_end(arguments);
}

void violation(struct referee *referee, const char *format, ...)
{
    char what[200];
    va_list arguments;

    if (referee->violation[0])
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(referee->violation, sizeof referee->violation, "%s:%s", what, referee->story);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_values(struct player *player, const char *text, int n, const char *const *values)
{
    if (!PQsendQueryParams(player->session, text, n, NULL, values, NULL, NULL, 0))
        t_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(player->session));
}

/* %ld and %s in the text; %s is only a name or an owner of the test. */
static void send_text(struct player *player, const char *format, ...)
{
    char text[1000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    send_values(player, text, 0, NULL);
}

static const char *number(long long value)
{
    return t_say("%lld", value);
}

/* What the library's session verifies once; the test's origin never changes. */
static const char *const *verified(struct player *player)
{
    static char value[4][64];
    static const char *const values[] = {value[0], value[1], value[2], value[3]};
    const char *pid = number(player->pid);
    PGresult *result;

    if (value[0][0])
        return values;
    result = PQexecParams(player->session, gates_of(ROWLOCK_SQL_VERIFY), 1, NULL, &pid, NULL, NULL,
                          0);
    if (PQntuples(result) != 1)
        t_fail(__FILE__, __LINE__, "not verified: %s", PQerrorMessage(player->session));
    for (int i = 0; i < 4; i++)
        snprintf(value[i], sizeof value[i], "%s", PQgetvalue(result, 0, i));
    PQclear(result);
    return values;
}

static void send_grant_free(struct referee *referee, struct player *player)
{
    const char *const *v = verified(player);
    const char *values[] = {referee->name, player->owner, TTL, "host", "1", "command", "note",
                            number(player->pid), v[0], v[1], v[2], v[3]};

    send_values(player, gates_of(ROWLOCK_SQL_GRANT_FREE), 12, values);
}

static void send_grant(struct referee *referee, struct player *player, const char *mode,
                       long long ticket, int wait_ms)
{
    bool permit = strcmp(mode, "permit") == 0;

    send_text(player,
              "SELECT status, token, number FROM rowlock.grant_lease(ARRAY['%s'], ARRAY['%s'], "
              "ARRAY[%s]::integer[], ARRAY[1], '%s', " TTL ", %d, %lld, %d, 'host', 1, 'c', 'n')",
              referee->name, mode, permit ? "2" : "NULL", player->owner, wait_ms, ticket,
              player->pid);
}

static void send_release(struct referee *referee, struct player *player, bool fast)
{
    const char *values[] = {number(player->token), referee->name, player->owner,
                            number(player->wakes)};

    player->hold = NOTHING;
    if (fast && player->step == 0)
        send_values(player, gates_of(ROWLOCK_SQL_RELEASE_FREE), 4, values);
    else
        send_text(player, "SELECT rowlock.end_lease(%lld, '%s', '%s', session => %d)::integer",
                  player->token, referee->name, player->owner, player->wakes);
}

static void send_turn(struct referee *referee, struct player *player)
{
    if (player->step == 0)
        send_text(player, "SELECT status, number FROM rowlock.place(%lld, %d, 60000)",
                  player->ticket, player->pid);
    else if (player->kind < 0)
        send_grant(referee, player, "exclusive", player->ticket, 1000);
    else
        send_text(player,
                  "SELECT status, token, number FROM rowlock.turn('%s', '%s', " TTL ", 30000, "
                  "%lld, %d, 'host', 1, 'c', 'n', %d, %lld)",
                  referee->name, player->owner, player->ticket, player->pid, player->kind,
                  player->awaited);
}

/* BEGIN, what is done in the transaction, COMMIT. */
static void send_transaction(struct referee *referee, struct player *player, char call)
{
    const char *values[] = {referee->name, "0"};
    bool old = call == 'f';
    int last = call == 'X' || old ? 3 : 2;

    if (player->step == last) {
        player->locked = player->fenced = player->beneath = false;
        send_text(player, "COMMIT");
    } else if (player->step == 0) {
        send_text(player, "BEGIN ISOLATION LEVEL %s", old ? "REPEATABLE READ" : "READ COMMITTED");
    } else if (call == 'X') {
        send_values(player,
                    gates_of(player->step == 1 ? ROWLOCK_SQL_NAME_LOCK : ROWLOCK_SQL_LOOK_ONE), 2,
                    values);
    } else if (old && player->step == 1) {
        send_text(player, "SELECT count(*) FROM rowlock.lease WHERE name = '%s'", referee->name);
    } else if (call == 'O') {
        send_text(player, "SELECT rowlock.lock_name('%s', false, %lld, true)", referee->name,
                  referee->first);
    } else {
        send_text(player, "SELECT status FROM rowlock.fence('%s', %lld, 60000)", referee->name,
                  referee->first);
    }
}

static unsigned with_tickets(const struct referee *referee, const struct player *but)
{
    unsigned set = 0;

    for (int i = 0; i < referee->players; i++)
        if (referee->player[i].ticket && &referee->player[i] != but)
            set |= 1U << i;
    return set;
}

static void forget_ticket(struct referee *referee, struct player *player)
{
    player->ticket = 0;
    for (int i = 0; i < referee->players; i++)
        referee->player[i].ahead &= ~(1U << player->number);
}

void player_send(struct referee *referee, struct player *player)
{
    char call = player->script[player->at];
    const char *renewal[] = {number(player->token), TTL, referee->name, player->owner};

    if (player->step == 0 && strchr("GgSPE", call) && !player->again)
        player->ahead = with_tickets(referee, player);
    switch (call) {
    case 'G':
        send_grant_free(referee, player);
        break;
    case 'g':
        send_grant(referee, player, "exclusive", 0, 0);
        break;
    case 'S':
    case 'P':
        send_grant(referee, player, call == 'S' ? "shared" : "permit", 0, 0);
        break;
    case 'R':
    case 'r':
        send_release(referee, player, call == 'R');
        break;
    case 'N':
        send_values(player, gates_of(ROWLOCK_SQL_RENEW_FREE), 4, renewal);
        break;
    case 'E':
        send_text(player,
                  "SELECT number FROM rowlock.enqueue(ARRAY['%s'], ARRAY['exclusive'], "
                  "ARRAY[NULL]::integer[], ARRAY[1], '%s', %d, 60000, 'host', 1, 'c', 'n')",
                  referee->name, player->owner, player->pid);
        break;
    case 'T':
        send_turn(referee, player);
        break;
    case 'W':
        send_text(player, "SELECT rowlock.withdraw(%lld, '%s', %d)", player->ticket, player->owner,
                  player->pid);
        forget_ticket(referee, player);
        break;
    case 'K':
        for (int i = 0; i < referee->players; i++)
            referee->player[i].breakable = referee->player[i].hold != NOTHING;
        send_text(player, "SELECT rowlock.break('%s', 0, true)", referee->name);
        break;
    case 'V':
        send_text(player, "SELECT rowlock.tidy(clock_timestamp() + interval '1 h')");
        break;
    case 'D':
        send_text(player,
                  "INSERT INTO rowlock.lease (token, name, n, owner, expires) VALUES "
                  "(nextval('rowlock.number'), '%s', 0, '%s', clock_timestamp() + interval '1 h') "
                  "RETURNING token",
                  referee->name, player->owner);
        break;
    default:
        send_transaction(referee, player, call);
    }
    player->state = RUNS;
    story(referee, " %d%c%d", player->number, call, player->step);
}

/* ---- judging --------------------------------------------------------------------------------- */

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

static void granted(struct referee *referee, struct player *player, long long token,
                    enum hold hold)
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
        if (other->locked)
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

static void judge_turn(struct referee *referee, struct player *player, int status,
                       long long token, long long awaited)
{
    if (player->step == 0 && status != 12) {
        player->kind = status == 0 ? -1 : status == 3;
        player->awaited = awaited;
        next_step(player, 1);
    } else if (player->step == 1 && status == 0) {
        granted(referee, player, token, EXCLUSIVE);
        forget_ticket(referee, player);
        next_call(player);
    } else if (status == 12) {
        violation(referee, "the ticket of %d is gone", player->number);
        next_call(player);
    } else if (++player->tries == MOST_TRIES) {
        violation(referee, "%d looks again and again (%d)", player->number, status);
        next_call(player);
    } else {
        story(referee, "-%d", status);
        next_step(player, 0);
    }
}

/* The statement in the transaction that locks has the status. */
static void judge_transaction(struct referee *referee, struct player *player, char call,
                              int status)
{
    int acts = call == 'X' || call == 'f' ? 2 : 1;

    if (player->step == acts && status != 0) {
        story(referee, "-%d", status);
        referee->refusals++;
    } else if (player->step == acts && call == 'X') {
        player->locked = true;
        referee->locks++;
        for (int i = 0; i < referee->players; i++)
            if (&referee->player[i] != player &&
                (referee->player[i].locked ||
                 (referee->player[i].hold != NOTHING && !may_end(&referee->player[i]))))
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
    case 'S':
    case 'P':
        judge_grant(referee, player, value[0] == 0, value[1],
                    call == 'g' ? EXCLUSIVE : call == 'S' ? SHARED : PERMIT);
        break;
    case 'R':
    case 'r':
        judge_release(referee, player, call,
                      row && (value[0] != 0 || (call == 'R' && player->step == 0)));
        break;
    case 'N':
        judge_renewal(referee, player, row);
        break;
    case 'E':
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
    if (call != 'D' || !state || strcmp(state, "23505") != 0)
        violation(referee, "error of %d: %s", player->number, PQerrorMessage(player->session));
    if (PQtransactionStatus(player->session) != PQTRANS_IDLE)
        gates_sql(player->session, "ROLLBACK");
    player->locked = player->fenced = player->beneath = false;
    next_call(player);
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
    const char *queued = memchr(player->script, 'E', (size_t)player->at + (*call == 'E'));

    player->locked = player->fenced = player->beneath = false;
    player->wakes = 0;
    forget_ticket(referee, player);
    if (player->state == DONE)
        return;
    if (*call == 'T' && queued) {
        player->at = (int)(queued - player->script);
        player->step = player->tries = 0;
    } else if (strchr("GgSPE", *call)) {
        player->again = *call != 'E' && player->state != READY;
        *call = *call == 'G' ? 'g' : *call;
        player->step = 0;
    } else if (*call == 'R' || *call == 'r') {
        *call = 'r';
    } else if (*call != 'N') {
        next_call(player);
        return;
    }
    player->state = READY;
}
