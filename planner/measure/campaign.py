"""A whole load test: probe, then step after step, ending where there is nothing more to learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planner.measure.asking import Asker
from planner.measure.driving import Driver
from planner.measure.probing import probe
from planner.planning.measuring.answers import INTERRUPTED, Step, step_row
from planner.planning.measuring.asked import Questions
from planner.planning.measuring.search import Rates, enough_at_a_time

MOST_AT_A_TIME = 1024
STREAM_RESERVE = 1.5

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure. rates_rps, at_a_time: fixed steps; without them rising rates, or with `closed` ever more
    requests at a time. least_s, most_s: how long a step is judged."""

    closed: bool = False
    rates_rps: Sequence[float] = ()
    at_a_time: Sequence[int] = ()
    first_rps: float | None = None
    most_rps: float = math.inf
    warm_up_s: float = 15.0
    least_s: float = 60.0
    most_s: float = 600.0


class Campaign:
    """Keeps what has been measured, so that an interruption loses only the step under way."""

    def __init__(self, questions: Questions, wanted: Wanted, tell: Tell) -> None:
        self.questions, self.wanted, self._tell = questions, wanted, tell
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.ended = ""
        self.begun = False

    async def run(self, driver: Driver) -> None:
        """Measures. Raises ProbeFailed where the server does not answer as it should."""
        driver.asker, notes = await self._probed(driver.asker)
        self.notes += notes
        self.begun = True
        if self.wanted.closed or self.wanted.at_a_time:
            await self._closed(driver)
        else:
            await self._open(driver)

    async def _probed(self, asker: Asker) -> tuple[Asker, list[str]]:
        return await probe(asker, round(self.questions.load.mix.prompt_tokens_mean))

    async def _open(self, driver: Driver) -> None:
        wanted = self.wanted
        if wanted.rates_rps:
            for rate in wanted.rates_rps:
                await self._rate(driver, rate)
                if self._must_end(driver):
                    return
            self.ended = "all rates were measured"
            return
        rates = Rates(wanted.first_rps or self.questions.first_rate_rps, wanted.most_rps)
        for rate in rates:
            row = await self._rate(driver, rate)
            if self._must_end(driver):
                return
            if self._measures_itself():
                self.ended = "the load generator was the bottleneck twice: higher rates would measure itself"
                return
            rates.tell(rate, row["passes"] is not False)
        self.ended = "the knee was found" if rates.failed else "the highest rate allowed was reached"

    async def _rate(self, driver: Driver, rate_rps: float) -> dict[str, Any]:
        wanted = self.wanted
        judged_s = self.questions.judged_s(rate_rps, wanted.least_s, wanted.most_s)
        count = math.ceil(STREAM_RESERVE * rate_rps * (wanted.warm_up_s + 2 * judged_s)) + 1
        stream = self.questions.stream(rate_rps, count)
        return self._keep(await driver.open_loop(stream, rate_rps, wanted.warm_up_s, judged_s))

    async def _closed(self, driver: Driver) -> None:
        fixed = self.wanted.at_a_time
        doubling = [2**power for power in range(int(math.log2(MOST_AT_A_TIME)) + 1)]
        for concurrency in fixed or doubling:
            stream = self.questions.stream(1.0, MAX_STREAM)
            self._keep(await driver.closed_loop(stream, concurrency, self.wanted.warm_up_s, self.wanted.least_s))
            if self._must_end(driver):
                return
            if not fixed and self._measures_itself():
                self.ended = "the load generator was the bottleneck twice: more at a time would measure itself"
                return
            if not fixed and enough_at_a_time(self.rows):
                self.ended = "more at a time brought nothing, or missed the targets"
                return
        self.ended = "all steps were measured"

    def _keep(self, step: Step) -> dict[str, Any]:
        row = step_row(step, self.questions.targets)
        self.rows.append(row)
        self._tell(row)
        return row

    def _measures_itself(self) -> bool:
        """Once may be chance: something else ran on the machine."""
        return len(self.rows) > 1 and all(row["client"]["limited"] for row in self.rows[-2:])

    def _must_end(self, driver: Driver) -> bool:
        row = self.rows[-1]
        if driver.interrupted:
            self.ended = INTERRUPTED
        elif row["stopped"] and not row["saturated"]:
            self.ended = row["stopped"]
        return bool(self.ended)


MAX_STREAM = 100_000
"""Requests drawn for a step of so many at a time."""
