#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# businessobjectlock.py URL ID: the first article's pseudo code with Python's usual driver. It does
# not use rowlock. Prints `locked` after the two statements, and commits when it reads a line.
import sys
import uuid

import psycopg2

connection = psycopg2.connect(sys.argv[1])
connection.set_session(isolation_level="READ COMMITTED", autocommit=False)
mine = uuid.uuid4().hex
statement = connection.cursor()
statement.execute("INSERT INTO businessobjectlock (uuid,id,locked_ts) VALUES (%s,%s,now())", (mine, sys.argv[2]))
statement.execute("DELETE FROM businessobjectlock WHERE uuid=%s", (mine,))
print("locked", flush=True)
sys.stdin.readline()
connection.commit()
print("committed", flush=True)
