# SPDX-License-Identifier: Apache-2.0
"""Adapters to drivers, pools and frameworks: where sessions come from, and how one is called.

A pool is known by its class's package and by its methods, so that none is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import socket
from functools import partial
from typing import Any, Awaitable, Callable, Dict, NamedTuple, Optional, Sequence, Tuple, cast
from urllib.parse import unquote, urlsplit

from ._engine import FAKE, INSTALL, MARIADB, POSTGRESQL, Engine, Row, driver_name, driver_of
from ._engine import engine_of, number_of, text_of, values_for
from ._errors import RowlockError

Run = Callable[[Any, str, Sequence[Any]], Awaitable[Row]]


class Source(NamedTuple):
    """Where sessions come from."""

    open: Callable[[float], Awaitable[Any]]  # in so many seconds: a connection, or what wraps one
    close: Callable[[Any, bool], Awaitable[None]]  # ends it, or gives it back; True: it is broken
    pool: object  # that lends them; None: each is a session of its own


def driver_connection(handle: Any) -> Any:
    """The driver's connection inside one of SQLAlchemy's, or of Django's."""
    for attribute in ("driver_connection", "connection", "driver_connection"):
        if type(handle).__module__.partition(".")[0] in ("sqlalchemy", "django"):
            handle = getattr(handle, attribute, handle)
    return handle


def pid_of(connection: Any) -> Optional[int]:
    """The number that the driver has for its session, which is not the server's behind a pooler."""
    for name in ("get_server_pid", "get_backend_pid", "thread_id"):  # asyncpg, psycopg2, MariaDB's
        if callable(getattr(connection, name, None)):
            return number_of(getattr(connection, name)())
    return number_of(getattr(getattr(connection, "info", None), "backend_pid", None))


async def ready(run: Run, connection: Any, borrowed: bool) -> Callable[[], Awaitable[None]]:
    """Puts a connection into autocommit mode; returns what makes it as it was."""
    engine, encoding, settings = engine_of(connection), "UTF8", ""
    if engine is MARIADB:
        was = connection.get_autocommit()
        await autocommit(connection, True)
        if borrowed:  # the procedures set the isolation of the session
            of_maria = "MariaDB" in str(connection.get_server_info())
            level = "tx_isolation" if of_maria else "transaction_isolation"
            row = await run(connection, f"SELECT @@{level}, @@innodb_lock_wait_timeout", ())
            limit = number_of(row[1])
            settings = f"SET {level} = '{text_of(row[0])}', innodb_lock_wait_timeout = {limit}"
    elif engine is POSTGRESQL and driver_name(connection) != "asyncpg":
        await done(connection.rollback())  # of what the application's function has begun
        was = connection.autocommit
        await autocommit(connection, True)
        encoding = connection.info.parameter_status("client_encoding")
        if encoding != "UTF8":
            await encode(run, connection, "UTF8")
    else:
        return nothing

    async def restore() -> None:
        if encoding != "UTF8":
            await encode(run, connection, encoding)
        if settings:
            await run(connection, settings, ())
        await autocommit(connection, was)

    return restore


async def encode(run: Run, connection: Any, encoding: str) -> None:
    if hasattr(connection, "set_client_encoding"):  # of psycopg2
        connection.set_client_encoding(encoding)
    else:
        await run(connection, f"SET client_encoding TO '{encoding}'", ())


async def autocommit(connection: Any, on: bool) -> None:
    set_it = getattr(connection, "set_autocommit", None) or getattr(connection, "autocommit")
    if callable(set_it):
        await done(set_it(on))
    else:
        connection.autocommit = on


async def nothing() -> None:
    pass


async def done(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


# ---- URLs: an error quotes nothing of one, for what is taken for its host may be its password

HOST = r"(?:\[[^][@]*\]|[^][@:,/?#]*)(?::\d*)?"
BEGINNING = re.compile(rf"\w+://(?:[^@/]*@)?{HOST}(?:,{HOST})*(?:[/?]|$)")


def target(url: str) -> Tuple[Engine, str]:
    """The engine of a URL, and the URL without SQLAlchemy's +driver."""
    scheme, found, rest = url.partition("://")
    scheme = scheme.partition("+")[0]
    if not found or scheme not in ("postgresql", "postgres", "mariadb", "mysql"):
        raise RowlockError(
            "no URL of PostgreSQL or MariaDB: it begins with postgresql:// or mariadb://"
        )
    engine = POSTGRESQL if scheme.startswith("postgres") else MARIADB
    if engine is MARIADB and "?" in rest:
        raise RowlockError("here a URL of MariaDB has no options: pass a function that connects")
    return engine, f"{scheme}://{rest}"


def read(parse: Callable[[str], Any], url: str) -> Any:
    """What the driver's parser makes of a URL."""
    try:
        if BEGINNING.match(url):
            return parse(url)
    except Exception:
        pass
    raise RowlockError(
        "the URL cannot be read: look at its options, and write special characters of its user and"
        " its password as %XX"
    )


def options_of_mariadb(url: str) -> Dict[str, Any]:
    parts = urlsplit(url)
    return {
        "host": parts.hostname or "localhost",
        "port": parts.port or 3306,
        "user": unquote(parts.username or "") or None,
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.lstrip("/")),
    }


def parser_of(module: Any) -> Any:
    """That of a driver of PostgreSQL."""
    if module.__name__ == "psycopg":
        return importlib.import_module("psycopg.conninfo").conninfo_to_dict
    if module.__name__ == "psycopg2":
        return importlib.import_module("psycopg2.extensions").parse_dsn
    return lambda url: read(bool, f"asyncpg://{urlsplit(url).netloc}")  # which ends before a # or ?


# ---- for the blocking half


def connects(url: str) -> Callable[[], Any]:
    engine, url = target(url)
    if engine is POSTGRESQL:
        module = driver_of("PostgreSQL", "psycopg", "psycopg2")
        read(parser_of(module), url)
        return lambda: module.connect(url, fallback_application_name="rowlock/python")
    module = driver_of("MariaDB", "pymysql")
    options = read(options_of_mariadb, url)
    return lambda: module.connect(**options)


def source(of: Any) -> Source:
    """What lends or opens sessions."""
    package = type(of).__module__.partition(".")[0]
    if package == "psycopg_pool" and not is_async(of):
        return pool_of(lambda limit: of.getconn(timeout=limit), partial(end_psycopg, of), of)
    if package == "psycopg2" and hasattr(of, "getconn"):
        return pool_of(lambda _: of.getconn(), lambda c, broken: of.putconn(c, close=broken), of)
    if package == "sqlalchemy" and hasattr(of, "raw_connection") and not is_async(of):
        return pool_of(lambda _: of.raw_connection(), end_alchemy, of)
    if hasattr(of, "ensure_connection"):  # of Django, whose connections may come from a pool
        return pool_of(lambda _: copy_of_django(of), end_django, getattr(of, "pool", None))
    if isinstance(of, str):
        of = connects(of)
    elif not callable(of):
        raise no_source(of, "psycopg.connect(...), a pool of psycopg or psycopg2, an Engine of"
                        " SQLAlchemy, or a connection of Django")  # fmt: skip
    return pool_of(lambda _: of(), lambda connection, _: connection.close(), None)


def no_source(of: Any, others: str) -> TypeError:
    return TypeError(
        f"a lease needs a URL, a function that opens a connection, such as lambda: {others}, not"
        f" {type(of).__module__}.{type(of).__qualname__}"
    )


def is_async(pool: Any) -> bool:
    return type(pool).__name__.startswith("Async")


def pool_of(
    open_: Callable[[float], Any], close: Callable[[Any, bool], object], pool: object
) -> Source:
    async def opening(limit: float) -> Any:
        return open_(limit)

    async def closing(handle: Any, broken: bool) -> None:
        close(handle, broken)

    return Source(opening, closing, pool)


def end_psycopg(pool: Any, connection: Any, broken: bool) -> None:
    if broken:
        connection.close()
    pool.putconn(connection)


def end_alchemy(handle: Any, broken: bool) -> None:
    if broken:
        handle.invalidate()
    handle.close()


def copy_of_django(connection: Any) -> Any:
    copy = getattr(connection, "copy")()
    copy.inc_thread_sharing()  # each call is in a thread of its own
    copy.ensure_connection()
    return copy


def end_django(copy: Any, _: bool) -> None:
    copy.close()


def plain_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever the application's connection makes of them."""
    name = driver_name(connection)
    if name == "psycopg":
        rows = importlib.import_module("psycopg.rows").tuple_row
        return importlib.import_module(name).Cursor(connection, row_factory=rows)
    if name == "psycopg2":
        return importlib.import_module("psycopg2.extensions").cursor(connection)
    return importlib.import_module(name + ".cursors").Cursor(connection)


async def run(connection: Any, statement: str, values: Sequence[Any]) -> Row:
    engine = engine_of(connection)
    if engine is FAKE:
        return cast(Row, connection.execute(statement, *values))
    # a prepared statement would outlive the call, which a pooler may give another session
    options = {"prepare": False} if driver_name(connection) == "psycopg" else {}
    if statement == INSTALL:
        return script(connection, values, options)
    with plain_cursor(connection) as cursor:
        cursor.execute(statement, values_for(engine, values), **options)
        row: Optional[Row] = cursor.fetchone() if cursor.description else None
        while engine is MARIADB and cursor.nextset():
            pass  # the end of the CALL
        if "@rowlock_answer" in statement:
            cursor.execute("SELECT @rowlock_answer")
            row = cursor.fetchone()
        return row or ()


def script(connection: Any, statements: Sequence[str], options: Any) -> Row:
    """Without values, so that % is data; returns the last row.

    What a script that failed has set ends with the session.
    """
    try:
        with plain_cursor(connection) as cursor:
            for statement in statements:
                cursor.execute(statement, None, **options)
            return cast(Row, cursor.fetchone()) if cursor.description else ()
    except BaseException:
        connection.close()
        raise


def hang_up(connection: Any) -> None:
    """Ends a connection that another thread or task is using, whose call fails then.

    A driver's close() would wait for that call.
    """
    with contextlib.suppress(Exception):
        # PyMySQL has no fileno(); the number of a copy, so that no other file can have it
        holder = connection if hasattr(connection, "fileno") else connection._sock
        with socket.socket(fileno=os.dup(holder.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)


# ---- for asyncio


def connects_async(url: str) -> Callable[[], Any]:
    engine, url = target(url)
    if engine is MARIADB:
        raise RowlockError("asyncio works on PostgreSQL only; here use asyncio.to_thread()")
    module = driver_of("PostgreSQL with asyncio", "psycopg", "asyncpg")
    read(parser_of(module), url)
    name = "rowlock/python"
    if hasattr(module, "AsyncConnection"):
        return lambda: module.AsyncConnection.connect(url, fallback_application_name=name)
    named = {} if "application_name" in url else {"application_name": name}
    return lambda: module.connect(url, server_settings=named)


def async_source(of: Any) -> Source:
    """What lends or opens sessions, as in the blocking half."""
    package = type(of).__module__.partition(".")[0]
    if package == "psycopg_pool" and is_async(of):
        return Source(lambda limit: of.getconn(timeout=limit), partial(end_async_psycopg, of), of)
    if package == "asyncpg" and hasattr(of, "acquire"):
        return Source(lambda limit: of.acquire(timeout=limit), partial(end_asyncpg, of), of)
    if package == "sqlalchemy" and hasattr(of, "sync_engine"):
        return Source(partial(open_async_alchemy, of), end_async_alchemy, of)
    if isinstance(of, str):
        of = connects_async(of)
    elif not callable(of):
        raise no_source(of, "asyncpg.connect(...), a pool of asyncpg or psycopg, or an AsyncEngine"
                        " of SQLAlchemy")  # fmt: skip

    async def opening(_: float) -> Any:
        return await done(of())

    return Source(opening, end_async, None)


async def end_async(connection: Any, broken: bool) -> None:
    limit = {"timeout": 1} if driver_name(connection) == "asyncpg" else {}
    await done(connection.close(**limit))


async def end_async_psycopg(pool: Any, connection: Any, broken: bool) -> None:
    if broken:
        await connection.close()
    await pool.putconn(connection)


async def end_asyncpg(pool: Any, connection: Any, broken: bool) -> None:
    if broken:
        connection.terminate()
    await pool.release(connection)


async def open_async_alchemy(engine: Any, _: float) -> Any:
    connection = await engine.connect()
    return Borrowed(connection, (await connection.get_raw_connection()).driver_connection)


class Borrowed(NamedTuple):
    """An AsyncConnection of SQLAlchemy, which only asyncio can unwrap."""

    alchemy: Any
    driver_connection: Any


Borrowed.__module__ = "sqlalchemy"  # for driver_connection()


async def end_async_alchemy(handle: Borrowed, broken: bool) -> None:
    if broken:
        await handle.alchemy.invalidate()
    await handle.alchemy.close()


async def async_run(connection: Any, statement: str, values: Sequence[Any]) -> Row:
    row: Optional[Row]
    if engine_of(connection) is FAKE:
        row = connection.execute(statement, *values)
    elif driver_name(connection) == "asyncpg" and not values and not statement.startswith("SELECT"):
        await connection.execute(statement)
        row = None
    elif driver_name(connection) == "asyncpg":
        first, *others = statement.split("%s")
        numbered = (f"${place}{text}" for place, text in enumerate(others, 1))
        record = importlib.import_module("asyncpg").Record  # not what the application makes of it
        # without a name: a prepared statement would outlive the call, as in the blocking half
        prepared = await connection.prepare(
            first + "".join(numbered), name="", record_class=record
        )
        row = await prepared.fetchrow(*values)
    else:
        rows = importlib.import_module("psycopg.rows").tuple_row  # as in the blocking half
        kind = importlib.import_module("psycopg").AsyncCursor
        async with kind(connection, row_factory=rows) as cursor:
            await cursor.execute(statement, tuple(values), prepare=False)
            row = await cursor.fetchone() if cursor.description else None
    return row or ()
