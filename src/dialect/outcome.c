/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect/outcome.h"

#include <string.h>

static const struct {
    const char *text;
    bool reported;
} outcomes[] = {
    [ROWLOCK_RUN_RUNNING] = {"running", false}, [ROWLOCK_RUN_DONE] = {"done", true},
    [ROWLOCK_RUN_FAILED] = {"failed", true},    [ROWLOCK_RUN_TIMEDOUT] = {"timed out", true},
    [ROWLOCK_RUN_BROKEN] = {"broken", false},   [ROWLOCK_RUN_LOST] = {"lost", true},
    [ROWLOCK_RUN_LATE] = {"late", false},       [ROWLOCK_RUN_NOTSTARTED] = {"not started", true},
};

static const char *const endings[] = {
    [ROWLOCK_ENDED_RELEASED] = "released", [ROWLOCK_ENDED_EXPIRED] = "expired",
    [ROWLOCK_ENDED_REVOKED] = "revoked",   [ROWLOCK_ENDED_GAVE_UP] = "gave up",
    [ROWLOCK_ENDED_RUN] = "run",           [ROWLOCK_ENDED_DUE_NOW] = "due now",
};

enum { OUTCOMES = sizeof outcomes / sizeof *outcomes, ENDINGS = sizeof endings / sizeof *endings };

const char *rowlock_outcome_text(enum rowlock_run_outcome outcome)
{
    return (unsigned)outcome < OUTCOMES ? outcomes[outcome].text : "unknown";
}

const char *rowlock_ending_text(enum rowlock_ending ending)
{
    return (unsigned)ending < ENDINGS ? endings[ending] : "unknown";
}

enum rowlock_run_outcome rowlock__outcome_of(const char *text, size_t length)
{
    for (int i = 0; i < OUTCOMES; i++)
        if (strlen(outcomes[i].text) == length && memcmp(text, outcomes[i].text, length) == 0)
            return (enum rowlock_run_outcome)i;
    return ROWLOCK_RUN_LOST;
}

enum rowlock_ending rowlock__ending_of(const char *text, size_t length)
{
    for (int i = 0; i < ROWLOCK_ENDED_RUN; i++)
        if (strlen(endings[i]) == length && memcmp(text, endings[i], length) == 0)
            return (enum rowlock_ending)i;
    return ROWLOCK_ENDED_GAVE_UP;
}

bool rowlock__is_reported(int outcome)
{
    return outcome >= 0 && outcome < OUTCOMES && outcomes[outcome].reported;
}
