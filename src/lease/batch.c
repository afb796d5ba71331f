/* SPDX-License-Identifier: Apache-2.0 */
/* Sends several grants and releases as one transaction: see group.h. */
#include "lease/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/bytes.h"

#define ANSWER_MS 2000 /* a slower batch is cancelled, and each thread asks alone */

/* ---- building the batch ---------------------------------------------------------------------- */

struct parcel {
    char *ended, *wants; /* dialect.h, release_all, grant_all */
    size_t ended_length, wants_length;
    size_t place[ROWLOCK_BATCH]; /* by index in wants: the index of its question */
    size_t granted;              /* wants so far */
};

/* In the packed request the name is in hexadecimal digits, up to the first colon. */
static size_t put_want(char *out, const struct rowlock_request *r)
{
    int digits = (int)((const char *)memchr(r->packed, ':', r->length) - r->packed);
    char *at = out + sprintf(out, "%.*s:%s:%" PRId64 ":", digits, r->packed, r->owner, r->ttl_ms);

    if (r->keeper_pid)
        at += sprintf(at, "%" PRId64, r->keeper_pid);
    *at++ = ':';
    if (r->command)
        at = rowlock__put_hex(at, r->command, strlen(r->command));
    *at++ = ':';
    if (r->note)
        at = rowlock__put_hex(at, r->note, strlen(r->note));
    *at++ = ',';
    return (size_t)(at - out);
}

static int pack(struct parcel *parcel, struct rowlock_question *const *questions, size_t n)
{
    size_t room = 1;

    for (size_t i = 0; i < n; i++) {
        const struct rowlock_request *r = questions[i]->request;

        if (r)
            room += r->length + sizeof r->owner + 50 + 2 * (r->command ? strlen(r->command) : 0) +
                    2 * (r->note ? strlen(r->note) : 0);
        else
            room += rowlock__room_of_lease(questions[i]->name);
    }
    *parcel = (struct parcel){.ended = malloc(room), .wants = malloc(room)};
    if (!parcel->ended || !parcel->wants)
        return ROWLOCK_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (questions[i]->request) {
            parcel->place[parcel->granted++] = i;
            parcel->wants_length +=
                put_want(parcel->wants + parcel->wants_length, questions[i]->request);
        } else {
            parcel->ended_length +=
                rowlock__put_lease(parcel->ended + parcel->ended_length, questions[i]->token,
                                   questions[i]->name, questions[i]->owner);
        }
    }
    parcel->wants_length -= parcel->wants_length > 0; /* the last comma */
    parcel->ended_length -= parcel->ended_length > 0;
    return ROWLOCK_OK;
}

/* ---- reading the answer ---------------------------------------------------------------------- */

struct answer {
    struct rowlock_question *const *questions;
    size_t n;
    const struct parcel *parcel;
};

/* a token that was released */
static void gone_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    const struct answer *answer = data;

    for (size_t i = 0; n > 0 && i < answer->n; i++)
        if (!answer->questions[i]->request &&
            answer->questions[i]->token == rowlock__value_number(&columns[0]))
            answer->questions[i]->was_there = true;
}

/* place, token */
static void granted_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    const struct answer *answer = data;
    int64_t place = n < 2 ? 0 : rowlock__value_number(&columns[0]);

    if (place > 0 && (size_t)place <= answer->parcel->granted)
        answer->questions[answer->parcel->place[place - 1]]->token =
            rowlock__value_number(&columns[1]);
}

/* ---- the round trip -------------------------------------------------------------------------- */

static int make_ready(struct rowlock_connection *connection)
{
    int64_t now = rowlock__now_ms();
    int64_t timeout_ms = connection->connect_ms < 0 || connection->connect_ms > ANSWER_MS
                             ? ANSWER_MS
                             : connection->connect_ms;
    int code = ROWLOCK_OK;

    if (rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        code = rowlock__reconnect(connection, now + timeout_ms, NULL);
    if (!code)
        code = rowlock__learn_session(connection, NULL);
    if (!code)
        code = rowlock__check_former(connection, NULL);
    if (!code)
        code = rowlock__verify(connection, NULL, NULL);
    return code || connection->verified > 0 ? code : ROWLOCK_EMODE;
}

/* One transaction. Returns its code; `*unsure`: the server may have committed it. No lease of a
   group has a session lock: its waiters poll. */
static int send_once(struct rowlock_connection *connection,
                     struct rowlock_question *const *questions, size_t n, bool *unsure)
{
    struct parcel parcel;
    struct answer answer = {.questions = questions, .n = n, .parcel = &parcel};
    struct rowlock_value ended, wants[6];
    struct rowlock_call calls[2];
    struct rowlock_outcome outcome = {0};
    int64_t sent_ms = 0;
    size_t sent = 0;
    int code = pack(&parcel, questions, n);

    *unsure = false;
    if (!code)
        code = make_ready(connection);
    if (!code) {
        struct rowlock_budget budget = {rowlock__now_ms() + ANSWER_MS, -1, 0};

        sent_ms = rowlock__now_ms();
        ended = rowlock__bytes_value(parcel.ended, parcel.ended_length);
        wants[0] = rowlock__bytes_value(parcel.wants, parcel.wants_length);
        if (parcel.ended_length)
            calls[sent++] =
                rowlock__call(connection, ROWLOCK_SQL_RELEASE_ALL, &ended, gone_row, &answer);
        if (parcel.granted) {
            wants[1] = rowlock__text_value(questions[parcel.place[0]]->request->host);
            memcpy(&wants[2], connection->verification, sizeof connection->verification);
            calls[sent++] =
                rowlock__call(connection, ROWLOCK_SQL_GRANT_ALL, wants, granted_row, &answer);
        }
        code = connection->driver->run(connection->link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, calls,
                                       sent, &budget, &outcome, NULL);
        *unsure = code && outcome.left == ROWLOCK_TX_DEAD && outcome.sent_commit;
        rowlock__clean_up(connection, &outcome);
    }
    for (size_t i = 0; i < n; i++) {
        questions[i]->sent_ms = sent_ms;
        questions[i]->code = code;
        questions[i]->unsure = *unsure;
        if (code && questions[i]->request)
            questions[i]->token = 0; /* its row arrived, but its COMMIT failed */
        if (code)
            questions[i]->was_there = false;
    }
    free(parcel.ended);
    free(parcel.wants);
    return code;
}

void rowlock__batch_send(struct rowlock_connection *connection,
                         struct rowlock_question *const *questions, size_t n)
{
    int64_t late_ms = rowlock__now_ms() + ANSWER_MS / 2;
    bool unsure;
    int code = send_once(connection, questions, n, &unsure);

    /* the server never read it: the idle session had ended before */
    if (code && !unsure && rowlock__state(connection) == ROWLOCK_STATE_DEAD &&
        rowlock__now_ms() < late_ms)
        code = send_once(connection, questions, n, &unsure);
    if (!code)
        return;
    if (unsure || rowlock__now_ms() >= late_ms) {
        /* its requests may be unread in its socket, and its session locks are unknown */
        rowlock__reconnect(connection, rowlock__now_ms() + ANSWER_MS, NULL);
    } else if (n > 1 && rowlock__state(connection) != ROWLOCK_STATE_DEAD) {
        /* one of them blocks or fails: halve the batch, so that the others need not ask alone */
        rowlock__batch_send(connection, questions, n / 2);
        rowlock__batch_send(connection, questions + n / 2, n - n / 2);
    }
}
