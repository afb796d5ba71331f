/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two sorted streams: the inputs and the table. Of two documents with the same id and time
 * the table may have either, because the first to arrive is not replaced.
 */
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input.h"
#include "report.h"
#include "sort.h"
#include "timestamp.h"
#include "walk.h"
#include "worker.h"

#define SHOWN_MAX 20

struct verification {
    struct sorter *sorter;
    const struct entry *expected; /* the next one from the inputs */
    uint64_t equal, differs;
};

/* FNV-1a */
static uint64_t digest(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void to_entry(struct entry *entry, const struct document *document)
{
    entry->time = document->time;
    entry->digest = digest(document->body, document->body_length);
    entry->length = (uint16_t)document->id_length;
    memcpy(entry->id, document->id, document->id_length);
}

static bool add(struct sorter *sorter, struct extractor *extractor, const struct input *input)
{
    struct document document;
    struct entry entry;
    char reason[DOCUMENT_REASON];

    if (extract(extractor, input->text, input->length, &document, reason))
        return true; /* the loader refused it too */
    to_entry(&entry, &document);
    return sorter_add(sorter, &entry);
}

static bool add_generated(const struct options *o, struct sorter *sorter,
                          struct extractor *extractor, struct input *input)
{
    for (uint64_t i = 0; i < o->generator.documents; i++) {
        if (input_load(input, "", i) != INPUT_OK || !add(sorter, extractor, input))
            return false;
    }
    return true;
}

static bool add_files(const struct options *o, struct sorter *sorter, struct extractor *extractor,
                      struct input *input)
{
    struct walk *walk = walk_new(o->paths);
    const char *path;
    bool done = walk != NULL;

    while (done && (path = walk_next(walk))) {
        switch (input_load(input, path, 0)) {
        case INPUT_OK:
            done = add(sorter, extractor, input);
            break;
        case INPUT_TOO_LONG:
            break;
        case INPUT_FAILED:
            report_undone(path, 0, "cannot be read again to verify");
            done = false;
        }
    }
    if (walk && walk_failures(walk))
        done = false;
    walk_free(walk);
    return done;
}

static bool collect(const struct options *o, struct sorter *sorter)
{
    struct extractor *extractor = extractor_new(o->id_element, o->time_element);
    struct input input = {.generator = &o->generator};
    bool done = false;

    if (extractor)
        done = o->generator.documents ? add_generated(o, sorter, extractor, &input)
                                      : add_files(o, sorter, extractor, &input);
    extractor_free(extractor);
    input_free(&input);
    return done && sorter_start(sorter);
}

static void differs(struct verification *v, const struct entry *id, const char *format,
                    int64_t time)
{
    char when[TIMESTAMP_TEXT];

    if (v->differs++ >= SHOWN_MAX)
        return;
    timestamp_print(time, when);
    fprintf(stderr, "documents: %.*s: ", (int)id->length, id->id);
    fprintf(stderr, "%s %s\n", format, when);
}

/* Takes all versions of one id from the inputs: their newest time, and whether `row` is one. */
static int64_t take_versions(struct verification *v, const struct entry *row, bool *found)
{
    struct entry id = *v->expected;
    int64_t newest = id.time;

    *found = false;
    while (v->expected && entry_compare_ids(v->expected, &id) == 0) {
        newest = v->expected->time;
        if (row && newest == row->time && v->expected->digest == row->digest)
            *found = true;
        v->expected = sorter_next(v->sorter);
    }
    return newest;
}

static void missing(struct verification *v)
{
    struct entry id = *v->expected;
    bool found;

    differs(v, &id, "is missing; its newest version is", take_versions(v, NULL, &found));
}

static void check_row(void *data, const struct document *document)
{
    struct verification *v = data;
    struct entry row;
    int64_t newest;
    bool found;

    to_entry(&row, document);
    while (v->expected && entry_compare_ids(v->expected, &row) < 0)
        missing(v);
    if (!v->expected || entry_compare_ids(v->expected, &row) > 0)
        return;
    newest = take_versions(v, &row, &found);
    if (row.time < newest)
        differs(v, &row, "is an old version; the newest is", newest);
    else if (row.time > newest)
        differs(v, &row, "is newer than all inputs, of which the newest is", newest);
    else if (!found)
        differs(v, &row, "holds another body than the version of", newest);
    else
        v->equal++;
}

static int compare(const struct options *o, int stop_fd, struct verification *v)
{
    struct rowlock_connection *connection;
    struct store *store;
    struct rowlock_error error;
    int code = database_open(o, stop_fd, &connection, &store, &error);

    if (code) {
        fprintf(stderr, "documents: %s\n", error.text);
        return 1;
    }
    v->expected = sorter_next(v->sorter);
    code = store->engine->each(store, check_row, v, &error);
    if (code)
        fprintf(stderr, "documents: %s\n", error.text);
    while (!code && v->expected)
        missing(v);
    store_close(store);
    rowlock_close(connection);
    return code != 0 || sorter_failed(v->sorter);
}

int verify(const struct options *o, int stop_fd)
{
    struct verification v = {.sorter = sorter_new()};
    int result = 1;

    if (!v.sorter || !collect(o, v.sorter))
        fputs("documents: the inputs could not be collected again to verify\n", stderr);
    else
        result = compare(o, stop_fd, &v);
    sorter_free(v.sorter);
    printf("verified %" PRIu64 "\ndiffers %" PRIu64 "\n", v.equal, v.differs);
    return result || v.differs > 0;
}
