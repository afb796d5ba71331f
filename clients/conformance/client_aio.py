# SPDX-License-Identifier: Apache-2.0
"""client_aio.py URL [DRIVER]: that of the asyncio half in Python: client.py, on an event loop."""

import asyncio
import functools
import importlib
import json
import os
import signal
import sys
from typing import Any, Dict, Optional

import rowlock
from rowlock import aio

URL = sys.argv[1]
DRIVER = "".join(sys.argv[2:3])


async def connect(url: str = URL) -> Any:
    module = importlib.import_module(DRIVER or "psycopg")
    return await getattr(module, "AsyncConnection", module).connect(url)


class Client:
    def __init__(self) -> None:
        self.lock_object: Any = None
        self.lease: Any = None
        self.connection: Any = None  # of the transactions
        self.jobs: Any = None
        self.loop: Any = None  # the task of the jobs
        self.runs: Any = asyncio.Queue()  # that have begun
        self.leave: Any = None  # an Event that ends the run

    async def own(self) -> Any:
        if self.connection is None:
            self.connection = await connect()
        if DRIVER == "asyncpg" and not self.connection.is_in_transaction():
            await self.connection.execute("BEGIN")
        return self.connection

    async def acquire(
        self,
        name: str,
        ttl: int,
        wait: Optional[int] = None,
        mode: str = "exclusive",
        permits: Optional[int] = None,
        note: Optional[str] = None,
        url: str = URL,
    ) -> Dict[str, Any]:
        self.lock_object = aio.lease(
            functools.partial(connect, url) if DRIVER else url, name, ttl=ttl / 1000, wait=None if wait is None else wait / 1000,
            shared=mode == "shared", permits=permits, note=note,
        )  # fmt: skip
        return await self.again()

    async def again(self) -> Dict[str, Any]:
        self.lease = await self.lock_object
        return {"token": self.lease.token}

    async def check(self) -> Dict[str, Any]:
        self.lease.check()
        return {"remaining": int(self.lease.remaining() * 1000)}

    async def lost(self, limit: int) -> Dict[str, Any]:
        try:
            await asyncio.wait_for(self.lease.lost.wait(), limit / 1000)
        except asyncio.TimeoutError:
            return {}
        return {"is": "lost"}

    async def fence(self) -> None:
        await self.lease.fence(await self.own())

    async def release(self) -> None:
        await self.lease.release()

    async def job(self, name: str, body: str, fresh: int = 0, **terms: Any) -> None:
        if fresh:
            self.jobs = aio.Jobs(connect if DRIVER else URL)
        for key in {"ttl", "backoff", "max_run"} & set(terms):
            terms[key] /= 1000

        @self.jobs.job(name, **terms)  # type: ignore[untyped-decorator]
        async def work(run: aio.Run) -> None:
            run.note("37 mails")
            if body == "waits":
                leave = asyncio.Event()
                self.runs.put_nowait((run, leave))
                await leave.wait()
            if body == "fails":
                raise RuntimeError("no mail server")

    async def due(self) -> Dict[str, Any]:
        return {"number": await self.jobs.run_due()}

    async def serve(self, grace: int = 60000) -> None:
        self.loop = asyncio.ensure_future(self.jobs.run(grace=grace / 1000))

    async def began(self, limit: int) -> Dict[str, Any]:
        run, self.leave = await asyncio.wait_for(self.runs.get(), limit / 1000)
        self.lease = run
        due = int(run.due.timestamp() * 1000)
        return {"token": run.token, "number": run.retry, "job": run.job, "due": due}

    async def end(self) -> None:
        self.leave.set()

    async def stop(self) -> None:
        self.loop.cancel()
        await asyncio.wait({self.loop})

    async def lock(self, name: str, mode: str = "exclusive", wait: Optional[int] = None) -> None:
        timeout = None if wait is None else wait / 1000
        await aio.lock(await self.own(), name, shared=mode == "shared", timeout=timeout)

    async def next(self, counter: str) -> Dict[str, Any]:
        return {"number": await aio.next_number(await self.own(), counter)}

    async def refresh(
        self, name: str, age: int, wait: Optional[int] = None, load: str = "ok"
    ) -> Dict[str, Any]:
        connection = await self.own()

        async def work() -> None:
            if load == "fail":
                raise RuntimeError("the load failed")
            if load == "commit":
                await self.commit()

        timeout = None if wait is None else wait / 1000
        return {"loaded": await aio.refresh(connection, name, age / 1000, work, timeout=timeout)}

    async def commit(self) -> None:
        await self.connection.execute("COMMIT")

    async def rollback(self) -> None:
        await (await self.own()).execute("ROLLBACK")


async def answer(client: Client, command: Dict[str, Any]) -> Dict[str, Any]:
    call = asyncio.ensure_future(getattr(client, command.pop("do"))(**command))
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, call.cancel)
    try:
        return {"is": "ok", **(await call or {})}
    except rowlock.Busy as error:
        return {"is": "busy", "holder": error.holder}
    except rowlock.Lost as error:
        return {"is": "lost", "text": str(error)}
    except rowlock.Unavailable as error:
        return {"is": "unavailable", "text": str(error)}
    except asyncio.CancelledError:
        return {"is": "cancelled"}
    except Exception as error:
        return {"is": "error", "text": str(error)}


def say(what: Dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


async def main() -> None:
    client, loop = Client(), asyncio.get_running_loop()
    say({"is": "ok", "pid": os.getpid(), "program": os.path.basename(sys.argv[0])})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        say(await answer(client, json.loads(line)))
    os._exit(0)  # as if it were killed: a lease is not released


asyncio.run(main())
