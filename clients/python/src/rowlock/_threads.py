# SPDX-License-Identifier: Apache-2.0
"""Jobs of the blocking half: a thread for the loop, and one for each run."""

from __future__ import annotations

import inspect
import queue
import signal
import threading
from typing import Any, Callable, Optional, Tuple

from . import _core, _jobs
from ._blocking import BLOCKING, fence
from ._core import Event, finish
from ._session import REPLY, log


class Run(_jobs.Run):
    """A run of a job: what its function gets. `lost` is set when the lease is lost."""

    lost: threading.Event

    def fence(self, connection: Any) -> None:
        """Keeps the run's lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        fence(connection, self.name, self.token)


async def perform(job: _jobs.Job, run: Any) -> Tuple[str, str]:
    try:
        job.function(run)
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this
        return _jobs.result_of(error, run)
    return _jobs.result_of(None, run)


class Jobs(_jobs.Loop):
    """The jobs of this program: each due run is performed by one program of the farm.

    source: as for rowlock.lease(). limit: how many runs at once. on_event: as for rowlock.lease().
    """

    def __init__(
        self, source: Any, *, limit: int = 10, on_event: Optional[Callable[[Event], object]] = None
    ) -> None:
        super().__init__(BLOCKING, Run, source, perform, limit, on_event)
        self._thread: Optional[threading.Thread] = None

    def job(self, name: str, **terms: Any) -> Callable[[_jobs.F], _jobs.F]:
        """Decorates a function, which gets a Run.

        every: a period, such as "5m"; or cron: five fields or "@daily", in the time zone `zone`.
        ttl: seconds after which another node takes over from one that died. max_run: seconds after
        which run.check() raises Overrun. retry: how often a failed or lost run is repeated, after
        `backoff` seconds; None: once, if it was lost. missed: "once" or "skip". at_least: seconds
        for which the name stays taken. history: how many runs are kept. All nodes must pass the
        same.
        """
        of = _jobs.terms(**terms)

        def decorate(function: _jobs.F) -> _jobs.F:
            if inspect.iscoroutinefunction(function) or _core.is_generator_function(function):
                raise TypeError(f"{function!r} would run after its lease: use rowlock.aio.Jobs")
            return self.add(name, function, of)

        return decorate

    def start(self) -> None:
        """Performs the jobs in threads, until stop()."""
        if self._thread:
            raise RuntimeError("the jobs have been started already")
        self.stopping = False
        self._thread = threading.Thread(target=self._serve, name="rowlock jobs", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            finish(self.serve())
        except Exception:
            log.exception("the jobs have ended")

    def stop(self, *, grace: float = 10.0) -> None:
        """Claims no more; waits for the runs, for `grace` seconds; ends the others as lost."""
        self.stopping = True
        self.wake()
        if self._thread:
            self._thread.join(REPLY)  # it may be claiming a run
        finish(self.stop_runs(grace))
        self._thread = None

    def run(self, *, grace: float = 10.0) -> None:
        """Performs the jobs until SIGTERM or SIGINT. Call it in the main thread."""
        self.stopping = False
        asked: queue.SimpleQueue[None] = queue.SimpleQueue()

        def end(*_: object) -> None:  # maybe inside of the event's wait(), whose lock is held then
            self.stopping = True
            asked.put(None)

        def wake() -> None:
            asked.get()
            self.wake()

        before = [(number, signal.signal(number, end)) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            threading.Thread(target=wake, name="rowlock signals", daemon=True).start()
            finish(self.serve())
        finally:
            self.stop(grace=grace)
            for number, handler in before:
                signal.signal(number, handler)
            asked.put(None)

    def run_due(self) -> int:
        """Performs what is due now, and returns how many runs that were."""
        return finish(self.once())

    def __enter__(self) -> Jobs:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
