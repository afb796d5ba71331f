# SPDX-License-Identifier: Apache-2.0
"""rowlock as an app of Django: add "rowlock.django" to INSTALLED_APPS.

`manage.py migrate` installs the schema. An app declares its jobs in its module jobs.py, by @job, and
`manage.py rowlock run` performs them. The setting ROWLOCK is optional: DATABASE, the alias of the
database with the jobs, and LIMIT, how many runs a process performs at once.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Tuple

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.module_loading import autodiscover_modules

from .. import _jobs, _threads
from .._threads import Run

__all__ = ["Jobs", "Run", "job", "jobs"]


class Jobs(_threads.Jobs):
    """The jobs of a project. Each run closes the connections that its function has used."""

    def __init__(self, source: Any, **options: Any) -> None:
        super().__init__(source, **options)
        perform = self._perform

        async def perform_and_close(job: _jobs.Job, run: _jobs.Run) -> Tuple[str, str]:
            # A run has a thread of its own, as a request has. No later one would use its
            # connections, so CONN_MAX_AGE keeps none; one of Django's pool goes back to it.
            try:
                return await perform(job, run)
            finally:
                connections.close_all()

        self._perform = perform_and_close


def options() -> Dict[str, Any]:
    return {"DATABASE": DEFAULT_DB_ALIAS, "LIMIT": 10, **getattr(settings, "ROWLOCK", {})}


@functools.lru_cache(maxsize=None)
def declared() -> Jobs:
    return Jobs(connections[options()["DATABASE"]], limit=options()["LIMIT"])


def job(name: str, **terms: Any) -> Callable[[_jobs.F], _jobs.F]:
    """Declares a function in an app's jobs.py as a job; terms: those of rowlock.Jobs.job().

    The function gets a Run. It remains a function that can be called. A name may be declared once
    in a project: then raises ValueError, as for wrong terms.
    """
    return declared().job(name, **terms)


def jobs() -> Jobs:
    """The jobs of all installed apps; imports the module jobs of each one. Needs django.setup()."""
    autodiscover_modules("jobs")
    return declared()
