/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one name: its leases with their heartbeats, and its queue. */
#ifndef ROWLOCK_EMULATE_NAMES_H
#define ROWLOCK_EMULATE_NAMES_H

#include "emulate/judge.h"
#include "emulate/work.h"

/* A row of a lease, one for each permit, with the lease's heartbeat. The rows own the texts
   (util/rows.h); NULL for SQL NULL. The judge reads the first member. Times are those of the
   database's clock: now_ms was read with the heartbeat. */
struct rowlock_lease_row {
    struct rowlock_held held;
    int64_t pid, acquired_ms, now_ms;
    bool has_pid, stopped, has_beat;
    const char *owner, *host, *command, *note, *key;
};

/* A name that a ticket wants; the same rules. `wanted`: how many permits. */
struct rowlock_waiter_row {
    struct rowlock_queued queued;
    int64_t wanted, pid, since_ms, alive_until_ms, now_ms;
    const char *owner, *host, *command, *note, *key;
};

/* The letter of a mode in a column: 'x', 's' or 'p'; 'x' for NULL. */
char rowlock__kind_of(const struct rowlock_value *column);
/* Its word in a list: "exclusive", "shared", "permit". */
const char *rowlock__mode_of(char kind);

/* The heartbeat of a lease. */
struct rowlock_beat {
    int64_t token, expires_ms, now_ms; /* token 0: the statement has that of one lease */
    bool stopped;                      /* the lease was broken: no renewal extends it */
};
/* Locks the heartbeat of a lease until the transaction ends, and reads it. Waits for a session that
   has it. `*found`: it exists. */
int rowlock__lock_beat(struct rowlock_work *work, int64_t token, struct rowlock_beat *beat,
                       bool *found);
/* Row callbacks for heartbeats; `data` is a struct rowlock_beat, or struct rowlock_rows of them. */
void rowlock__take_beat(void *data, const struct rowlock_value *columns, unsigned n);
void rowlock__take_beats(void *data, const struct rowlock_value *columns, unsigned n);

/* The leases and the queue of a name. The caller clears both lists. */
struct rowlock_name_rows {
    struct rowlock_rows leases, waiters;
};
#define ROWLOCK_NAME_ROWS                             \
    {                                                 \
        {.size = sizeof(struct rowlock_lease_row)},   \
        {                                             \
            .size = sizeof(struct rowlock_waiter_row) \
        }                                             \
    }

/* Reads the leases of a name, or of all names (key NULL), with their heartbeats, a row per permit.
   Locks nothing: only under the name lock is the answer that of one moment. A lease of `owner` is
   `own`; NULL: none is. The caller has set the size of `rows`, and clears them. */
int rowlock__read_leases(struct rowlock_work *work, const char *key,
                         const struct rowlock_value *owner, struct rowlock_rows *rows);
/* Reads the queue of a name up to a ticket (0: all), or of all names, in the order of the tickets.
   `owner` and `rows` as above. */
int rowlock__read_waiters(struct rowlock_work *work, const char *key, int64_t last,
                          const struct rowlock_value *owner, struct rowlock_rows *rows);

/* Clears both lists. */
void rowlock__name_rows_clear(struct rowlock_name_rows *rows);

#endif
