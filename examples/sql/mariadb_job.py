# SPDX-License-Identifier: Apache-2.0
# mariadb_job.py FILE: performs the job "prices" if it is due, from Python by PyMySQL; FILE is an
# option file with host, user and so on.
import os
import sys
import uuid

import pymysql

# a run has the lease of job:prices for 10 minutes; one that takes longer renews it by rowlock_renew
CLAIM = """CALL rowlock_claim_row('prices', 'every 5m', %s, 600000, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, %s, 'mariadb_job.py', NULL)"""

# autocommit: each call is a transaction of its own
connection = pymysql.connect(read_default_file=sys.argv[1], autocommit=True)
with connection, connection.cursor() as cursor:
    cursor.execute(CLAIM, (str(uuid.uuid4()), os.getpid()))
    token, _, _, state, pause_ms, _, _ = cursor.fetchone()
    if state != "claimed":
        print(f"{state}: call again in {pause_ms} ms")
        sys.exit()
    outcome, output = "done", "prices are refreshed"
    try:
        connection.begin()
        cursor.execute("CALL rowlock_fence('job:prices', %s)", (token,))
        cursor.execute("UPDATE bond SET handled = handled + 1")
        connection.commit()
    except pymysql.MySQLError as error:
        connection.rollback()
        outcome, output = "failed", str(error)
    cursor.execute("CALL rowlock_finish(%s, %s, %s, NULL, @released)", (token, outcome, output))
    print(output)
    sys.exit(outcome != "done")
