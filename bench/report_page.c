/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first page of the report: five results with a picture each, and the limits of the numbers
 * (report.h). A picture and its sentence are one row of a table.
 */
#include "report.h"

#include <string.h>

#define OURS "0x08519c"
#define PEERS "0xfd8d3c"
#define NAME 64

struct picture {
    const char *name, *title, *unit;
    const char *workload, *metric;
    /* Separated by spaces. A/B: the speed of A in percent of that of B. */
    const char *bars;
    /* [A]: the median of A; [A/B]: the ratio of the two, above 1 A is better; [A%B]: in percent. */
    const char *sentence;
};

static const struct picture pictures[] = {
    {"page-rate", "leases acquired and released, 8 clients", "per second", "uncontended-8", "rate",
     "rowlock-postgresql-lease rowlock-mariadb-lease rowlock-sqlite-lease etcd zookeeper "
     "redis-always postgres-update-lazy",
     "Eight clients acquire and release [rowlock-postgresql-lease] leases a second on PostgreSQL "
     "and [rowlock-mariadb-lease] on MariaDB. On PostgreSQL the grant is on disk, but the release "
     "does not wait for the disk: the rate is [rowlock-postgresql-lease/postgres-update-lazy] "
     "times that of two UPDATEs by hand whose release does not wait either. If the release waits "
     "too, as that of the other peers does, the rate is [rowlock-postgresql-lease-sync]: "
     "[rowlock-postgresql-lease-sync/etcd] times that of etcd, "
     "[rowlock-postgresql-lease-sync/zookeeper] times that of ZooKeeper, "
     "[rowlock-postgresql-lease-sync/redis-always] times that of Redis when it writes to disk, "
     "and [rowlock-postgresql-lease-sync/postgres-update] times that of two UPDATEs."},
    {"page-handover", "from the release to the next holder, 8 clients (median)", "ms", "handover",
     "p50",
     "rowlock-postgresql-lease rowlock-mariadb-lease rowlock-sqlite-lease etcd zookeeper "
     "redis-always",
     "When a lease is released, the next waiting client has it after [rowlock-postgresql-lease] ms "
     "on PostgreSQL and [rowlock-mariadb-lease] ms on MariaDB; etcd needs [etcd] ms, ZooKeeper "
     "[zookeeper] ms."},
    {"page-crowd", "hand-overs while 1,000 clients wait for one name (short run: 100)",
     "per second", "crowd", "rate",
     "rowlock-postgresql-lease rowlock-mariadb-lease etcd zookeeper redis-always",
     "While 1,000 clients (in a short run 100) wait for one name, the lease changes hands "
     "[rowlock-postgresql-lease] "
     "times a second on PostgreSQL and [rowlock-mariadb-lease] times on MariaDB; [etcd] times on "
     "etcd, [zookeeper] times on ZooKeeper, and [redis-always] times on Redis when it writes to "
     "disk."},
    {"page-command", "a command under a lock: rowlock run x -- true", "ms", "process", "time",
     "rowlock-postgresql-lease rowlock-mariadb-lease rowlock-sqlite-lease etcd flock",
     "A command that a shell runs under a lock costs [rowlock-postgresql-lease] ms on PostgreSQL, "
     "[rowlock-mariadb-lease] ms on MariaDB and [rowlock-sqlite-lease] ms on SQLite; etcdctl lock "
     "costs [etcd] ms, and flock(1) costs [flock] ms."},
    {"page-documents", "speed of a document loader that locks each document",
     "% of its speed without locks", "documents", "rate",
     "rowlock-postgresql-lock/postgres-no-lock rowlock-mariadb-lock/mariadb-no-lock "
     "rowlock-sqlite-lock/sqlite-no-lock",
     "A program that loads documents, and locks each of them, keeps "
     "[rowlock-postgresql-lock%postgres-no-lock] % of its speed on PostgreSQL, "
     "[rowlock-mariadb-lock%mariadb-no-lock] % on MariaDB and "
     "[rowlock-sqlite-lock%sqlite-no-lock] % on SQLite."},
    {.name = NULL},
};

/* ---- figures --------------------------------------------------------------------------------- */

/* The median of their ratio; -1: not measured. */
static double ratio_of(json_t *bench, const struct picture *picture, const char *ours,
                       const char *peer)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(bench, "rows"), i, row)
    {
        if (strcmp(report_text(row, "workload"), picture->workload) == 0 &&
            strcmp(report_text(row, "metric"), picture->metric) == 0 &&
            strcmp(report_text(row, "rowlock"), ours) == 0 &&
            strcmp(report_text(row, "peer"), peer) == 0)
            return report_number(json_object_get(row, "ratio"), "median");
    }
    return -1;
}

/* Of "A", "A/B" or "A%B", as in a sentence; -1: not measured. */
static double figure_of(json_t *bench, const struct picture *picture, const char *figure)
{
    char ours[2 * NAME];
    size_t length = strcspn(figure, "/%");
    json_t *one, *spread;
    double ratio;

    if (figure[length]) {
        snprintf(ours, sizeof ours, "%.*s", (int)length, figure);
        ratio = ratio_of(bench, picture, ours, figure + length + 1);
        return ratio < 0 ? -1 : figure[length] == '%' ? 100 * ratio : ratio;
    }
    one = report_find(bench, picture->workload, figure);
    spread = one ? report_spread(one, picture->metric) : NULL;
    return spread ? report_number(spread, "median") : -1;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_sentence(json_t *bench, const struct picture *picture, FILE *out)
{
    char figure[2 * NAME];
    int length;

    for (const char *at = picture->sentence; *at;) {
        if (sscanf(at, "[%127[^]]]%n", figure, &length) == 1) {
            double value = figure_of(bench, picture, figure);

            if (value < 0)
                fprintf(out, "(not measured)");
            else
                report_value(value, out);
            at += length;
        } else {
            fputc(*at++, out);
        }
    }
}

/* Names the figures whose repetitions differ by more than a factor of two. */
static void print_erratic(json_t *bench, const struct picture *picture, FILE *out)
{
    char bar[2 * NAME];
    int n, found = 0;

    for (const char *at = picture->bars; sscanf(at, "%127s%n", bar, &n) == 1; at += n) {
        json_t *one = report_find(bench, picture->workload, bar);
        json_t *spread = one ? report_spread(one, picture->metric) : NULL;
        double low = spread ? report_number(spread, "low") : 0;
        double high = spread ? report_number(spread, "high") : 0;

        if (high <= 2 * low)
            continue;
        fprintf(out, "%s%s (", found++ ? ", " : " Erratic, from the lowest to the highest: ", bar);
        report_value(low, out);
        fprintf(out, " to ");
        report_value(high, out);
        fprintf(out, ")");
    }
    fprintf(out, "%s", found ? "." : "");
}

static int has_bars(json_t *bench, const struct picture *picture)
{
    char bar[2 * NAME];
    int n, found = 0;

    for (const char *at = picture->bars; sscanf(at, "%127s%n", bar, &n) == 1; at += n)
        found |= figure_of(bench, picture, bar) >= 0;
    return found;
}

void report_page(json_t *bench, FILE *out)
{
    fprintf(out,
            "## The result on one page\n\n"
            "A lease is a lock that expires unless its holder renews it. In the pictures blue is "
            "rowlock, and orange are the others. `redis-always` is Redis when it writes each "
            "change to disk. `postgres-update-lazy` are two UPDATEs written by hand.\n\n");
    for (const struct picture *picture = pictures; picture->name; picture++) {
        if (!has_bars(bench, picture))
            continue;
        print_sentence(bench, picture, out);
        print_erratic(bench, picture, out);
        fprintf(out, "\n\n![%s](bench/%s.svg)\n\n", picture->title, picture->name);
    }
    fprintf(
        out,
        "### Limits: these numbers do not show\n\n"
        "- A network. Client, server and disk were one machine; each round trip between "
        "machines adds 0.1 to 1 ms.\n"
        "- Your disk. Most of these calls wait for it: see the row `disk` below.\n"
        "- Replicas. No server had a standby. etcd and ZooKeeper usually run as three.\n"
        "- Equal durability. A release of rowlock on PostgreSQL, and all of SQLite, reply "
        "before they are on disk. The column \"on disk\" of the tables has what each waits for.\n"
        "- Correctness. `docs/internals/torture.md` shows how the locks behave under faults.\n");
}

/* ---- the data of the pictures ---------------------------------------------------------------- */

static void print_bars(json_t *bench, const struct picture *picture, FILE *data, FILE *script)
{
    char bar[2 * NAME];
    int n, count = 0;

    fprintf(script, "set title \"%s\"\nset ylabel \"%s\"\nset xtics (", picture->title,
            picture->unit);
    for (const char *at = picture->bars; sscanf(at, "%127s%n", bar, &n) == 1; at += n) {
        double value = figure_of(bench, picture, bar);

        if (value < 0)
            continue;
        fprintf(data, "%d %g %s \"", count, strchr(bar, '/') ? 100 * value : value,
                strncmp(bar, "rowlock-", 8) == 0 ? OURS : PEERS);
        report_value(strchr(bar, '/') ? 100 * value : value, data);
        fprintf(data, "\"\n");
        fprintf(script, "%s\"%.*s\" %d", count ? ", " : "", (int)strcspn(bar, "/"), bar, count);
        count++;
    }
    fprintf(script, ")\nbars = %d\n", count);
}

static int write_picture(json_t *bench, const char *folder, const struct picture *picture)
{
    FILE *data = report_create(folder, picture->name, "dat");
    FILE *script = report_create(folder, picture->name, "gp");
    int failed = !data || !script;

    if (!failed)
        print_bars(bench, picture, data, script);
    failed |= data && fclose(data);
    failed |= script && fclose(script);
    return failed ? -1 : 0;
}

int report_page_plots(json_t *bench, const char *folder)
{
    FILE *list = report_create(folder, "pages", "gp");
    int failed = !list;

    if (list)
        fprintf(list, "pages = \"");
    for (const struct picture *picture = pictures; !failed && picture->name; picture++) {
        failed = write_picture(bench, folder, picture);
        fprintf(list, "%s ", picture->name);
    }
    if (list)
        fprintf(list, "\"\n");
    failed |= list && fclose(list);
    return failed ? -1 : 0;
}
