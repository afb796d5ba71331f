# SPDX-License-Identifier: Apache-2.0
# wait.py URL: the life of a lease from Python: acquire, wait, renew, fence, release, and its loss.
import os
import sys
import uuid

import psycopg

OWNER = str(uuid.uuid4())  # drawn once for each lease: a call that is repeated acquires it once
REQUEST = """SELECT token, place, holder FROM rowlock.request(
    'import', '30 s', %s, wait => '5 s', pid => %s, program => 'wait.py')"""

# autocommit: each call is a transaction of its own
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    try:
        token = None
        while token is None:  # acquires, or queues; in the queue each call waits up to 5 s
            token, place, holder = connection.execute(REQUEST, (OWNER, os.getpid())).fetchone()
            if place:
                print(f"waiting at place {place}, behind {holder}", flush=True)
        print("leased", flush=True)
        for bond in ("DK0015966592", "DK0009922320"):
            # every third of the ttl, or before each piece of work that takes less
            connection.execute("SELECT rowlock.renew(%s, '30 s')", (token,))
            with connection.transaction():
                connection.execute("SELECT rowlock.fence('import', %s)", (token,))
                connection.execute("UPDATE bond SET handled = handled + 1 WHERE id = %s", (bond,))
    except psycopg.Error as error:
        if error.sqlstate != "RL005":
            raise
        sys.exit("the lease is lost: another program may work now")
    finally:
        # releases the lease, or leaves the queue
        connection.execute("SELECT rowlock.cancel('import', %s)", (OWNER,))
