# SPDX-License-Identifier: Apache-2.0
# mariadb_lock.py FILE: a lock in a transaction, from Python by PyMySQL; FILE is an option file
# with host, user and so on.
import sys

import pymysql

connection = pymysql.connect(read_default_file=sys.argv[1])
with connection, connection.cursor() as cursor:  # closing rolls back an open transaction
    cursor.execute("CALL rowlock_begin_exclusive(%s)", ("BondBO:DK0015966592",))
    print("locked", flush=True)
    cursor.execute("UPDATE bond SET handled = handled + 1 WHERE id = %s", ("DK0015966592",))
    connection.commit()
