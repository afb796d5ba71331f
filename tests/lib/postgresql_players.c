/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/postgresql_players.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/postgresql_gates.h"
#include "lib/test.h"

#define TTL "600000"

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

void player_forgets_ticket(struct referee *referee, struct player *player)
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
        player_forgets_ticket(referee, player);
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
