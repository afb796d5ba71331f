/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an act: from the file of mails, the events, and the job's history. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command/command.h"
#include "command/output/json.h"
#include "demo/clones.h"

static const char *const names[] = {
    [CLONES_READY] = "ready",     [CLONES_SKIPPED] = "skipped",   [CLONES_CLAIMED] = "claimed",
    [CLONES_SENDING] = "sending", [CLONES_SENT] = "sent",         [CLONES_KILLED] = "killed",
    [CLONES_FROZEN] = "frozen",   [CLONES_WOKEN] = "woken",       [CLONES_REFUSED] = "refused",
    [CLONES_LOST] = "lost",       [CLONES_FINISHED] = "finished",
};

/* ---- counting -------------------------------------------------------------------------------- */

/* Counts the mails. One mail is due in an act, and every line of the file is a copy of it: all but
   the first are surplus. */
static int count_mails(struct clones_act *act)
{
    FILE *file = fopen(act->farm.mails, "re");
    int byte, lines = 0;

    while (file && (byte = getc(file)) != EOF)
        lines += byte == '\n';
    if (file)
        fclose(file);
    else if (errno != ENOENT)
        return -1;
    act->counts.due = 1;
    act->counts.sent = lines;
    act->counts.twice = lines > 1 ? lines - 1 : 0;
    return 0;
}

static int see_run(const struct rowlock_run *run, void *data)
{
    struct clones_counts *counts = data;

    counts->runs++;
    counts->lost += run->outcome == ROWLOCK_RUN_LOST || run->outcome == ROWLOCK_RUN_LATE;
    return 0;
}

int clones_count(struct clones_act *act)
{
    const struct clones_item *events[CLONES_ITEMS];
    size_t n = clones_events(act->farm.log, events);
    struct rowlock_error error;

    if (count_mails(act)) {
        message("cannot read the mails in '%s': %s", act->farm.mails, strerror(errno));
        return STATUS_FAILED;
    }
    for (size_t i = 0; i < n; i++)
        act->counts.refused += events[i]->event == CLONES_REFUSED;
    if (act->connection &&
        rowlock_runs(act->connection, act->farm.job, see_run, &act->counts, &error))
        return report(&error);
    return STATUS_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void clones_print_json(const struct clones_act *act, int64_t start_ms)
{
    const struct clones_item *events[CLONES_ITEMS];
    size_t n = clones_events(act->farm.log, events);

    for (size_t i = 0; i < n; i++) {
        printf("{\"t_ms\":%" PRId64 ",\"act\":%d,\"clone\":%d,\"event\":\"%s\",\"token\":",
               events[i]->at_ms - start_ms, act->number, events[i]->clone + 1,
               names[events[i]->event]);
        json_number(stdout, events[i]->token);
        puts("}");
    }
    printf("{\"act\":%d,\"event\":\"counts\",\"due\":%d,\"sent\":%d,\"twice\":%d,"
           "\"late_refused\":%d,\"runs\":%d,\"lost\":%d}\n",
           act->number, act->counts.due, act->counts.sent, act->counts.twice, act->counts.refused,
           act->counts.runs, act->counts.lost);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct clones_item *find(const struct clones_act *act, enum clones_event event)
{
    return clones_find(act->farm.log, -1, event);
}

static void print_story(const struct clones_act *act)
{
    const struct clones_item *killed = find(act, CLONES_KILLED), *frozen = find(act, CLONES_FROZEN),
                             *heir = find(act, CLONES_CLAIMED), *sent = find(act, CLONES_SENT);

    if (!act->script->locked)
        printf("no clone knew of the others");
    else if (killed && heir)
        printf("clone %d took over %.1f s after clone %d was killed", heir->clone + 1,
               (double)(heir->at_ms - killed->at_ms) / 1000, killed->clone + 1);
    else if (frozen && heir)
        printf("clone %d took over; the late write of clone %d was %s", heir->clone + 1,
               frozen->clone + 1, find(act, CLONES_REFUSED) ? "refused" : "let through");
    else if (sent)
        printf("clone %d sent it, the others had nothing to do", sent->clone + 1);
}

void clones_print_outcome(const struct clones_act *act, int coloured)
{
    const struct clones_counts *counts = &act->counts;
    int well = counts->sent == counts->due && !counts->twice;

    printf("   %s%d mail%s sent, %d due%s: ",
           !coloured ? ""
           : well    ? "\033[1;32m"
                     : "\033[1;31m",
           counts->sent, counts->sent == 1 ? "" : "s", counts->due, coloured ? "\033[0m" : "");
    print_story(act);
    puts("\n");
}

static void print_number(int number, int width, const char *colour, int coloured)
{
    if (coloured && number && colour)
        printf("%s%*d\033[0m", colour, width, number);
    else
        printf("%*d", width, number);
}

void clones_print_counts(const struct clones_act *acts, int n, int coloured)
{
    printf("%s   %-24s%6s%6s%8s%22s%s\n", coloured ? "\033[1m" : "", "", "due", "sent", "twice",
           "late writes refused", coloured ? "\033[0m" : "");
    for (int i = 0; i < n; i++) {
        const struct clones_counts *counts = &acts[i].counts;

        printf("   %-24s%6d", acts[i].script->name, counts->due);
        print_number(counts->sent, 6, counts->sent == counts->due ? "\033[1;32m" : "\033[1;31m",
                     coloured);
        print_number(counts->twice, 8, "\033[1;31m", coloured);
        print_number(counts->refused, 22, "\033[1;33m", coloured);
        putchar('\n');
    }
}
