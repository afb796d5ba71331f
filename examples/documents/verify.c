/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the versions of all inputs by id and time, and looks up the newest of each id. Of two
 * documents with the same id and time the table may have either, because the first to arrive is not
 * replaced.
 */
#include <errno.h>
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
    struct extractor *extractor;
    char *text; /* of one document */
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

/* 0: the loader refused it. */
static int read_document(struct verification *v, uint64_t number, struct document *document)
{
    char reason[DOCUMENT_REASON];
    size_t length;

    switch (input_read(v->inputs, number, v->text, &length)) {
    case INPUT_FAILED:
        input_print(stderr, v->inputs, number,
                    ": cannot be read again to verify: ", strerror(errno));
        return -1;
    case INPUT_TOO_LONG:
        return 0;
    case INPUT_OK:
        break;
    }
    return extract(v->extractor, v->text, length, document, reason) == 0;
}

static int collect(struct verification *v, const struct options *o)
{
    v->extractor = extractor_new(o->id_element, o->time_element);
    v->text = malloc(INPUT_ROOM);
    v->entries = calloc(v->inputs->count + 1, sizeof *v->entries);
    if (!v->extractor || !v->text || !v->entries)
        return -1;
    for (uint64_t number = 0; number < v->inputs->count; number++) {
        struct document document;
        int read = read_document(v, number, &document);

        if (read < 0)
            return -1;
        if (read == 0)
            continue;
        v->entries[v->n] = (struct entry){strdup(document.id), document.time, number};
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
    int code = ROWLOCK_OK;

    for (size_t i = at;
         i < v->n && !code && !version.registered && newest_first(&v->entries[i], newest) == 0;
         i++) {
        if (read_document(v, v->entries[i].number, &document) != 1)
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
    struct rowlock_connection *connection;
    struct rowlock_error error;
    int code = database_open(o, stop_fd, &connection, &v->store, &error);

    if (!code) {
        code = v->store.engine->prepare(&v->store, &error);
        for (size_t i = 0; i < v->n && !code; i++)
            if (i == 0 || strcmp(v->entries[i].id, v->entries[i - 1].id) != 0)
                code = look_up(v, i, &error);
        v->store.engine->close(&v->store);
        rowlock_close(connection);
    }
    if (code)
        fprintf(stderr, "documents: %s\n", error.text);
    return code;
}

int verify(const struct options *options, const struct inputs *inputs, int stop_fd)
{
    struct verification v = {.inputs = inputs};
    int failed = collect(&v, options);

    if (failed)
        fputs("documents: the inputs could not be collected again to verify\n", stderr);
    else
        failed = compare(&v, options, stop_fd);
    printf("verified %" PRIu64 "\ndiffers %" PRIu64 "\n", v.verified, v.differs);
    for (size_t i = 0; i < v.n; i++)
        free(v.entries[i].id);
    free(v.entries);
    free(v.text);
    extractor_free(v.extractor);
    return failed || v.differs > 0;
}
