/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces whole words in SQL text. */
#ifndef ROWLOCK_WORDS_H
#define ROWLOCK_WORDS_H

/* `text` with each whole word `from` replaced by `to`; malloc'd, or NULL. */
char *rowlock__replace_word(const char *text, const char *from, const char *to);

#endif
