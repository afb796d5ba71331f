# SPDX-License-Identifier: Apache-2.0
# mariadb_wait.py FILE: the life of a lease from Python by PyMySQL: acquire, wait, renew, fence,
# release, and its loss.
import os
import sys
import uuid

import pymysql

OWNER = str(uuid.uuid4())  # drawn once for each lease: a call that is repeated acquires it once
REQUEST = """CALL rowlock_request_row(
    'import', 30000, %s, 5000, 'exclusive', NULL, NULL, %s, 'mariadb_wait.py', NULL)"""

# autocommit: each call is a transaction of its own; READ COMMITTED: renewals pass a fence
LEVEL = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
connection = pymysql.connect(read_default_file=sys.argv[1], autocommit=True, init_command=LEVEL)
with connection, connection.cursor() as cursor:
    try:
        token = None
        while token is None:  # acquires, or queues; in the queue each call waits up to 5 s
            cursor.execute(REQUEST, (OWNER, os.getpid()))
            token, _, place, holder, _ = cursor.fetchone()
            if place:
                print(f"waiting at place {place}, behind {holder}", flush=True)
        print("leased", flush=True)
        for bond in ("DK0015966592", "DK0009922320"):
            # every third of the ttl, or before each piece of work that takes less
            cursor.execute("CALL rowlock_renew(%s, 30000)", (token,))
            connection.begin()
            cursor.execute("CALL rowlock_fence('import', %s)", (token,))
            cursor.execute("UPDATE bond SET handled = handled + 1 WHERE id = %s", (bond,))
            connection.commit()
    except pymysql.MySQLError as error:
        if error.args[0] != 30005:  # RL005
            raise
        sys.exit("the lease is lost: another program may work now")
    finally:
        connection.rollback()
        # releases the lease, or leaves the queue
        cursor.execute("CALL rowlock_cancel('import', %s, @canceled)", (OWNER,))
