/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for strings and bytes that POSIX.1-2008 does not have. */
#ifndef ROWLOCK_BYTES_H
#define ROWLOCK_BYTES_H

#include <stddef.h>

/* Overwrites a secret. The compiler cannot remove the call, although nothing reads the bytes
   again. */
void rowlock__wipe(void *bytes, size_t n);

/* The first place of `n` bytes in `size` bytes, or NULL. Neither needs a NUL. */
const char *rowlock__find_bytes(const char *in, size_t size, const char *bytes, size_t n);

/* The first place of `word` in `text`, in upper or lower case, or NULL. */
const char *rowlock__find_caseless(const char *text, const char *word);

/* The three texts as one; malloc'd, or NULL. */
char *rowlock__join(const char *first, const char *second, const char *third);

/* Writes `n` bytes as hexadecimal digits, in upper case, and a NUL: 2 * n + 1 bytes in all. Returns
   the place of the NUL. */
char *rowlock__put_hex(char *out, const char *bytes, size_t n);

/* The byte of the two hexadecimal digits at `text`, in upper or lower case; -1: there are none. */
int rowlock__hex_byte(const char *text);

/* SQL text with each whole word `from` replaced by `to`. A whole word has no letter, digit or
   underscore next to it; quotes and comments are not recognized. malloc'd, or NULL. */
char *rowlock__replace_word(const char *text, const char *from, const char *to);

#endif
