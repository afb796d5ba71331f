/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and copies UTF-8. */
#ifndef ROWLOCK_UTF8_H
#define ROWLOCK_UTF8_H

#include <stddef.h>

/* The length in bytes of the well-formed character at `text`, of which `left` bytes, at least one,
   are readable; 0: none. */
size_t rowlock__utf8_character(const char *text, size_t left);

/* The number of characters of well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, at
   most U+10FFFF), or -1. */
long rowlock__utf8_length(const char *text, size_t bytes);

/* The code point of the character at `text`, of which `left` bytes are readable, if it changes how
   a terminal shows others: U+0080 to U+009F (a terminal obeys U+009B as it does ESC [), the marks
   and overrides of the direction of text, and the separators of lines and paragraphs. Otherwise 0.
   The controls of ASCII are not among them. */
unsigned rowlock__utf8_control(const char *text, size_t left);

/* The first character that looks like a space or like nothing, and separates no words: "a no-break
   space (U+00A0)"; NULL: none. `*at` (may be NULL) is its position. */
const char *rowlock__utf8_unseen(const char *text, const char **at);

/* Copies whole characters as far as they fit in `size` bytes, at least one, and a NUL. Each byte
   that is not UTF-8 becomes '?'. */
void rowlock__utf8_copy(char *out, size_t size, const char *text);

#endif
