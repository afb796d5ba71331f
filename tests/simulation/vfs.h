/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite in memory, with a clock that the simulation sets. */
#ifndef VFS_H
#define VFS_H

/* A copy of SQLite's "memdb" file system, made the default one: whatever path is opened is a database
   in memory, which all connections of the process to that path share. Its "now" is sim_database_ms(). It
   has no WAL: a reader stops a writer's COMMIT, so what goes wrong only beside a reader is not found. */
void vfs_install(void);

#endif
