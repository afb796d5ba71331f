/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a history as sentences, so that a failed one can be read (sim.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulation/sim.h"

#define MOST_LINES 4000
#define LINE 160

struct line {
    int64_t at;
    char text[LINE];
};

static struct line lines[MOST_LINES]; /* a ring buffer: of a long story the end matters */
static size_t told;

void story_reset(void)
{
    told = 0;
}

void tell(const char *format, ...)
{
    struct line *line = &lines[told++ % MOST_LINES];
    va_list arguments;

    line->at = sim.now;
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

const char *story_text(bool with_times)
{
    static char text[MOST_LINES * (LINE + 16)];
    size_t length = 0, first = told > MOST_LINES ? told - MOST_LINES : 0;

    *text = '\0';
    for (size_t i = first; i < told; i++) {
        const struct line *line = &lines[i % MOST_LINES];

        if (with_times)
            length += (size_t)snprintf(text + length, sizeof text - length, "%9.3f  ",
                                       (double)line->at / 1000);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s\n", line->text);
    }
    return text;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* One of several buffers, because one sentence may need more than one. */
static char *buffer(void)
{
    static char buffers[4][120];
    static unsigned next;

    return buffers[next++ % 4];
}

const char *story_client(unsigned id)
{
    char *out = buffer();

    return id == 0 ? "an unknown client" : sim.kind->name_client(id, out, 120);
}

const char *story_claim(const struct sim_claim *claim)
{
    char *out = buffer();
    size_t length = 0;

    *out = '\0';
    for (size_t i = 0; i < claim->n && length < 100; i++) {
        const struct rowlock_want *want = &claim->want[i];
        const char *joint = i ? " and " : "";

        if (want->mode == ROWLOCK_PERMIT)
            length += (size_t)snprintf(out + length, 120 - length, "%s%d of %d permits of %s",
                                       joint, want->count, want->limit, want->name);
        else
            length += (size_t)snprintf(out + length, 120 - length, "%s%s%s", joint, want->name,
                                       want->mode == ROWLOCK_SHARED ? ", shared" : "");
    }
    return out;
}

/* ---- steps of an acquire call ---------------------------------------------------------------- */

static void tell_place(struct sim_client *client, const struct rowlock_reply *reply)
{
    const char *me = story_client(client->id);

    if (reply->status == ROWLOCK_STATUS_UNQUEUED) {
        tell("%s was taken for dead: its ticket is gone", me);
        return;
    }
    if (reply->status == ROWLOCK_STATUS_OK && client->place != -1) {
        tell("%s is first, and nothing is in the way", me);
        client->place = -1;
    }
    if (reply->status != ROWLOCK_STATUS_LEASED && reply->status != ROWLOCK_STATUS_QUEUED)
        return;
    if (reply->number == client->behind && reply->before == client->place)
        return;
    client->behind = reply->number;
    client->place = reply->before;
    if (reply->status == ROWLOCK_STATUS_LEASED)
        tell("%s is first: waits for %s, the holder", me,
             story_client(check_whose_token(reply->number)));
    else
        tell("%s: queued behind %s, %d before it", me,
             story_client(check_whose_ticket(reply->number)), (int)reply->before);
}

static void tell_grant(const struct sim_client *client, const struct rowlock_step *step,
                       const struct rowlock_reply *reply)
{
    const char *me = story_client(client->id);

    switch (reply->status) {
    case ROWLOCK_STATUS_OK:
        tell("%s is granted %s", me, story_claim(&client->asks));
        break;
    case ROWLOCK_STATUS_LEASED:
        check_refused(client, reply);
        tell("%s: refused, %s holds it", me, story_client(check_whose_token(reply->number)));
        break;
    case ROWLOCK_STATUS_QUEUED:
        tell("%s: refused, %s came first", me, story_client(check_whose_ticket(reply->number)));
        break;
    case ROWLOCK_STATUS_UNQUEUED:
        tell("%s was taken for dead: its ticket is gone", me);
        break;
    case ROWLOCK_STATUS_LIMIT:
        tell("%s: refused, the limit was stated differently", me);
        break;
    default:
        if (!step->ticket)
            tell("%s: refused, the file is busy", me);
    }
}

static void tell_overtake(const struct sim_client *client, const struct rowlock_step *step,
                          const struct rowlock_reply *reply)
{
    if (reply->number)
        tell(step->called ? "%s passes those who did not answer" : "%s calls the roll",
             story_client(client->id));
}

void story_reply(struct sim_client *client, const struct rowlock_step *step,
                 const struct rowlock_reply *reply)
{
    if (client->dying || reply->code)
        return;
    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
        tell_grant(client, step, reply);
        break;
    case ROWLOCK_ACT_ENQUEUE:
        if (reply->status == ROWLOCK_STATUS_OK)
            tell("%s takes a ticket", story_client(client->id));
        client->behind = 0;
        client->place = 0;
        break;
    case ROWLOCK_ACT_PLACE:
        tell_place(client, reply);
        check_placed(client, reply);
        break;
    case ROWLOCK_ACT_OVERTAKE:
        tell_overtake(client, step, reply);
        break;
    default:
        break;
    }
}
