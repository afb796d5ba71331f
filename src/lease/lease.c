/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a lease that was granted: renewed, given back, taken over by its token, broken. */
#include "lease/lease.h"

#include <poll.h>
#include <string.h>

#include "lease/group.h"
#include "lease/keep.h"
#include "lock/wants.h"
#include "schema/check.h"
#include "session/reconnect.h"
#include "util/error.h"
#include "util/pause.h"

#define DEFAULT_TTL_MS 30000
#define CANCEL_MS 500 /* what is left of the time for the answer to a cancel */
#define TIMES 5       /* a victim of a deadlock lost nothing, and asks again so often */

/* ---- small questions ------------------------------------------------------------------------------ */

int64_t rowlock_token(const struct rowlock_lease *lease)
{
    return lease ? lease->token : 0;
}

const char *rowlock_owner(const struct rowlock_lease *lease)
{
    return lease && !lease->adopted ? lease->owner : "";
}

rowlock_duration rowlock_left(const struct rowlock_lease *lease)
{
    int64_t left = lease ? atomic_load(&lease->end_ms) - rowlock__now_ms() : -1;

    return left < 0 || atomic_load(&lease->lost) || atomic_load(&lease->released) ? 0 : left;
}

/* ---- asking ---------------------------------------------------------------------------------------- */

/* One question, and until when it is to be answered. */
struct question {
    enum rowlock_statement_id id;
    const struct rowlock_value *values;
    rowlock_row *row;
    void *data;
    int64_t deadline_ms;
    int64_t end_ms;   /* of the lease that is at stake; 0: none */
    bool reads;       /* needs no transaction */
    int64_t until_ms; /* a statement that was cancelled is repeated until then; 0: it is not */
};

/* About a lease that is held: a server that does not answer is told to stop a little before the lease
   ends, and given up when it does. */
static struct rowlock_budget budget_of(const struct question *question, int interrupt_fd)
{
    struct rowlock_budget budget = {question->deadline_ms, interrupt_fd, 0};
    int64_t left = question->end_ms - rowlock__now_ms();
    int64_t early = left / 4 < CANCEL_MS ? left / 4 : CANCEL_MS;

    if (left <= 0)
        return budget;
    budget.give_up_ms = question->end_ms;
    if (budget.deadline_ms > question->end_ms - early)
        budget.deadline_ms = question->end_ms - early;
    return budget;
}

/* A transaction of its own: begun in full where that costs no trip, for the session's defaults may be
   others; where there is no BEGIN the procedure begins and commits. */
static int ask_once(struct rowlock_connection *connection, const struct question *question,
                    struct rowlock_error *error)
{
    struct rowlock_call call = {.statement = rowlock__sql(connection, question->id),
                                .values = question->values,
                                .row = question->row,
                                .data = question->data};
    struct rowlock_budget budget = budget_of(question, connection->interrupt_fd);
    struct rowlock_outcome outcome = {0};
    int code;
    unsigned bracket = rowlock__sql(connection, ROWLOCK_SQL_BEGIN) && !question->reads
                           ? ROWLOCK_BEGIN | ROWLOCK_COMMIT
                           : ROWLOCK_INSIDE;

    if (!connection->link)
        return rowlock__fail(error, ROWLOCK_ECONN, "no session is open");
    code = connection->driver->run(connection->link, bracket, &call, 1, &budget, &outcome, error);
    return code ? rowlock__cleaned_up(connection, &outcome, code, error) : ROWLOCK_OK;
}

static int ask(struct rowlock_connection *connection, const struct question *question,
               struct rowlock_error *error)
{
    int code = ROWLOCK_EDB;

    for (int i = 0; i < TIMES; i++) {
        code = ask_once(connection, question, error);
        if (code != ROWLOCK_EROLLEDBACK && code != ROWLOCK_EABORTED)
            break;
    }
    return code;
}

int rowlock__mark_token(struct rowlock_lease *lease, struct rowlock_connection *connection,
                        int64_t deadline_ms)
{
    struct rowlock_value values[] = {
        rowlock__int_value(1), rowlock__int_value(lease->token),
        rowlock__int_value(connection->driver->number(connection->link))};
    struct question question = {
        ROWLOCK_SQL_MARK, values, NULL, NULL, deadline_ms, atomic_load(&lease->end_ms), false, 0};

    return rowlock__sql(connection, ROWLOCK_SQL_MARK) ? ask_once(connection, &question, NULL)
                                                      : ROWLOCK_OK;
}

static int64_t within(const struct rowlock_connection *connection)
{
    return rowlock__after(rowlock__now_ms(), connection->statement_ms);
}

/* What was not answered was perhaps done: who asks again will know. */
static int not_answered(int code, struct rowlock_error *error)
{
    if (code != ROWLOCK_EUNKNOWN)
        return code;
    if (error)
        error->code = ROWLOCK_ECONN;
    return ROWLOCK_ECONN;
}

static int is_gone(int code)
{
    return code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN;
}

/* A session that the server has ended while it was idle; who sends to it is not heard. */
static bool has_hung_up(const struct rowlock_connection *connection)
{
    int fd = rowlock_socket(connection);

    return fd >= 0 && rowlock__wait_fd(fd, POLLIN | POLLRDHUP, -1, 0) == ROWLOCK_WAKE_READY;
}

/* As ask. `*unsure` becomes true where it may have been done, though no answer came. */
static int ask_and_wonder(struct rowlock_connection *connection, const struct question *question,
                          bool *unsure, struct rowlock_error *error)
{
    bool heard = !has_hung_up(connection) && !rowlock__sql(connection, ROWLOCK_SQL_BEGIN);
    int code = ask(connection, question, error);

    if (code == ROWLOCK_EUNKNOWN || (heard && (code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT ||
                                               code == ROWLOCK_ECANCELED)))
        *unsure = true;
    return code;
}

/* As ask_and_wonder, again after each cancel: each try has the time of a statement. The statements are
   idempotent. */
static int ask_in_spite(struct rowlock_connection *connection, struct question *question,
                        bool *unsure, struct rowlock_error *error)
{
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    int code = ask_and_wonder(connection, question, unsure, error);

    while (rowlock__was_cancelled(connection, code, question->deadline_ms) &&
           rowlock__pause(&pause, connection->interrupt_fd, question->until_ms) ==
               ROWLOCK_WAKE_READY) {
        question->deadline_ms = within(connection);
        code = ask_and_wonder(connection, question, unsure, error);
    }
    return code;
}

/* A lost session is replaced, once. */
static int ask_again(struct rowlock_connection *connection, struct question *question, bool *unsure,
                     struct rowlock_error *error)
{
    int code = rowlock__ready_or_lost(connection, error);

    if (!code)
        code = ask_in_spite(connection, question, unsure, error);
    if (!is_gone(code) || !rowlock__can_reconnect(connection))
        return code;
    code = rowlock__reconnect(connection, question->deadline_ms, error);
    return code ? code : ask_in_spite(connection, question, unsure, error);
}

int rowlock__ask_alone(struct rowlock_connection *connection, enum rowlock_statement_id id,
                       const struct rowlock_value *values, bool reads, rowlock_row *row, void *data,
                       struct rowlock_error *error)
{
    int64_t deadline_ms = within(connection);
    struct question question = {id, values, row, data, deadline_ms, 0, reads, deadline_ms};
    bool unsure = false;
    int code = ask_again(connection, &question, &unsure, error);

    return not_answered(rowlock__given_up(connection, code, error), error);
}

/* Whatever is asked of a database that may not have been used yet. */
static int check(struct rowlock_connection *connection, const char *name, int64_t least_token,
                 int64_t token, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__name_check(name, error);
    if (!code && token < least_token)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "'%.100s': a token is above 0", name);
    return code ? code : rowlock__check_installed(connection, error);
}

/* ---- renewal ---------------------------------------------------------------------------------------- */

static int say_lost(struct rowlock_lease *lease, enum rowlock_status status,
                    struct rowlock_error *error)
{
    atomic_store(&lease->lost, true);
    return rowlock__fail(error, ROWLOCK_ELOST, "the lease of '%.100s' (token %lld) %s",
                         lease->name[0], (long long)lease->token,
                         status == ROWLOCK_STATUS_STOPPED
                             ? "was broken; stop what is done under it, and release it"
                             : "has ended; stop what is done under it");
}

int rowlock__renew_once(struct rowlock_lease *lease, struct rowlock_connection *connection,
                        int64_t ttl_ms, int64_t deadline_ms, enum rowlock_status *status,
                        struct rowlock_error *error)
{
    struct rowlock_value values[] = {rowlock__int_value(lease->token), rowlock__int_value(ttl_ms),
                                     rowlock__name_of(lease), rowlock__owner_of(lease)};
    int64_t answer = -1, sent_ms = rowlock__now_ms();
    struct question question = {ROWLOCK_SQL_RENEW,
                                values,
                                rowlock__take_number,
                                &answer,
                                deadline_ms,
                                atomic_load(&lease->end_ms),
                                false,
                                0};
    int code = rowlock__check_replaced(connection, error);

    if (code)
        atomic_store(&lease->lost, true);
    else
        code = ask(connection, &question, error);
    if (code)
        return code;
    if (answer < 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database gave no answer to a renewal");
    *status = (enum rowlock_status)answer;
    if (answer == ROWLOCK_STATUS_OK)
        rowlock__lease_renewed(lease, sent_ms, ttl_ms);
    else
        atomic_store(&lease->lost, true);
    return ROWLOCK_OK;
}

/* An acquire whose failure was not looked at. */
int rowlock__no_lease(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_EINVAL, "the lease is NULL: was it acquired?");
}

static int check_renewal(struct rowlock_lease *lease, int64_t *ttl_ms, struct rowlock_error *error)
{
    int code;

    if (!lease)
        return rowlock__no_lease(error);
    if (*ttl_ms == 0)
        *ttl_ms = atomic_load(&lease->ttl_ms);
    code = rowlock__ttl_check(*ttl_ms, error);
    if (code)
        return code;
    if (atomic_load(&lease->released))
        return rowlock__fail(error, ROWLOCK_ELOST, "the lease of '%.100s' was released",
                             lease->name[0]);
    if (rowlock_left(lease) > 0)
        return ROWLOCK_OK;
    return say_lost(lease, ROWLOCK_STATUS_LOST, error);
}

static int renew_within(struct rowlock_lease *lease, int64_t ttl_ms, enum rowlock_status *status,
                        struct rowlock_error *error)
{
    struct rowlock_connection *connection = lease->connection;
    int64_t deadline_ms = within(connection), end_ms = atomic_load(&lease->end_ms);
    int code = rowlock__ready_or_lost(connection, error);

    if (deadline_ms > end_ms)
        deadline_ms = end_ms;
    if (!code)
        code = rowlock__renew_once(lease, connection, ttl_ms, deadline_ms, status, error);
    if (!is_gone(code) || !rowlock__can_reconnect(connection))
        return code;
    code = rowlock__reconnect(connection, deadline_ms, error);
    if (code)
        return code;
    return rowlock__renew_once(lease, connection, ttl_ms, deadline_ms, status, error);
}

int rowlock_renew(struct rowlock_lease *lease, rowlock_duration ttl_ms, struct rowlock_error *error)
{
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    int code = check_renewal(lease, &ttl_ms, error);

    if (code)
        return code;
    rowlock__clear_error(error);
    code = renew_within(lease, ttl_ms, &status, error);
    if (!code && status != ROWLOCK_STATUS_OK)
        return say_lost(lease, status, error);
    if (!code)
        return ROWLOCK_OK;
    code = not_answered(code, error);
    rowlock__wrap_error(error, code, "renewing '%.100s'", lease->name[0]);
    return code;
}

/* ---- release ------------------------------------------------------------------------------------------ */

static int say_released(struct rowlock_lease *lease, bool lost, struct rowlock_error *error)
{
    atomic_store(&lease->lost, lost);
    atomic_store(&lease->released, true);
    if (!lost)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_ELOST,
                         "the lease of '%.100s' (token %lld) had been lost before it was released: "
                         "another may have had the name meanwhile",
                         lease->name[0], (long long)lease->token);
}

/* It was not there. Had it been lost, or did a release do that of which nobody heard? Of a job's run the
   history tells. */
static bool was_lost(const struct rowlock_lease *lease)
{
    return !lease->release_unsure || atomic_load(&lease->lost) ||
           lease->release_ms >= atomic_load(&lease->end_ms);
}

static int ended(struct rowlock_lease *lease, enum rowlock_statement_id id, int64_t status,
                 struct rowlock_error *error)
{
    bool exact = id == ROWLOCK_SQL_JOB_FINISH;

    if (status < 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database gave no answer to a release");
    return say_released(lease, status != ROWLOCK_STATUS_OK && (exact || was_lost(lease)), error);
}

static int give_back(struct rowlock_lease *lease, enum rowlock_statement_id id,
                     const struct rowlock_value *values, struct rowlock_error *error)
{
    struct rowlock_connection *connection = lease->connection;
    int64_t answer = -1, deadline_ms = within(connection), end_ms = atomic_load(&lease->end_ms);
    struct question question = {id,    values, rowlock__take_number, &answer, deadline_ms, 0,
                                false, end_ms};
    int code = rowlock__ready_or_lost(connection, error);

    if (code && code != ROWLOCK_ECONN)
        return code;
    rowlock__keeper_quiet(lease);
    if (atomic_load(&lease->released)) {
        rowlock__keeper_end(lease);
        return say_released(lease, atomic_load(&lease->lost), error);
    }
    if (!lease->release_ms)
        lease->release_ms = rowlock__now_ms();
    if (rowlock__check_replaced(connection, NULL)) {
        rowlock__keeper_end(lease);
        return say_released(lease, true, error);
    }
    code = ask_again(connection, &question, &lease->release_unsure, error);
    /* its session gives back the token's lock, if it has it: only now, after the COMMIT */
    rowlock__keeper_end(lease);
    if (!code)
        return ended(lease, id, answer, error);
    code = not_answered(code, error);
    return rowlock__wrap_error(error, code, "releasing '%.100s', which now ends by itself",
                               lease->name[0]);
}

/* What ended the program's waiting is often why it releases: it must not end that too. */
int rowlock__end_lease(struct rowlock_lease *lease, enum rowlock_statement_id id,
                       const struct rowlock_value *values, struct rowlock_error *error)
{
    int interrupt_fd = lease->connection->interrupt_fd, code;

    lease->connection->interrupt_fd = -1;
    code = give_back(lease, id, values, error);
    lease->connection->interrupt_fd = interrupt_fd;
    return code;
}

/* Whether the group has answered; `*code` is then what the release ends with. */
static bool released_by_group(struct rowlock_lease *lease, int *code, struct rowlock_error *error)
{
    struct rowlock_question question = {
        .token = lease->token, .name = lease->name[0], .owner = lease->owner};

    rowlock__keeper_quiet(lease);
    if (!lease->release_ms)
        lease->release_ms = rowlock__now_ms();
    rowlock__group_ask(lease->connection->group, lease->lane - 1, &question);
    lease->release_unsure |= question.unsure;
    if (question.code)
        return false;
    rowlock__keeper_end(lease);
    *code = ended(lease, ROWLOCK_SQL_RELEASE,
                  question.was_there ? ROWLOCK_STATUS_OK : ROWLOCK_STATUS_LOST, error);
    return true;
}

/* Alone it was released, or not; the token's lock is the group's session's still, and who waits is told by that. If it
   was not, it is now: that is no loss. */
static int settle_with_group(struct rowlock_lease *lease, int code, struct rowlock_error *error)
{
    struct rowlock_question question = {
        .token = lease->token, .name = lease->name[0], .owner = lease->owner};

    rowlock__group_ask(lease->connection->group, lease->lane - 1, &question);
    lease->release_unsure |= question.unsure;
    if (!code || atomic_load(&lease->released) || question.code || !question.was_there)
        return code;
    rowlock__clear_error(error);
    return say_released(lease, false, error);
}

int rowlock_release(struct rowlock_lease *lease, struct rowlock_error *error)
{
    struct rowlock_value values[3];
    bool by_group = lease && lease->lane && !atomic_load(&lease->released);
    int code;

    if (!lease)
        return rowlock__no_lease(error);
    values[0] = rowlock__int_value(lease->token);
    values[1] = rowlock__name_of(lease);
    values[2] = rowlock__owner_of(lease);
    if (by_group) {
        code = rowlock__ready_or_lost(lease->connection, error);
        if (code && code != ROWLOCK_ECONN)
            return code;
        rowlock__clear_error(error);
        if (released_by_group(lease, &code, error))
            return code;
    }
    code = rowlock__end_lease(lease, ROWLOCK_SQL_RELEASE, values, error);
    return by_group ? settle_with_group(lease, code, error) : code;
}

void rowlock_lease_free(struct rowlock_lease *lease)
{
    if (!lease)
        return;
    rowlock__keeper_quiet(lease);
    rowlock__keeper_end(lease);
    rowlock__lease_delete(lease);
}

/* ---- adoption ----------------------------------------------------------------------------------------- */

struct checked {
    int64_t status, left_ms;
    char owner[ROWLOCK_OWNER_SIZE]; /* "": none, or longer than those that the library makes */
};

/* status, left_ms, mode, owner */
static void check_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct checked *checked = data;

    if (n < 4)
        return;
    checked->status = rowlock__value_number(&columns[0]);
    checked->left_ms = rowlock__value_number(&columns[1]);
    if (columns[3].length < sizeof checked->owner)
        rowlock__column_text(&columns[3], checked->owner, sizeof checked->owner);
}

static int ask_check(struct rowlock_connection *connection, const char *name, int64_t token,
                     struct checked *checked, struct rowlock_error *error)
{
    struct rowlock_value values[] = {rowlock__text_value(name), rowlock__int_value(token)};
    struct question question = {ROWLOCK_SQL_CHECK,  values, check_row, checked,
                                within(connection), 0,      false,     0};
    int code = not_answered(ask(connection, &question, error), error);

    if (code || checked->status == ROWLOCK_STATUS_OK)
        return code;
    if (checked->status < 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database gave no answer");
    return rowlock__fail(error, ROWLOCK_ELOST, "token %lld %s '%.100s'", (long long)token,
                         checked->status == ROWLOCK_STATUS_STOPPED
                             ? "is that of a broken lease of"
                             : "is not (or no longer) that of a lease of",
                         name);
}

int rowlock_adopt(struct rowlock_connection *connection, const char *name, int64_t token,
                  struct rowlock_lease **out, struct rowlock_error *error)
{
    struct rowlock_want want = {.name = name};
    struct rowlock_lease *lease = NULL;
    struct checked checked = {.status = -1};
    int64_t sent_ms;
    int code = check(connection, name, 1, token, error);

    if (!code)
        code = rowlock__lease_new(connection, &want, 1, &lease, error);
    if (code)
        return code;
    sent_ms = rowlock__now_ms();
    code = ask_check(connection, name, token, &checked, error);
    if (code) {
        rowlock__lease_delete(lease);
        return code;
    }
    lease->token = token;
    lease->adopted = true;
    memcpy(lease->owner, checked.owner, sizeof lease->owner);
    /* by what ttl it was acquired nobody has written down */
    atomic_store(&lease->ttl_ms,
                 checked.left_ms > DEFAULT_TTL_MS ? checked.left_ms : DEFAULT_TTL_MS);
    rowlock__lease_renewed(lease, sent_ms, checked.left_ms);
    *out = lease;
    return ROWLOCK_OK;
}

/* ---- breaking ------------------------------------------------------------------------------------------- */

static int not_broken(const struct rowlock_connection *connection, int code, const char *name,
                      struct rowlock_error *error)
{
    bool waited = code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED;

    if (waited && rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return rowlock__fail(
            error, code == ROWLOCK_ETIMEDOUT ? ROWLOCK_ECONN : code,
            "'%.100s': the server was told to stop breaking it, and did not answer: "
            "it may be broken still; 'rowlock ls' shows whether it is",
            name);
    if (code == ROWLOCK_ECANCELED)
        return rowlock__fail(error, code,
                             "interrupted: the lease of '%.100s' that was waited for is not broken",
                             name);
    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(error, code,
                             "'%.100s' was not broken: a transaction that has checked its token "
                             "(the fence) is still "
                             "open; try again when it has ended, or end that session",
                             name);
    return rowlock__wrap_error(error, code, "breaking '%.100s'", name);
}

int rowlock_break(struct rowlock_connection *connection, const char *name, int64_t token, int now,
                  int64_t *broken, struct rowlock_error *error)
{
    int64_t count = 0;
    int code = check(connection, name, 0, token, error);

    if (!code) {
        struct rowlock_value values[] = {rowlock__text_value(name), rowlock__int_value(token),
                                         rowlock__int_value(now != 0)};
        struct question question = {ROWLOCK_SQL_BREAK,
                                    values,
                                    rowlock__take_number,
                                    &count,
                                    within(connection),
                                    0,
                                    false,
                                    0};

        code = not_answered(ask(connection, &question, error), error);
        if (code)
            code = not_broken(connection, code, name, error);
    }
    if (!code && broken)
        *broken = count;
    return code;
}
