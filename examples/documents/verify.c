/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the versions of all inputs by id and time, and looks up the newest of each id. Of two
 * documents with the same id and time the table may have either, because the first to arrive is not
 * replaced.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "store.h"

#define SHOWN_MAX 20

struct entry {
    char *id;
    int64_t time;
    uint64_t number; /* of the document, whose body is read again */
};

struct verification {
    const struct inputs *inputs;
    struct reader reader;
    struct entry *entries;
    size_t n;
    struct store store;
    uint64_t verified, differs;
};

static int newest_first(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = strcmp(a->id, b->id);

    return order ? order : (a->time < b->time) - (a->time > b->time);
}

static int collect(struct verification *v)
{
    v->entries = calloc(v->inputs->count + 1, sizeof *v->entries);
    if (!reader_open(&v->reader, v->inputs) || !v->entries)
        return -1;
    for (uint64_t number = 0; number < v->inputs->count; number++) {
        struct document document;
        char reason[DOCUMENT_REASON];

        switch (reader_read(&v->reader, number, &document, reason)) {
        case INPUT_FAILED:
            input_print(stderr, v->inputs, number, ": cannot be read again to verify: ", reason);
            return -1;
        case INPUT_REFUSED:
            continue;
        case INPUT_OK:
            v->entries[v->n] = (struct entry){strdup(document.id), document.time, number};
        }
        if (!v->entries[v->n++].id)
            return -1;
    }
    qsort(v->entries, v->n, sizeof *v->entries, newest_first);
    return 0;
}

static void print_difference(struct verification *v, const struct entry *newest,
                             const struct version *version)
{
    char when[TIMESTAMP_TEXT];
    const char *how = "holds another body than the version of";

    if (v->differs++ >= SHOWN_MAX)
        return;
    timestamp_print(newest->time, when);
    if (!version->registered)
        how = "is missing; its newest version is";
    else if (version->time < newest->time)
        how = "is an old version; the newest is";
    else if (version->time > newest->time)
        how = "is newer than all inputs, of which the newest is";
    fprintf(stderr, "documents: %s: %s %s\n", newest->id, how, when);
}

/* Looks up an id, whose entries begin at `at`. Returns a ROWLOCK_E code. */
static int look_up(struct verification *v, size_t at, struct rowlock_error *error)
{
    const struct entry *newest = &v->entries[at];
    struct document document = {.id = ""};
    struct version version = {.registered = false};
    char reason[DOCUMENT_REASON];
    int code = ROWLOCK_OK;

    for (size_t i = at;
         i < v->n && !code && !version.registered && newest_first(&v->entries[i], newest) == 0;
         i++) {
        if (reader_read(&v->reader, v->entries[i].number, &document, reason) != INPUT_OK)
            return store_fail(error, ROWLOCK_EDB, newest->id, "its document changed");
        code = v->store.engine->read(&v->store, &document, true, &version, error);
    }
    if (code)
        return code;
    if (version.registered) {
        v->verified++;
        return ROWLOCK_OK;
    }
    code = v->store.engine->read(&v->store, &document, false, &version, error);
    if (!code)
        print_difference(v, newest, &version);
    return code;
}

static int compare(struct verification *v, const struct options *o, int stop_fd)
{
    struct rowlock_error error;
    int code = store_open(&v->store, o, stop_fd, &error);

    if (!code)
        code = v->store.engine->prepare(&v->store, &error);
    for (size_t i = 0; i < v->n && !code; i++)
        if (i == 0 || strcmp(v->entries[i].id, v->entries[i - 1].id) != 0)
            code = look_up(v, i, &error);
    store_close(&v->store);
    if (code)
        fprintf(stderr, "documents: %s\n", error.text);
    return code;
}

int verify(const struct options *options, const struct inputs *inputs, int stop_fd)
{
    struct verification v = {.inputs = inputs};
    int failed = collect(&v);

    if (failed)
        fputs("documents: the inputs could not be collected again to verify\n", stderr);
    else
        failed = compare(&v, options, stop_fd);
    printf("verified %" PRIu64 "\ndiffers %" PRIu64 "\n", v.verified, v.differs);
    for (size_t i = 0; i < v.n; i++)
        free(v.entries[i].id);
    free(v.entries);
    reader_close(&v.reader);
    return failed || v.differs > 0;
}
