# SPDX-License-Identifier: Apache-2.0
"""The blocking half: a lease is renewed by a thread, and watched by another."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Coroutine, Optional, Sequence, Type, TypeVar, Union, cast
from urllib.parse import unquote, urlsplit

from . import _core
from ._core import finish
from ._engine import MARIADB, POSTGRESQL, Connect, Row, driver_of, engine_of, target


def by_url(source: str) -> Connect:
    engine, url = target(source)
    if engine is POSTGRESQL:
        module = driver_of("PostgreSQL", "psycopg", "psycopg2")
        return lambda: module.connect(url)
    module = driver_of("MariaDB", "pymysql")
    parts = urlsplit(url)
    return lambda: module.connect(
        host=parts.hostname or "localhost",
        port=parts.port or 3306,
        user=unquote(parts.username or "") or None,
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")),
    )


async def opened(connect: Connect) -> Any:
    connection = connect()
    if engine_of(connection) is MARIADB:
        connection.autocommit(True)
    else:
        connection.autocommit = True
    return connection


async def run(connection: Any, statement: str, values: Sequence[Any]) -> Row:
    with connection.cursor() as cursor:
        cursor.execute(statement, tuple(values))
        row: Optional[Row] = cursor.fetchone() if cursor.description else None
        while hasattr(cursor, "nextset") and engine_of(connection) is MARIADB and cursor.nextset():
            pass  # the end of the CALL
        if "@rowlock_answer" in statement:
            cursor.execute("SELECT @rowlock_answer")
            row = cursor.fetchone()
        return row or ()


async def shut(connection: Any) -> None:
    connection.close()


async def to_its_end(work: Coroutine[Any, Any, None], _: float) -> None:
    await work  # a second ^C ends it


async def wait(event: threading.Event, limit: float) -> None:
    event.wait(limit)


def start(task: Coroutine[Any, Any, None], name: str) -> threading.Thread:
    thread = threading.Thread(target=finish, args=(task,), name=name, daemon=True)
    thread.start()
    return thread


async def ended(thread: threading.Thread, limit: float) -> bool:
    thread.join(limit)
    return not thread.is_alive()


BLOCKING = _core.Half(by_url, opened, run, shut, to_its_end, threading.Event, wait, start, ended)


def driver_connection(connection: Any) -> Any:
    """The driver's connection inside a SQLAlchemy Session or Connection, or a Django connection."""
    if callable(getattr(connection, "connection", None)):  # a Session
        connection = connection.connection()
    if hasattr(connection, "ensure_connection"):  # Django
        connection.ensure_connection()
    for attribute in ("connection", "driver_connection"):
        if type(connection).__module__.partition(".")[0] in ("sqlalchemy", "django"):
            connection = getattr(connection, attribute, connection)
    return connection


def lock(
    connection: Any, name: str, *, shared: bool = False, timeout: Optional[float] = None
) -> None:
    """Locks a name until the connection's transaction ends.

    timeout: seconds; 0 does not wait; None: as long as the server's settings allow. Raises Busy.
    MariaDB: if no transaction is open it begins one, at READ COMMITTED.
    """
    finish(_core.lock(run, driver_connection(connection), name, shared, timeout))


def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    finish(_core.within(run, driver_connection(connection), name, "fence", name, token))


def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    return finish(_core.next_number(run, driver_connection(connection), counter))


def refresh(
    connection: Any, name: str, max_age: Optional[float], load: Callable[[], object], *,
    timeout: Optional[float] = None,
) -> bool:  # fmt: skip
    """Calls load() if the data of that name is older than max_age seconds; None: fresh at any age.

    load writes the new data, in the connection's transaction: of all callers one does, the others
    wait until its commit. Returns whether load was called. After an error, of load too, roll back.
    """

    async def work() -> None:
        load()

    found = driver_connection(connection)
    return finish(_core.refresh(run, found, name, max_age, work, timeout))


class Lease(_core.Held):
    """A lease that is held: use lease(). A context manager."""

    lost: threading.Event

    def fence(self, connection: Any) -> None:
        """Keeps the lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        fence(connection, self.name, self.token)

    def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before."""
        finish(self._leave(False))

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        finish(self._leave(kind is not None))


def lease(
    source: Union[str, Connect],
    name: str,
    *,
    ttl: float = 30.0,
    wait: Optional[float] = None,
    shared: bool = False,
    permits: Optional[int] = None,
    note: Optional[str] = None,
) -> Lease:
    """Acquires a lease of a name; waits in the queue for `wait` seconds, None: without limit.

    source: a URL (postgresql://, mariadb://), or a function that opens a connection of a driver.
    permits: how many holders the name may have. Raises Busy.
    """
    session = _core.Session(BLOCKING, source, name)
    return finish(_core.acquire(Lease, session, ttl, wait, shared, permits, note))


F = TypeVar("F", bound=Callable[..., Any])


def exclusive_run(
    source: Union[str, Connect], name: str, *, ttl: float = 30.0, skip: bool = False
) -> Callable[[F], F]:
    """Decorates a function: it runs under the lease. skip: returns None while the name is held."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run_it(*args: Any, **kwargs: Any) -> Any:
            session = _core.Session(BLOCKING, source, name)
            held = finish(_core.acquire_or_skip(Lease, session, ttl, skip))
            if held is None:
                return None
            with held:
                return function(*args, **kwargs)

        return cast(F, run_it)

    return decorate
