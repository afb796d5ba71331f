# SPDX-License-Identifier: Apache-2.0
"""Jobs: the loop that claims due runs, and a run, once for both halves.

The server decides what is due, by its clock, and how long to pause before the next question. A run
is the lease of job:NAME, whose end is a call that also records the result.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import traceback
import uuid
from datetime import datetime, timezone
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

from . import _core
from ._core import Event, now, this_process
from ._engine import FAKE, MARIADB, POSTGRESQL, T, number_of, text_of
from ._errors import Busy, Lost, RowlockError, Unavailable, passes
from ._lease import GIVE_UP, Handle, State, pause_after
from ._session import REPLY, Half, Session, log

POSTGRESQL.update({
    # job, schedule, owner, ttl_ms, zone, retry, backoff_ms, missed, at_least_ms, history, host, pid,
    # program, note
    "claim": "SELECT token, (extract(epoch FROM due) * 1000)::bigint, repeats, state,"
    " (extract(epoch FROM pause) * 1000)::bigint, lost, former_schedule"
    " FROM rowlock.claim(%s::text, %s::text, %s::text, %s::bigint * interval '1 ms', %s::text,"
    " %s::integer, %s::bigint * interval '1 ms', %s::text, %s::bigint * interval '1 ms',"
    " %s::integer, %s::text, %s::bigint, %s::text, %s::text)",
    # token, outcome, output; it waits as release does
    "finish": "SELECT CASE WHEN pg_catalog.set_config('lock_timeout', '1s', true) = '1s'"
    " THEN rowlock.finish(%s::bigint, %s::text, %s::text)::integer END",
})  # fmt: skip
MARIADB.update({
    "claim": f"CALL rowlock_claim_row({T}, {T}, {T}, %s, {T}, %s, %s, {T}, %s, %s, {T}, %s, {T},"
    f" {T})",
    "before finish": "SET innodb_lock_wait_timeout = 1",
    "finish": f"CALL rowlock_finish(%s, {T}, {T}, NULL, @rowlock_answer)",
})  # fmt: skip
FAKE.update(claim="claim", finish="finish")
AGAIN = 60.0  # after an error of one job
OUTPUT = 2048  # bytes that the server keeps
F = TypeVar("F", bound=Callable[..., Any])


class Overrun(RowlockError):
    """The run has exceeded its max_run."""


class Terms(NamedTuple):
    """Of a job. Times are in seconds."""

    schedule: str
    zone: str
    ttl: float
    max_run: Optional[float]
    retry: Optional[int]
    backoff: float
    missed: str
    at_least: float
    history: int
    note: Optional[str]


def terms(
    *, every: Optional[str] = None, cron: Optional[str] = None, zone: str = "UTC",
    ttl: float = 30.0, max_run: Optional[float] = None, retry: Optional[int] = None,
    backoff: float = 10.0, missed: str = "once", at_least: float = 0.0, history: int = 100,
    note: Optional[str] = None,
) -> Terms:  # fmt: skip
    if (every is None) == (cron is None):
        raise ValueError('pass every="5m" or cron="0 3 * * *"')
    if missed not in ("once", "skip"):
        raise ValueError(f'missed must be "once" or "skip", not {missed!r}')
    for what, value in (("retry", retry), ("history", history)):
        if value is not None and type(value) is not int:
            raise TypeError(f"{what} must be an int, not {value!r}")
    schedule = f"every {_core.text('every', every)}" if cron is None else _core.text("cron", cron)
    year = 366 * 86400.0
    return Terms(
        schedule, _core.text("zone", zone), _core.seconds("ttl", ttl, 1.0, _core.LONGEST_TTL),
        None if max_run is None else _core.seconds("max_run", max_run), retry,
        _core.seconds("backoff", backoff, 0, year), missed,
        _core.seconds("at_least", at_least, 0, year), history,
        None if note is None else _core.text("note", note),
    )  # fmt: skip


class Performance(State):
    """The lease of a run."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._patience = self.ttl  # for the result

    async def _send_ending(self, limit: float) -> None:
        """Sends the result, and again while the lease lasts. The server records it once."""
        job, failures = self.name[4:], 0
        while True:
            try:
                answer = await self._session.call(limit, *self.ending)
                break
            except (Unavailable, Busy) as error:
                over = self._taken or self.lost.is_set() or now() >= self._end
                if failures and over:
                    log.warning("the job %r: the result was not recorded: %s", job, error)
                    self._lost_by_now()
                    raise
                log.log(
                    logging.DEBUG if failures else logging.WARNING,
                    "the job %r: the result could not be recorded, and is sent again: %s", job, error,
                )  # fmt: skip
            await self.half.wait(self.half.event(), pause_after(failures))
            failures += 1
        if not number_of(answer[0]):
            self._lose(await self._how())


class Run(Handle):
    """A run of a job. `due` is its due time, `retry` the number of the retry."""

    def __init__(self, state: State, job: Job, due: datetime, retry: int) -> None:
        super().__init__(state)
        self.job, self.due, self.retry = job.name, due, retry
        self._until = now() + job.terms.max_run if job.terms.max_run else None
        self._notes: List[str] = []
        self._error = ""  # its first line, for the log

    def check(self) -> None:
        """Raises Lost if another node may run the job now, and Overrun after max_run."""
        super().check()
        if self._is_late():
            raise Overrun(f"the run of {self.job!r} has exceeded its max_run")

    def _is_late(self) -> bool:
        return self._until is not None and now() >= self._until

    def note(self, text: str) -> None:
        """Adds a line to what `rowlock jobs` shows of this run; the last 2,048 bytes are kept."""
        self._notes.append(_core.text("text", text))


class Job:
    """A job that this process performs."""

    def __init__(self, name: str, function: Callable[[Any], Any], of: Terms) -> None:
        self.name, self.function, self.terms = name, function, of
        self.owner = ""  # of a claim that may be repeated
        self.ask, self.running, self.answered = 0.0, False, False
        self.state: Any = None  # of its run, and the task of that
        self.task: Any = None
        self.former: Optional[str] = None  # another node's schedule, if that was reported


class Loop:
    """The jobs of a process: what both halves keep of them."""

    def __init__(
        self, half: Half, kind: Callable[[State, Job, datetime, int], Run], source: Any,
        perform: Callable[[Job, Run], Awaitable[Tuple[str, str]]], limit: int,
        on_event: Optional[Callable[[Event], object]],
    ) -> None:  # fmt: skip
        half.source(source)  # raises an error if it is none
        if type(limit) is not int or limit < 1:
            raise ValueError(f"limit must be an int of at least 1, not {limit!r}")
        self.half, self._kind, self._source, self._perform = half, kind, source, perform
        self._limit, self._on_event = limit, on_event
        self.jobs: Dict[str, Job] = {}
        self.stopping = False
        self._turn = threading.Lock()  # locked while a loop claims
        self._wake: Any = None

    def add(self, name: str, function: F, of: Terms) -> F:
        name = _core.text("name", name, 251)
        if name in self.jobs:
            raise ValueError(f"the job {name!r} is defined already")
        self.jobs[name] = Job(name, function, of)
        return function

    def wake(self) -> None:
        if self._wake:
            self._wake.set()

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[Session]:
        """The session that claims. A second loop would get the same run by the same owner."""
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("run(), start() or run_due() of these jobs has not ended")
        self._wake = self.half.event()
        session = Session(self.half, self._source, "jobs")
        try:
            yield session
        finally:
            await session.close()
            self._turn.release()

    async def serve(self) -> None:
        """Claims and starts runs until `stopping`."""
        failures = 0
        async with self._alone() as session:
            while not self.stopping:
                self._wake.clear()
                try:
                    await self._ask_all(session)
                    failures, pause = 0, self._pause()
                except Unavailable as error:
                    log.warning("jobs: %s", error)
                    pause = pause_after(failures)
                    failures += 1
                if not self.stopping:
                    await self.half.wait(self._wake, pause)

    async def once(self) -> int:
        """Performs what is due now; returns the number of runs."""
        started = 0
        async with self._alone() as session:
            try:
                for job in list(self.jobs.values()):
                    await self._until_fewer(self._limit)
                    if not job.running:
                        started += await self._ask(session, job)
            finally:
                await self._until_fewer(1)
        return started

    async def _until_fewer(self, runs: int) -> None:
        while len(self._running()) >= runs:
            self._wake.clear()
            if len(self._running()) >= runs:
                await self.half.wait(self._wake, AGAIN)

    async def stop_runs(self, grace: float) -> None:
        """Waits for the runs; then ends them as lost, so that another node may begin at once."""
        end = now() + grace
        ends = []
        for job in self._running():
            if not await self.half.ended(job.task, max(0.0, end - now())):
                ends.append(self.half.start(self._take_away(job.state), f"job {job.name}"))
        for task in ends:  # side by side: the database may be away
            await self.half.ended(task, max(0.0, end + GIVE_UP - now()))

    async def _take_away(self, state: State) -> None:
        ending = ("finish", state.token, "lost", "the program ended")
        await self.half.to_its_end(state.take_away("the program ends", *ending), GIVE_UP)

    def _running(self) -> List[Job]:
        return [job for job in self.jobs.values() if job.running]

    def _pause(self) -> float:
        if len(self._running()) >= self._limit:
            return AGAIN  # the end of a run wakes the loop
        asked = [job.ask for job in self.jobs.values() if not job.running]
        return max(0.0, min([*asked, now() + AGAIN]) - now())

    async def _ask_all(self, session: Session) -> None:
        for job in sorted(self.jobs.values(), key=lambda job: job.ask):  # so that each has its turn
            if self.stopping or len(self._running()) >= self._limit:
                break
            if not job.running and now() >= job.ask:
                await self._ask(session, job, again=True)

    async def _ask(self, session: Session, job: Job, again: bool = False) -> bool:
        """Claims and starts a run, if one is due. again: the caller asks again later."""
        try:
            return await self._claim(session, job)
        except Unavailable:
            raise
        except Exception as error:
            if not job.answered and not (again and passes(error)):  # wrong from the beginning
                *others, said = error.args or ("",)  # MariaDB's drivers have a number before it
                error.args = (*others, f"the job {job.name!r}: {said}")
                raise
            log.warning("the job %r: %s", job.name, error)
            job.ask = now() + AGAIN
            return False

    async def _claim(self, session: Session, job: Job) -> bool:
        of, sent = job.terms, now()
        job.owner = job.owner or uuid.uuid4().hex
        token, due, retry, _, pause, lost, former = await session.call(
            REPLY, "claim", job.name, of.schedule, job.owner, int(of.ttl * 1000), of.zone, of.retry,
            int(of.backoff * 1000), of.missed, int(of.at_least * 1000), of.history,
            *this_process(), of.note,
        )  # fmt: skip
        owner, job.owner, job.answered = job.owner, "", True
        job.ask = now() + (number_of(pause) or 0) / 1000
        if number_of(lost):
            log.warning("the job %r: the previous run, %s, was lost", job.name, lost)
        if former and text_of(former) != job.former:
            job.former = text_of(former)
            log.warning("the job %r: another node has the schedule %r", job.name, job.former)
        if token is None:
            return False
        lease = _core.Terms(
            f"job:{job.name}", of.ttl, None, "exclusive", None, of.note, self._on_event
        )
        own = Session(self.half, self._source, job.name)
        at = datetime.fromtimestamp((number_of(due) or 0) / 1000, timezone.utc)
        job.state = None
        try:
            state = job.state = Performance(own, owner, int(token), lease, sent)
            run = self._kind(state, job, at, number_of(retry) or 0)
            job.running = True
            job.task = self.half.start(self._carry_out(job, state, run), f"job {job.name}")
        except Exception as error:  # no more threads can be started
            job.running, ending = False, ("finish", int(token), "not started", str(error))
            await (job.state.leave(True, *ending) if job.state else session.call(REPLY, *ending))
            raise
        return True

    async def _carry_out(self, job: Job, state: State, run: Run) -> None:
        began = now()
        outcome, text = "lost", "the program ended"  # if this task is cancelled
        try:
            if state.remaining() <= 0:
                outcome, text = "not started", "the answer came too late"
            else:
                state._tell("acquired")
                outcome, text = await self._perform(job, run)
        finally:
            if state.lost.is_set():
                outcome = "lost"
            output = "\n".join([*run._notes, *([text] if text else [])]).replace("\0", "?")
            output = output.encode(errors="replace")[-OUTPUT:].decode(errors="ignore")
            log.log(
                logging.WARNING if outcome in ("failed", "timed out") else logging.DEBUG,
                "the job %r: %s after %.1f s%s", job.name, outcome, now() - began, run._error,
            )  # fmt: skip
            try:
                await state.leave(True, "finish", state.token, outcome, output)
            finally:
                job.running, job.ask = False, 0.0
                self.wake()


def result_of(error: Optional[BaseException], run: Run) -> Tuple[str, str]:
    """The outcome of a function that ended with the error, and the text of that."""
    if error is None:
        return ("timed out", "it exceeded max_run") if run._is_late() else ("done", "")
    line = traceback.format_exception_only(type(error), error)[0]  # even if its __str__ raises
    run._error = f": {line}".split("\n", 1)[0]
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, Lost) and error.name == run.name:
        return "lost", text
    return ("timed out" if run._is_late() else "failed"), text
