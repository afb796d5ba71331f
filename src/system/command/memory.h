/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes share, also after exec. */
#ifndef ROWLOCK_SYSTEM_MEMORY_H
#define ROWLOCK_SYSTEM_MEMORY_H

#include <stddef.h>

/* A descriptor of `size` zero bytes for mmap(). exec closes it. -1 with errno. */
int shared_memory(size_t size);

#endif
