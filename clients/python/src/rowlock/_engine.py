# SPDX-License-Identifier: Apache-2.0
"""What differs between the engines: the statements, and what a driver's connection is."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Callable, Dict, Tuple

from ._errors import RowlockError


Engine = Dict[str, str]  # its statements; %s is the placeholder of all drivers here but asyncpg
POSTGRESQL: Engine = {
    # name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
    "request": "SELECT token, ticket, place, holder FROM rowlock.request(%s::text,"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint * interval '1 ms', %s::text,"
    " %s::integer, %s::text, %s::bigint, %s::text, %s::text)",
    "renew": "SELECT rowlock.renew(%s::bigint, %s::bigint * interval '1 ms')",  # token, ttl_ms
    "cancel": "SELECT rowlock.cancel(%s::text, %s::text)",  # name, owner
    "release": "SELECT rowlock.release(%s::bigint)",  # token
    "fence": "SELECT rowlock.fence(%s::text, %s::bigint)",  # name, token
    "next": "SELECT rowlock.next(%s::text)",  # counter
    # name, max_age_ms, wait_ms, host, pid, program
    "refresh": "SELECT rowlock.refresh(%s::text, %s::bigint * interval '1 ms',"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint, %s::text)",
    "refreshed": "SELECT rowlock.refreshed(%s::text, %s::bigint)",  # name, version
    "holder": "SELECT rowlock.holder(%s::text)",  # name
}
MARIADB: Engine = {
    "request": "CALL rowlock_request_row(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
    "renew": "CALL rowlock_renew(%s, %s)",
    "cancel": "CALL rowlock_cancel(%s, %s, @rowlock_answer)",
    "release": "CALL rowlock_release(%s, @rowlock_answer)",
    "fence": "CALL rowlock_fence(%s, %s)",
    "next": "CALL rowlock_next(%s, @rowlock_answer)",
    "refresh": "CALL rowlock_refresh(%s, %s, %s, %s, %s, %s, @rowlock_answer)",
    "refreshed": "CALL rowlock_refreshed(%s, %s)",
    "holder": "CALL rowlock_describe_holder(%s, @rowlock_answer)",
}
DRIVERS = dict.fromkeys(("psycopg", "psycopg2", "asyncpg"), POSTGRESQL)
DRIVERS.update(dict.fromkeys(("pymysql", "MySQLdb"), MARIADB))
Row = Tuple[Any, ...]
Connect = Callable[[], Any]


def engine_of(connection: Any) -> Engine:
    for kind in type(connection).__mro__:
        engine = DRIVERS.get(kind.__module__.partition(".")[0])
        if engine:
            return engine
    raise RowlockError(
        f"{type(connection).__module__} is not a driver that rowlock knows (psycopg, psycopg2,"
        " PyMySQL, mysqlclient; asyncpg); on another database use the command rowlock"
    )


def driver_of(engine: str, *names: str) -> Any:
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise RowlockError(f"no driver for {engine} is installed: pip install {names[0]}")


def target(source: str) -> Tuple[Engine, str]:
    """The engine of a URL, and the URL without SQLAlchemy's +driver."""
    scheme = source.partition(":")[0].partition("+")[0]
    if scheme not in ("postgresql", "postgres", "mariadb", "mysql"):
        raise RowlockError(f"no URL of PostgreSQL or MariaDB: {scheme}")  # the rest may be secret
    engine = POSTGRESQL if scheme.startswith("postgres") else MARIADB
    if engine is MARIADB and "?" in source:
        raise RowlockError("here a URL of MariaDB has no options: pass a function that connects")
    return engine, scheme + source[source.index(":") :]
