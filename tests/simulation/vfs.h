/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite in memory, with a clock that the simulation sets. */
#ifndef VFS_H
#define VFS_H

/*
 * Installs a copy of SQLite's "memdb" file system as the default. Every path opens a database in
 * memory, shared by all connections of the process to that path. Its current time is
 * sim_database_ms(). It has no WAL: a reader delays a writer's COMMIT, so a fault that needs a
 * concurrent reader is not found.
 */
void vfs_install(void);

#endif
