/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge sort. Entries are packed one behind the other in an arena; a full arena is sorted
 * and written as a run. When there are RUNS_MAX runs they are merged into one, so that neither
 * memory nor the number of open files grows with the input.
 */
#include "sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA ((size_t)2 << 20)
#define ENTRIES_MAX (ARENA / 32)
#define RUNS_MAX 32
#define HEAD offsetof(struct entry, id)

struct run {
    FILE *file;
    struct entry entry; /* the smallest one not yet taken */
    bool more;
};

struct sorter {
    char *arena;
    size_t used;
    const char *entries[ENTRIES_MAX]; /* into the arena */
    size_t n;
    struct run runs[RUNS_MAX];
    unsigned run_count;
    struct run *last; /* whose entry was handed out */
    bool failed;
};

struct sorter *sorter_new(void)
{
    struct sorter *s = calloc(1, sizeof *s);

    if (s)
        s->arena = malloc(ARENA);
    if (s && !s->arena) {
        free(s);
        s = NULL;
    }
    return s;
}

void sorter_free(struct sorter *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < s->run_count; i++)
        fclose(s->runs[i].file);
    free(s->arena);
    free(s);
}

int entry_compare_ids(const struct entry *a, const struct entry *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->id, b->id, shorter);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare(const struct entry *a, const struct entry *b)
{
    int order = entry_compare_ids(a, b);

    return order ? order : (a->time > b->time) - (a->time < b->time);
}

static size_t packed_size(const struct entry *entry)
{
    return (HEAD + entry->length + 7) & ~(size_t)7;
}

/* Packed entries are as long as their id: only that much may be looked at, never a copy of all. */
static int compare_packed(const void *a, const void *b)
{
    return compare(*(const struct entry *const *)a, *(const struct entry *const *)b);
}

static bool put(FILE *file, const struct entry *entry)
{
    return fwrite(entry, HEAD + entry->length, 1, file) == 1;
}

static void get(struct sorter *s, struct run *run)
{
    run->more = fread(&run->entry, HEAD, 1, run->file) == 1;
    if (run->more && run->entry.length &&
        fread(run->entry.id, run->entry.length, 1, run->file) != 1)
        run->more = false;
    if (!run->more && ferror(run->file))
        s->failed = true;
}

static void rewind_runs(struct sorter *s)
{
    for (unsigned i = 0; i < s->run_count; i++) {
        rewind(s->runs[i].file);
        get(s, &s->runs[i]);
    }
    s->last = NULL;
}

const struct entry *sorter_next(struct sorter *s)
{
    struct run *least = NULL;

    if (s->last)
        get(s, s->last);
    for (unsigned i = 0; i < s->run_count; i++) {
        struct run *run = &s->runs[i];

        if (run->more && (!least || compare(&run->entry, &least->entry) < 0))
            least = run;
    }
    s->last = least;
    return least ? &least->entry : NULL;
}

static bool merge_runs(struct sorter *s)
{
    FILE *merged = tmpfile();
    const struct entry *entry;

    if (!merged)
        return false;
    rewind_runs(s);
    while ((entry = sorter_next(s))) {
        if (!put(merged, entry))
            s->failed = true;
    }
    for (unsigned i = 0; i < s->run_count; i++)
        fclose(s->runs[i].file);
    s->runs[0].file = merged;
    s->run_count = 1;
    return !s->failed && fflush(merged) == 0;
}

static bool spill(struct sorter *s)
{
    FILE *file;

    if (s->run_count == RUNS_MAX && !merge_runs(s))
        return false;
    file = tmpfile();
    if (!file)
        return false;
    s->runs[s->run_count++].file = file;
    qsort(s->entries, s->n, sizeof *s->entries, compare_packed);
    for (size_t i = 0; i < s->n; i++) {
        if (!put(file, (const struct entry *)(const void *)s->entries[i]))
            return false;
    }
    s->n = s->used = 0;
    return fflush(file) == 0;
}

bool sorter_add(struct sorter *s, const struct entry *entry)
{
    if ((s->n == ENTRIES_MAX || s->used + packed_size(entry) > ARENA) && !spill(s))
        return false;
    s->entries[s->n++] = s->arena + s->used;
    memcpy(s->arena + s->used, entry, HEAD + entry->length);
    s->used += packed_size(entry);
    return true;
}

bool sorter_start(struct sorter *s)
{
    if (s->n && !spill(s))
        return false;
    rewind_runs(s);
    return !s->failed;
}

bool sorter_failed(const struct sorter *s)
{
    return s->failed;
}
