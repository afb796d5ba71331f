# SPDX-License-Identifier: Apache-2.0
"""manage.py rowlock install | ls | jobs | run."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, List, Sequence

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections

from rowlock import NotInstalled, RowlockError, install
from rowlock._errors import translated
from rowlock.django import jobs, options

HOLDERS = """
SELECT name, 'held' AS state, kind, mode, since, host, pid, program, note, 0 AS place
  FROM {0}holders
UNION ALL
SELECT name, 'waits', kind, mode, since, host, pid, program, note, place
  FROM {0}waiters
 ORDER BY name, state, place"""
JOBS = """
SELECT name, state, due, node, started, finished, {1}, schedule, paused
  FROM {0}jobs
 ORDER BY name"""

MISSING = "no schema of rowlock here; run: manage.py migrate, or manage.py rowlock install"


def shown(value: Any) -> str:
    """Text that others wrote, without what a terminal would obey."""
    if isinstance(value, datetime):  # MariaDB's views have UTC, without a zone
        at = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "-" if value is None else "".join(escaped)


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(headings), *([shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines
    )


class Command(BaseCommand):
    help = "Installs rowlock, shows its locks and jobs, and performs the jobs of all apps."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb, what in (
            ("install", "create rowlock's tables and functions, if missing; migrate does so too"),
            ("ls", "list holders and waiters"),
            ("jobs", "list jobs: when each is due, and how its last run ended"),
        ):
            verbs.add_parser(verb, help=what).add_argument(
                "--database", default=options()["DATABASE"], help="its alias; default: %(default)s"
            )
        run = verbs.add_parser("run", help="perform the jobs of all apps, until SIGTERM")
        run.add_argument(
            "--grace", type=float, default=10.0,
            help="seconds that a run has to end after SIGTERM; default: %(default)s",
        )  # fmt: skip

    def handle(self, *_: Any, verb: str, **given: Any) -> None:
        try:
            if verb == "run":
                self.run(given["grace"])
            else:
                self.stdout.write(getattr(self, verb)(connections[given["database"]]))
        except (RowlockError, DatabaseError) as error:
            driver = error.__cause__ if isinstance(error, DatabaseError) else None
            meaning = translated(driver or error, "", None)
            if isinstance(meaning, NotInstalled):
                meaning = RowlockError(MISSING)
            raise CommandError(str(meaning)) from error

    def run(self, grace: float) -> None:
        found = jobs()
        if not found.jobs:
            raise CommandError("no app has a jobs.py that declares a job by @rowlock.django.job")
        self.stdout.write(f"performs {', '.join(map(shown, found.jobs))}")
        self.stdout.flush()
        found.run(grace=grace)

    def install(self, connection: Any) -> str:
        return "rowlock is installed" if install(connection) else "rowlock is installed already"

    def ls(self, connection: Any) -> str:
        def row(name: Any, state: Any, kind: Any, mode: Any, since: Any, *rest: Any) -> List[Any]:
            host, pid, program, note, place = rest
            who = " ".join(shown(part) for part in (host, pid, program) if part is not None)
            state = f"#{place}" if place else state
            return [name, state, kind, mode, since, who or None, note]

        headings = ("NAME", "STATE", "KIND", "MODE", "SINCE", "WHO", "NOTE")
        return table(headings, [row(*each) for each in self.rows(connection, HOLDERS)])

    def jobs(self, connection: Any) -> str:
        headings = ("NAME", "STATE", "NEXT", "NODE", "STARTED", "ENDED", "EXIT", "SCHEDULE",
                    "PAUSED")  # fmt: skip
        return table(headings, self.rows(connection, JOBS))

    def rows(self, connection: Any, statement: str) -> List[Sequence[Any]]:
        prefix = {"postgresql": "rowlock.", "mysql": "rowlock_"}.get(connection.vendor)
        if prefix is None:
            raise CommandError(f"on {connection.display_name} use the command rowlock")
        with connection.cursor() as cursor:
            cursor.execute(statement.format(prefix, connection.ops.quote_name("exit")))
            found: List[Sequence[Any]] = cursor.fetchall()
        return found
