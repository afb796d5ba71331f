/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a SQLite database: creates its file, and explains why a path cannot be used. */
#ifndef ROWLOCK_SQLITE_PATH_H
#define ROWLOCK_SQLITE_PATH_H

struct rowlock_error;

/* Creates the file with mode 0600, whatever the umask is, unless it exists. ECONN: a temporary
   failure; ESERVER, EDENIED: the path must be corrected. */
int rowlock__sqlite_create(const char *path, struct rowlock_error *error);

/* Does not create it: ESERVER if the file does not exist; other errors as above. */
int rowlock__sqlite_check(const char *path, struct rowlock_error *error);

/* ESERVER if the file has, or may have, a second path: hard links, or a mount of the file alone.
   SQLite names the log after the path, so callers by two paths would not see each other's locks. A
   caller by the original path cannot notice such a mount, but every caller by the mount is refused.
   Both functions above include this check. */
int rowlock__sqlite_check_links(const char *path, struct rowlock_error *error);

#endif
