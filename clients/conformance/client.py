# SPDX-License-Identifier: Apache-2.0
"""client.py URL [DRIVER]: the conformance client in Python.

A command a line on standard input, an answer a line. Without a DRIVER a lease has the URL.
"""

import functools
import importlib
import json
import os
import queue
import sys
import threading
from typing import Any, Dict, Optional
from urllib.parse import unquote, urlsplit

import rowlock

URL = sys.argv[1]
MARIADB = not URL.startswith("postgresql")
DRIVER = "".join(sys.argv[2:3])


def connect(url: str = URL) -> Any:
    if not MARIADB:
        return importlib.import_module(DRIVER or "psycopg").connect(url)
    parts = urlsplit(url)
    return importlib.import_module(DRIVER or "pymysql").connect(
        host=parts.hostname,
        port=parts.port,
        user=parts.username,
        password=unquote(parts.password or ""),
        database=parts.path[1:],
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


class Client:
    def __init__(self) -> None:
        self.lock_object: Any = None
        self.lease: Any = None
        self.connection: Any = None  # of the transactions
        self.begun = False
        self.jobs: Any = None
        self.runs: Any = queue.Queue()  # that have begun
        self.leave: Any = None  # an Event that ends the run

    def own(self, begin: bool = True) -> Any:
        self.connection = self.connection or connect()
        if MARIADB and begin and not self.begun:
            self.connection.begin()
        self.begun = True
        return self.connection

    def acquire(
        self,
        name: str,
        ttl: int,
        wait: Optional[int] = None,
        mode: str = "exclusive",
        permits: Optional[int] = None,
        note: Optional[str] = None,
        url: str = URL,
    ) -> Dict[str, Any]:
        self.lock_object = rowlock.lease(
            functools.partial(connect, url) if DRIVER else url, name, ttl=ttl / 1000, wait=None if wait is None else wait / 1000,
            shared=mode == "shared", permits=permits, note=note,
        )  # fmt: skip
        return self.again()

    def again(self) -> Dict[str, Any]:
        self.lease = self.lock_object.acquire()
        return {"token": self.lease.token}

    def check(self) -> Dict[str, Any]:
        self.lease.check()
        return {"remaining": int(self.lease.remaining() * 1000)}

    def lost(self, limit: int) -> Dict[str, Any]:
        return {"is": "lost"} if self.lease.lost.wait(limit / 1000) else {}

    def fence(self) -> None:
        self.lease.fence(self.own())

    def release(self) -> None:
        self.lease.release()

    def job(self, name: str, body: str, fresh: int = 0, **terms: Any) -> None:
        if fresh:
            self.jobs = rowlock.Jobs(connect if DRIVER else URL)
        for key in {"ttl", "backoff", "max_run"} & set(terms):
            terms[key] /= 1000

        @self.jobs.job(name, **terms)  # type: ignore[untyped-decorator]
        def work(run: rowlock.Run) -> None:
            run.note("37 mails")
            if body == "waits":
                leave = threading.Event()
                self.runs.put((run, leave))
                while not leave.wait(0.02):
                    run.check()
            if body == "fails":
                raise RuntimeError("no mail server")

    def due(self) -> Dict[str, Any]:
        return {"number": self.jobs.run_due()}

    def serve(self, grace: int = 60000) -> None:
        self.grace = grace / 1000
        self.jobs.start()

    def began(self, limit: int) -> Dict[str, Any]:
        run, self.leave = self.runs.get(timeout=limit / 1000)
        self.lease = run
        due = int(run.due.timestamp() * 1000)
        return {"token": run.token, "number": run.retry, "job": run.job, "due": due}

    def end(self) -> None:
        self.leave.set()

    def stop(self) -> None:
        self.jobs.stop(grace=self.grace)

    def lock(self, name: str, mode: str = "exclusive", wait: Optional[int] = None) -> None:
        timeout = None if wait is None else wait / 1000
        rowlock.lock(self.own(begin=False), name, shared=mode == "shared", timeout=timeout)

    def next(self, counter: str) -> Dict[str, Any]:
        return {"number": rowlock.next_number(self.own(), counter)}

    def refresh(
        self, name: str, age: int, wait: Optional[int] = None, load: str = "ok"
    ) -> Dict[str, Any]:
        connection = self.own()

        def work() -> None:
            if load == "fail":
                raise RuntimeError("the load failed")
            if load == "commit":
                connection.commit()

        timeout = None if wait is None else wait / 1000
        return {"loaded": rowlock.refresh(connection, name, age / 1000, work, timeout=timeout)}

    def execute(self, sql: str) -> None:
        with self.own().cursor() as cursor:
            cursor.execute(sql)

    def commit(self) -> None:
        self.begun = False
        self.connection.commit()

    def rollback(self) -> None:
        self.own(begin=False).rollback()
        self.begun = False


def say(answer: Dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


client = Client()
say({"is": "ok", "pid": os.getpid(), "program": os.path.basename(sys.argv[0])})
while line := sys.stdin.readline():
    command = json.loads(line)
    try:
        say({"is": "ok", **(getattr(client, command.pop("do"))(**command) or {})})
    except rowlock.Busy as error:
        say({"is": "busy", "holder": error.holder})
    except rowlock.Lost as error:
        say({"is": "lost", "text": str(error)})
    except rowlock.Unavailable as error:
        say({"is": "unavailable", "text": str(error)})
    except KeyboardInterrupt:
        say({"is": "cancelled"})
    except Exception as error:
        say({"is": "error", "text": str(error)})
os._exit(0)  # as if it were killed: a lease is not released
