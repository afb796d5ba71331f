/* SPDX-License-Identifier: Apache-2.0 */
/* The shared libraries that the process has loaded. */
#ifndef ROWLOCK_SYSTEM_LIBRARY_H
#define ROWLOCK_SYSTEM_LIBRARY_H

/* For dlsym(): the libraries that the process has loaded already. NULL is a valid
   value here, not an error. */
void *rowlock__own_symbols(void);

/* The handle of the library that was loaded from `file`, a path or the last part of one; or NULL.
   With POSIX alone it is loaded if it was not. The caller closes the handle. */
void *rowlock__loaded_library(const char *file);

/* The path of the library that has this function; NULL: unknown, as always with POSIX alone. */
const char *rowlock__path_of_function(const void *function);

#endif
