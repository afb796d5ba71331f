/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite in memory, with a simulated clock (vfs.h). */
#include "simulation/vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "simulation/sim.h"

#define JULIAN_1970_MS INT64_C(210866760000000)

static sqlite3_vfs ours;

static int now_int64(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    *out = JULIAN_1970_MS + sim_database_ms();
    return SQLITE_OK;
}

static int now_double(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    *out = (double)(JULIAN_1970_MS + sim_database_ms()) / 86400000.0;
    return SQLITE_OK;
}

void vfs_install(void)
{
    sqlite3_vfs *memdb;

    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_initialize() != SQLITE_OK || !(memdb = sqlite3_vfs_find("memdb"))) {
        fprintf(stderr, "this SQLite has no file system in memory (memdb)\n");
        exit(1);
    }
    ours = *memdb;
    ours.pNext = NULL;
    ours.zName = "rowlock-simulation";
    ours.xCurrentTime = now_double;
    ours.xCurrentTimeInt64 = now_int64;
    sqlite3_vfs_register(&ours, 1);
}
