/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that UTF-8 text takes on a terminal; colours take none. The thread's LC_CTYPE must be
   C.UTF-8: begin_width() sets it, whatever the user's locale is. */
#ifndef ROWLOCK_WIDTH_H
#define ROWLOCK_WIDTH_H

#include <stddef.h>

void begin_width(void);

size_t text_width(const char *text);
/* The number of bytes of `text` that fit into `columns`. */
size_t text_within(const char *text, size_t columns);
/* Cuts a text that is wider, and ends it with an ellipsis; `text` has room for three bytes more. */
void cut_text(char *text, size_t columns);

#endif
