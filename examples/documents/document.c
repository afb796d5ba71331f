/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id and time out of an XML document with expat. The whole text is parsed even when both are known
 * early: a document that is broken further down must not be registered.
 */
#include "document.h"

#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timestamp.h"

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

struct extractor {
    XML_Parser parser;
    struct field id, time;
};

static const char *local_name(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

static void field_opens(struct field *field, const char *name)
{
    if (field->depth)
        field->depth++;
    else if (!field->found && strcmp(name, field->element) == 0) {
        field->found = true;
        field->depth = 1;
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Blanks that no longer fit are dropped: they are trailing ones, unless a letter follows. */
static void field_text(struct field *field, const char *text, int length)
{
    if (!field->depth)
        return;
    for (int i = 0; i < length; i++) {
        if (is_space(text[i]) && (!field->length || field->length == field->max))
            continue;
        if (field->length == field->max) {
            field->too_long = true;
            return;
        }
        field->text[field->length++] = text[i];
    }
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct extractor *x = data;

    (void)attributes;
    field_opens(&x->id, local_name(name));
    field_opens(&x->time, local_name(name));
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    struct extractor *x = data;

    (void)name;
    if (x->id.depth)
        x->id.depth--;
    if (x->time.depth)
        x->time.depth--;
}

static void XMLCALL on_text(void *data, const XML_Char *text, int length)
{
    struct extractor *x = data;

    field_text(&x->id, text, length);
    field_text(&x->time, text, length);
}

static void gap(struct extractor *x)
{
    if (x->id.depth)
        x->id.gap = true;
    if (x->time.depth)
        x->time.gap = true;
}

/* An entity from a DTD that is not read: without it the text would be another one. */
static void XMLCALL on_skipped(void *data, const XML_Char *name, int is_parameter)
{
    (void)name;
    (void)is_parameter;
    gap(data);
}

/* An entity in a file of its own or on the network: never opened, and missed only in a field. */
static int XMLCALL on_external(XML_Parser parser, const XML_Char *context, const XML_Char *base,
                               const XML_Char *system_id, const XML_Char *public_id)
{
    (void)context;
    (void)base;
    (void)system_id;
    (void)public_id;
    gap(XML_GetUserData(parser));
    return XML_STATUS_OK;
}

static void field_reset(struct field *field)
{
    field->depth = 0;
    field->found = field->too_long = field->gap = false;
    field->length = 0;
}

struct extractor *extractor_new(const char *id_element, const char *time_element)
{
    struct extractor *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->parser = XML_ParserCreate(NULL);
    if (!x->parser) {
        free(x);
        return NULL;
    }
    x->id.element = id_element;
    x->id.max = DOCUMENT_ID_MAX;
    x->time.element = time_element;
    x->time.max = TIME_MAX;
    return x;
}

void extractor_free(struct extractor *extractor)
{
    if (!extractor)
        return;
    XML_ParserFree(extractor->parser);
    free(extractor);
}

static int refuse(char reason[DOCUMENT_REASON], const char *element, const char *why)
{
    snprintf(reason, DOCUMENT_REASON, "%s: %s", element, why);
    return -1;
}

static int field_ends(struct field *field, char reason[DOCUMENT_REASON])
{
    while (field->length && is_space(field->text[field->length - 1]))
        field->length--;
    field->text[field->length] = 0;
    if (!field->found)
        return refuse(reason, field->element, "no such element");
    if (field->gap)
        return refuse(reason, field->element, "holds an entity that is not read");
    if (field->too_long) {
        snprintf(reason, DOCUMENT_REASON, "%s: longer than %zu bytes", field->element, field->max);
        return -1;
    }
    if (!field->length)
        return refuse(reason, field->element, "empty");
    return 0;
}

static int parse(struct extractor *x, const char *body, size_t length, char reason[DOCUMENT_REASON])
{
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

int extract(struct extractor *x, const char *body, size_t length, struct document *document,
            char reason[DOCUMENT_REASON])
{
    const char *why;

    field_reset(&x->id);
    field_reset(&x->time);
    if (parse(x, body, length, reason) || field_ends(&x->id, reason) ||
        field_ends(&x->time, reason))
        return -1;
    why = timestamp_parse(x->time.text, &document->time);
    if (why) {
        snprintf(reason, DOCUMENT_REASON, "%s: \"%s\": %s", x->time.element, x->time.text, why);
        return -1;
    }
    memcpy(document->id, x->id.text, x->id.length + 1);
    document->id_length = x->id.length;
    document->body = body;
    document->body_length = length;
    return 0;
}
