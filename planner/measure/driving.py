"""One step of a load test: requests sent at their times, or so many at a time, while the client watches itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from planner.measure.asking import Asker
from planner.measure.clock import SPIN_S, sleep_until
from planner.planning.measuring.answers import INTERRUPTED, Answer, Step, rose
from planner.planning.measuring.asked import Asked

WATCH_S = 0.05
LEAD_S = 0.05
FAILURES_IN_A_ROW = 20
TURNED_AWAY = ("http_429", "http_503")


@dataclass(frozen=True, slots=True)
class Limits:
    """When a step ends early, as more is sent than the server can take: so many in flight, or one waiting so long for
    its first token."""

    most_in_flight: int
    patience_s: float


class Driver:
    """Runs the steps of one test. interrupt() ends the step under way."""

    def __init__(self, asker: Asker, limits: Limits, *, spin_s: float = SPIN_S) -> None:
        self.asker, self._limits, self._spin_s = asker, limits, spin_s
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self.interrupted = False
        self._stopping: asyncio.Event | None = None

    def interrupt(self) -> None:
        """Someone asked to stop."""
        self.interrupted = True
        if self._stopping is not None:
            self._stopping.set()

    async def open_loop(self, stream: Iterator[Asked], rate_rps: float, warm_up_s: float, judged_s: float) -> Step:
        """Sends every request at its time, however many are in flight. Sending goes on until those of the window have
        ended, for as long as the window at most, so that the last of them meet the same load as the first."""
        step = Step(rate_rps, None, warm_up_s, warm_up_s + judged_s)
        run = _Run(self, step)
        await run.during(self._send_all(run, stream, judged_s))
        step.saturated = step.saturated or rose(step)
        return step

    async def closed_loop(self, stream: Iterator[Asked], concurrency: int, warm_up_s: float, judged_s: float) -> Step:
        """Keeps so many requests in flight: the next is sent when one has ended."""
        step = Step(None, concurrency, warm_up_s, warm_up_s + judged_s)
        run = _Run(self, step)
        await run.during(self._workers(run, stream, concurrency, judged_s))
        return step

    async def _send_all(self, run: _Run, stream: Iterator[Asked], judged_s: float) -> None:
        step, last_s = run.step, 0.0
        for asked in stream:
            body = self.asker.body(asked, run.number)
            at_s = run.begun_s + asked.at_s
            while self._loop.time() < at_s and not run.over(asked.at_s, judged_s):
                await sleep_until(min(at_s, self._loop.time() + WATCH_S), self._spin_s)
            if run.over(asked.at_s, judged_s):
                break
            run.send(body, asked, asked.at_s)
            last_s = asked.at_s
        else:
            step.to_s = max(step.from_s, min(step.to_s, last_s + 1e-9))  # a trace has an end
        await run.judged_ended()

    async def _workers(self, run: _Run, stream: Iterator[Asked], concurrency: int, judged_s: float) -> None:
        async def work() -> None:
            for asked in stream:
                now_s = self._loop.time() - run.begun_s
                if run.over(now_s, judged_s):
                    return
                body = self.asker.body(asked, run.number)
                await run.send(body, asked, self._loop.time() - run.begun_s)

        await asyncio.gather(*(work() for _ in range(concurrency)))
        await run.judged_ended()

    def next_number(self) -> int:
        """Steps are numbered, so that their prompts differ."""
        self._number += 1
        return self._number

    def stopping(self) -> asyncio.Event:
        """Set when the step is to end; anew for each."""
        self._stopping = asyncio.Event()
        if self.interrupted:
            self._stopping.set()
        return self._stopping

    @property
    def limits(self) -> Limits:
        return self._limits


class _Run:
    """One step under way."""

    def __init__(self, driver: Driver, step: Step) -> None:
        self._driver, self.step, self.number = driver, step, driver.next_number()
        self._loop = asyncio.get_running_loop()
        self.begun_s = self._loop.time() + LEAD_S
        self._stop = driver.stopping()
        self._tasks: dict[asyncio.Task[None], Answer] = {}
        self._judged_in_flight = self._failures = 0

    async def during(self, sending: object) -> None:
        """Runs the sending and the watch; whatever ends it, nothing is left in flight."""
        assert asyncio.iscoroutine(sending)
        cpu_s, wall_s = time.process_time(), self._loop.time()
        task = asyncio.create_task(sending)
        watch = asyncio.create_task(self._watch())
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            now_s = self._loop.time() - self.begun_s
            self.step.busy_ratio = (time.process_time() - cpu_s) / max(1e-9, self._loop.time() - wall_s)
            for each in (task, watch, stop, *self._tasks):
                each.cancel()
            await asyncio.gather(task, watch, stop, *self._tasks, return_exceptions=True)
            if self._stop.is_set():
                self.step.stopped = self.step.stopped or INTERRUPTED
                self.step.to_s = max(self.step.from_s, min(self.step.to_s, now_s))
        if task.done() and not task.cancelled() and (failure := task.exception()) is not None:
            raise failure

    def over(self, at_s: float, judged_s: float) -> bool:
        """Whether nothing more is sent at this time of the step."""
        if self._stop.is_set():
            return True
        past = at_s - self.step.to_s
        return past >= 0 and (not self._judged_in_flight or past >= judged_s)

    def send(self, body: bytes, asked: Asked, intended_s: float) -> asyncio.Task[None]:
        """Sends a request, which was meant to be sent at `intended_s`."""
        answer = Answer(intended_s, asked.prompt_tokens, asked.output_tokens)
        self.step.answers.append(answer)
        judged = self.step.from_s <= intended_s < self.step.to_s
        self._judged_in_flight += judged
        task = asyncio.create_task(self._one(body, answer))
        self._tasks[task] = answer
        task.add_done_callback(lambda done: self._ended(done, judged))
        if len(self._tasks) > self._driver.limits.most_in_flight and self.step.concurrency is None:
            self._saturated(f"{len(self._tasks)} requests were in flight")
        return task

    async def judged_ended(self) -> None:
        """Waits for the requests of the window."""
        judged = [task for task, answer in self._tasks.items() if answer.intended_s < self.step.to_s]
        if judged:
            await asyncio.wait(judged)

    async def _one(self, body: bytes, answer: Answer) -> None:
        answer.late_s = max(0.0, self._loop.time() - self.begun_s - answer.intended_s)
        await self._driver.asker.ask(body, answer, self.begun_s)
        self._failures = self._failures + 1 if answer.error and answer.error != "unfinished" else 0
        if self._failures < FAILURES_IN_A_ROW:
            return
        if answer.error in TURNED_AWAY:
            self._saturated(f"it turned away {self._failures} requests in a row, the last: {answer.detail}")
        elif not self._stop.is_set():
            self.step.stopped = f"{self._failures} requests in a row failed, the last: {answer.detail}"
            self._stop.set()

    def _ended(self, task: asyncio.Task[None], judged: bool) -> None:
        answer = self._tasks.pop(task)
        self._judged_in_flight -= judged
        if answer.ended_s is None:  # cancelled before it began
            answer.ended_s = self._loop.time() - self.begun_s
            answer.error, answer.detail = "unfinished", "the step ended before it was sent"

    def _saturated(self, why: str) -> None:
        if not self._stop.is_set():
            self.step.saturated, self.step.stopped = True, f"more than the server can take: {why}"
            self._stop.set()

    async def _watch(self) -> None:
        """Measures how late timers come, and who waits too long."""
        patience_s = self._driver.limits.patience_s
        while True:
            due_s = self._loop.time() + WATCH_S
            await asyncio.sleep(WATCH_S)
            self.step.lags_ms.append(max(0.0, (self._loop.time() - due_s) * 1e3))
            now_s = self._loop.time() - self.begun_s
            waiting = [answer.intended_s for answer in self._tasks.values() if answer.first_s is None]
            if self.step.concurrency is None and waiting and now_s - min(waiting) > patience_s:
                self._saturated(f"a request waited more than {patience_s:g} s for its first token")
