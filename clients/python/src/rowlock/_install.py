# SPDX-License-Identifier: Apache-2.0
"""Installs rowlock's schema: by the text of `rowlock schema print`, which the package contains."""

from __future__ import annotations

import pkgutil
import re
from typing import Any, List, Optional

from ._blocking import BLOCKING
from ._core import finish
from ._engine import FAKE, INSTALL, MARIADB, POSTGRESQL, Row, number_of, text_of
from ._errors import NotInstalled, RowlockError, judged
from ._session import REPLY, Session

POSTGRESQL.update({
    "server": "SELECT pg_catalog.version()",
    "version": "SELECT version FROM rowlock.meta",
    "install": INSTALL,
})  # fmt: skip
MARIADB.update({
    "server": "SELECT VERSION()",
    "version": "SELECT version FROM rowlock_meta WHERE technique <> 'plain'",
    "install": INSTALL,
})  # fmt: skip
FAKE.update(server="server", version="version", install=INSTALL)
DIALECTS = ("postgresql", "mariadb", "mysql")
LIMIT = 300.0  # seconds for the text, which first waits for another installer
GRANTS = re.compile("^-- GRANTs.*^-- end of GRANTs\n", re.DOTALL | re.MULTILINE)
VERSION = re.compile("^-- rowlock's schema, version ([0-9]+)", re.MULTILINE)


def schema(dialect: str, role: Optional[str] = None) -> str:
    """The text by which install() installs: for an administrator, or a tool such as Flyway.

    dialect: postgresql, mariadb or mysql. role: another account, which gets the GRANTs to use
    rowlock; on MariaDB and MySQL also USER@HOST. Does not need a database.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"the dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}")
    text = packed(dialect)
    if role is None:
        return GRANTS.sub("", text)
    return re.sub(r"\bapplication\b", account(dialect, role), text)


def packed(name: str) -> str:
    try:
        return (pkgutil.get_data(__package__, f"schema/{name}.sql") or b"").decode()
    except OSError as error:
        raise RowlockError(
            "this package was built without the schema: run make client-schemas in rowlock's"
            " source and build it again; or run: rowlock schema install"
        ) from error


def account(dialect: str, role: str) -> str:
    user, at, host = role.partition("@")
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,62}", user):
        raise ValueError(f"{role!r} is not a plain name (letters, digits, _): edit the GRANTs")
    if at and (dialect == "postgresql" or not re.fullmatch("[A-Za-z0-9._%:-]+", host)):
        raise ValueError(f"{role!r} is no account of {dialect}: edit the GRANTs")
    return f"'{user}'@'{host}'" if at else user


def statements(dialect: str, text: str) -> List[str]:
    """Elsewhere than on PostgreSQL, by the rules of the client mariadb and src/driver.

    A statement ends with the delimiter, at the end of a line; a line DELIMITER x changes it; a line
    that begins with -- is a comment.
    """
    if dialect == "postgresql":
        return [text]
    found: List[str] = []
    lines: List[str] = []
    delimiter = ";"
    for line in text.splitlines():
        if line.startswith("DELIMITER "):
            delimiter = line[len("DELIMITER ") :]
        elif line.endswith(delimiter) and not line.startswith("--"):
            found.append("\n".join([*lines, line[: -len(delimiter)]]))
            lines = []
        elif (line or lines) and not line.startswith("--"):
            lines.append(line)
    return found


def dialect_of(server: str) -> str:
    if server.startswith("PostgreSQL") and "-YB-" not in server:
        return "postgresql"
    if server.startswith("PostgreSQL"):
        raise RowlockError("on YugabyteDB run: rowlock schema install")
    return "mariadb" if "MariaDB" in server else "mysql"


async def ask(source: Any, limit: float, which: str, *values: Any) -> Row:
    session = Session(BLOCKING, source, "the schema")
    try:
        return await session.call(limit, which, *values)
    finally:
        await session.close()


async def is_current(source: Any, wanted: int) -> bool:
    try:
        row = await ask(source, REPLY, "version")
    except NotInstalled:
        return False
    found = (number_of(row[0]) if row else None) or 0  # 0: an install was interrupted
    # each version of the schema serves the packages of the version before, and the reverse
    oldest, newest = max(wanted - 1, 1), wanted + 1
    if found == 0 or oldest <= found <= newest:
        return found != 0
    advice = "run: rowlock schema upgrade" if found < wanted else "use a newer package"
    raise RowlockError(
        f"the schema is version {found}, this package works with {oldest} to {newest}; {advice}"
    )


async def bring(source: Any, dialect: str) -> bool:
    text = schema(dialect)
    found = VERSION.search(text)
    assert found
    wanted = int(found[1])
    if await is_current(source, wanted):
        return False
    try:
        await ask(source, LIMIT, "install", *statements(dialect, text))
    except Exception:
        if not await is_current(source, wanted):
            raise
        return False  # another program installed it at the same time
    return True


def install(source: Any) -> bool:
    """Creates rowlock's tables and functions; returns False if they exist already.

    source: as for lease(); its account becomes their owner, and needs no GRANTs. Any number of
    programs may install at the same time. Blocks until another one has, and for 5 minutes at most.
    A schema of the version before this package's, or of the next one, stays as it is. Raises
    RowlockError if it is of any other version, or if the account may not create it.
    """
    server = text_of(finish(ask(source, REPLY, "server"))[0]) or ""
    if server == "rowlock.testing":
        return False
    dialect = dialect_of(server)
    try:
        return finish(bring(source, dialect))
    except Exception as error:
        if judged(error) != "refused":
            raise
        needs = text_of(finish(ask(source, REPLY, "install", packed(f"{dialect}-needs")))[0])
        raise RowlockError(
            f"could not install rowlock's schema: {error}; {needs};"
            f" or run what this prints: python -m rowlock install --print {dialect} --role ACCOUNT"
        ) from error
