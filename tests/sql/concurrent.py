#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# concurrent.py URL: the first article's ConcurrentTest. Three threads share one id; the log is
# printed when all have ended. One thing is added: the holder keeps the lock, besides the article's
# 250 ms, until the server reports that all remaining threads wait. Otherwise a slow machine might
# let them come one by one.
import itertools
import sys
import threading
import time
import uuid

import psycopg2

URL = sys.argv[1]
ID = "BondBO:DK0015966592"
SQL_INSERT = "INSERT INTO businessobjectlock (uuid,id,locked_ts) VALUES (%s,%s,now())"
SQL_DELETE = "DELETE FROM businessobjectlock WHERE uuid=%s"
SQL_WAITING = """SELECT count(*) FROM pg_stat_activity
                  WHERE datname = current_database() AND wait_event_type = 'Lock'"""

sequence = itertools.count(1)
log_items = []
begin = time.monotonic()
running = threading.Event()
turns = itertools.count(1)  # the next number, drawn by the holder of the lock


def log(thread, message):
    log_items.append((next(sequence), int((time.monotonic() - begin) * 1000), thread, message))


def connect():
    connection = psycopg2.connect(URL)
    connection.set_session(isolation_level="READ COMMITTED", autocommit=False)
    return connection


def until_waiting(count):
    connection = psycopg2.connect(URL)
    connection.autocommit = True
    cursor = connection.cursor()
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        cursor.execute(SQL_WAITING)
        if cursor.fetchone()[0] == count:
            break
        time.sleep(0.02)
    else:
        raise RuntimeError("the others never waited")
    connection.close()


def lock_and_work(thread, connection):
    mine = uuid.uuid4().hex
    cursor = connection.cursor()
    log(thread, "Statements prepared, doing insert")
    cursor.execute(SQL_INSERT, (mine, ID))
    log(thread, f"rows inserted:{cursor.rowcount}")
    time.sleep(0.05)
    cursor.execute(SQL_DELETE, (mine,))
    log(thread, f"rows deleted:{cursor.rowcount}")
    time.sleep(0.25)
    until_waiting(3 - next(turns))


def run(thread, connection):
    running.wait()
    log(thread, "Started")
    try:
        lock_and_work(thread, connection)
    except Exception as error:
        log(thread, f"Caught exception: {error}")
        connection.rollback()
    finally:
        log(thread, "doing commit...")
        connection.commit()
        log(thread, "commit done...")
        log(thread, "done...")


log(0, "Started...")
runners = [threading.Thread(target=run, args=(thread, connect())) for thread in (1, 2, 3)]
for runner in runners:
    runner.start()
log(0, "Threads created")
running.set()
log(0, "Threads running - waiting...")
for runner in runners:
    runner.join()
log(0, "Done !")
for _, ms, thread, message in sorted(log_items):
    print(ms, thread, message, sep="\t")
