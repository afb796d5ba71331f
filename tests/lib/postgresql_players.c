/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/postgresql_players.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/postgresql_gates.h"
#include "lib/test.h"

#define TTL "600000"
#define TIDY "SELECT rowlock.tidy(clock_timestamp() + interval '1 h')"

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

/* The answer that the library's session verifies once; the test's origin never changes. */
static const char *const *verified(struct player *player)
{
    static char value[4][64];
    static const char *const values[] = {value[0], value[1], value[2], value[3]};
    const char *pid = number(player->pid);
    PGresult *result;

    if (value[0][0])
        return values;
    result =
        PQexecParams(player->session, gates_of(ROWLOCK_SQL_VERIFY), 1, NULL, &pid, NULL, NULL, 0);
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
    const char *values[] = {referee->name, player->owner,       TTL,  "host", "1",  "command",
                            "note",        number(player->pid), v[0], v[1],   v[2], v[3]};

    send_values(player, gates_of(ROWLOCK_SQL_GRANT_FREE), 12, values);
}

/* An array with the value once, or for two names twice. */
static const char *twice(const char *value, bool both)
{
    return both ? t_say("ARRAY[%s, %s]", value, value) : t_say("ARRAY[%s]", value);
}

static const char *names_of(const struct referee *referee, bool both)
{
    return both ? t_say("ARRAY['%s', '%s" TOO "']", referee->name, referee->name)
                : t_say("ARRAY['%s']", referee->name);
}

static void send_grant(struct referee *referee, struct player *player, const char *mode, bool both,
                       long long ticket, int wait_ms)
{
    bool permit = strcmp(mode, "permit") == 0;

    send_text(player,
              "SELECT status, token, number FROM rowlock.grant_lease(%s, %s, %s::integer[], %s, "
              "'%s', " TTL ", %d, %lld, %d, 'host', 1, 'c', 'n')",
              names_of(referee, both), twice(t_say("'%s'", mode), both),
              twice(permit ? "2" : "NULL", both), twice("1", both), player->owner, wait_ms, ticket,
              player->pid);
}

static void send_enqueue(struct referee *referee, struct player *player, bool both)
{
    send_text(player,
              "SELECT number FROM rowlock.enqueue(%s, %s, %s::integer[], %s, '%s', %d, 60000, "
              "'host', 1, 'c', 'n')",
              names_of(referee, both), twice("'exclusive'", both), twice("NULL", both),
              twice("1", both), player->owner, player->pid);
}

static void send_renewal(struct referee *referee, struct player *player)
{
    const char *values[] = {number(player->token), TTL, referee->name, player->owner};

    if (player->step == 0)
        send_values(player, gates_of(ROWLOCK_SQL_RENEW_FREE), 4, values);
    else
        send_text(player, "SELECT rowlock.renew_lease(%lld, " TTL ", '%s', '%s')", player->token,
                  referee->name, player->owner);
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
    else if (player->kind < 0 || player->two)
        send_grant(referee, player, "exclusive", player->two, player->ticket, 1000);
    else
        send_text(player,
                  "SELECT status, token, number FROM rowlock.turn('%s', '%s', " TTL ", 30000, "
                  "%lld, %d, 'host', 1, 'c', 'n', %d, %lld)",
                  referee->name, player->owner, player->ticket, player->pid, player->kind,
                  player->awaited);
}

/* BEGIN, the statements of the call, COMMIT. */
static void send_transaction(struct referee *referee, struct player *player, char call)
{
    const char *values[] = {referee->name, "0"};
    bool old = strchr("fuv", call) != NULL;
    int last = call == 'X' || old ? 3 : 2;

    if (player->step == last) {
        player->locked = NOTHING;
        player->fenced = player->beneath = false;
        send_text(player, "COMMIT");
    } else if (player->step == 0) {
        send_text(player, "BEGIN ISOLATION LEVEL %s", old ? "REPEATABLE READ" : "READ COMMITTED");
    } else if (call == 'X') {
        send_values(player,
                    gates_of(player->step == 1 ? ROWLOCK_SQL_NAME_LOCK : ROWLOCK_SQL_LOOK_ONE), 2,
                    values);
    } else if (old && player->step == 1) {
        send_text(player, "SELECT count(*) FROM rowlock.lease WHERE name = '%s'", referee->name);
    } else if (call == 'u') {
        player->hold = NOTHING;
        send_text(player, "SELECT 1 - rowlock.end_lease(%lld, '%s', '%s', session => %d)::integer",
                  player->token, referee->name, player->owner, player->wakes);
    } else if (call == 'v') {
        send_text(player, TIDY);
    } else if (call == 'Y' || call == 'y') {
        send_text(player,
                  "SELECT status FROM rowlock.lock(ARRAY['%s'], ARRAY['%s'], ARRAY[0]::bigint[], "
                  "0, 0, true)",
                  referee->name, call == 'Y' ? "exclusive" : "shared");
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

    if (player->step == 0 && strchr("GgSPAZEQ", call) && !player->again)
        player->ahead = with_tickets(referee, player);
    switch (call) {
    case 'G':
        send_grant_free(referee, player);
        break;
    case 'g':
    case 'A':
        send_grant(referee, player, "exclusive", call == 'A', 0, 0);
        break;
    case 'S':
    case 'Z':
        send_grant(referee, player, "shared", call == 'Z', 0, 0);
        break;
    case 'P':
        send_grant(referee, player, "permit", false, 0, 0);
        break;
    case 'R':
    case 'r':
        send_release(referee, player, call == 'R');
        break;
    case 'N':
        send_renewal(referee, player);
        break;
    case 'E':
    case 'Q':
        player->two = call == 'Q';
        send_enqueue(referee, player, player->two);
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
        send_text(player, TIDY);
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
