/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id and time out of an XML document with expat. The whole text is parsed even when both are known
 * early: a document that is broken further down must not be registered.
 */
#include "documents.h"

#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX 64

/* One element looked for. `depth` counts the elements open inside it, itself included. */
struct field {
    const char *element;
    size_t max;
    unsigned depth;
    bool found, too_long, gap;
    size_t length;
    char text[DOCUMENT_ID_MAX + 1]; /* trimmed at the front already */
};

enum { ID, TIME, FIELDS };

struct extractor {
    XML_Parser parser;
    struct field fields[FIELDS];
};

struct extractor *extractor_new(const char *id_element, const char *time_element)
{
    struct extractor *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->fields[ID] = (struct field){.element = id_element, .max = DOCUMENT_ID_MAX};
    x->fields[TIME] = (struct field){.element = time_element, .max = TIME_MAX};
    x->parser = XML_ParserCreate(NULL);
    if (x->parser)
        return x;
    free(x);
    return NULL;
}

void extractor_free(struct extractor *extractor)
{
    if (!extractor)
        return;
    XML_ParserFree(extractor->parser);
    free(extractor);
}

/* ---- what expat reports ---------------------------------------------------------------------- */

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct extractor *x = data;
    const char *colon = strchr(name, ':'), *local = colon ? colon + 1 : name;

    (void)attributes;
    for (struct field *f = x->fields; f < x->fields + FIELDS; f++) {
        if (f->depth) {
            f->depth++;
        } else if (!f->found && strcmp(local, f->element) == 0) {
            f->found = true;
            f->depth = 1;
        }
    }
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    struct extractor *x = data;

    (void)name;
    for (struct field *f = x->fields; f < x->fields + FIELDS; f++)
        f->depth -= f->depth > 0;
}

/* Blanks that no longer fit are dropped: they are trailing ones, unless a letter follows. */
static void XMLCALL on_text(void *data, const XML_Char *text, int length)
{
    struct extractor *x = data;

    for (struct field *f = x->fields; f < x->fields + FIELDS; f++) {
        for (int i = 0; f->depth && i < length && !f->too_long; i++) {
            if (strchr(" \t\r\n", text[i]) && (!f->length || f->length == f->max))
                continue;
            if (f->length == f->max)
                f->too_long = true;
            else
                f->text[f->length++] = text[i];
        }
    }
}

static void missed(struct extractor *x)
{
    for (struct field *f = x->fields; f < x->fields + FIELDS; f++)
        f->gap = f->gap || f->depth;
}

/* An entity from a DTD that is not read: without it the text would be another one. */
static void XMLCALL on_skipped(void *data, const XML_Char *name, int is_parameter)
{
    (void)name;
    (void)is_parameter;
    missed(data);
}

/* An entity in a file of its own or on the network: never opened, and missed only in a field. */
static int XMLCALL on_external(XML_Parser parser, const XML_Char *context, const XML_Char *base,
                               const XML_Char *system_id, const XML_Char *public_id)
{
    (void)context;
    (void)base;
    (void)system_id;
    (void)public_id;
    missed(XML_GetUserData(parser));
    return XML_STATUS_OK;
}

/* ---- the document ---------------------------------------------------------------------------- */

static int parse(struct extractor *x, const char *body, size_t length, char reason[DOCUMENT_REASON])
{
    for (struct field *f = x->fields; f < x->fields + FIELDS; f++) {
        f->depth = 0;
        f->found = f->too_long = f->gap = false;
        f->length = 0;
    }
    XML_ParserReset(x->parser, NULL);
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, on_start, on_end);
    XML_SetCharacterDataHandler(x->parser, on_text);
    XML_SetSkippedEntityHandler(x->parser, on_skipped);
    XML_SetExternalEntityRefHandler(x->parser, on_external);
    if (XML_Parse(x->parser, body, (int)length, 1) == XML_STATUS_OK)
        return 0;
    snprintf(reason, DOCUMENT_REASON, "not well-formed XML: %s in line %lu",
             XML_ErrorString(XML_GetErrorCode(x->parser)),
             (unsigned long)XML_GetCurrentLineNumber(x->parser));
    return -1;
}

/* Trims the field at its end. */
static int finish(struct field *f, char reason[DOCUMENT_REASON])
{
    const char *why = NULL;

    while (f->length && strchr(" \t\r\n", f->text[f->length - 1]))
        f->length--;
    f->text[f->length] = 0;
    if (!f->found)
        why = "no such element";
    else if (f->gap)
        why = "holds an entity that is not read";
    else if (!f->length)
        why = "empty";
    if (f->too_long)
        snprintf(reason, DOCUMENT_REASON, "%s: longer than %zu bytes", f->element, f->max);
    else if (why)
        snprintf(reason, DOCUMENT_REASON, "%s: %s", f->element, why);
    return f->too_long || why ? -1 : 0;
}

int extract(struct extractor *x, const char *body, size_t length, struct document *document,
            char reason[DOCUMENT_REASON])
{
    struct field *id = &x->fields[ID], *time = &x->fields[TIME];
    const char *why;

    if (parse(x, body, length, reason) || finish(id, reason) || finish(time, reason))
        return -1;
    why = timestamp_parse(time->text, &document->time);
    if (why) {
        snprintf(reason, DOCUMENT_REASON, "%s: \"%s\": %s", time->element, time->text, why);
        return -1;
    }
    memcpy(document->id, id->text, id->length + 1);
    document->body = body;
    document->length = length;
    return 0;
}
