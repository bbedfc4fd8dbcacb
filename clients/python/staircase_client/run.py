"""A run: started, waited for, cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from staircase_client.errors import RunFailed, WaitTimeout
from staircase_client.http import Http
from staircase_client.results import Report

FINAL = ("done", "failed", "cancelled")
LONGEST_WAIT_S = 20


class Run:
    """As last seen; `refresh` looks again."""

    def __init__(self, http: Http, document: Mapping[str, Any]) -> None:
        self._http, self.raw = http, dict(document)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.state!r})"

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        """queued, running, done, failed or cancelled."""
        return str(self.raw["state"])

    @property
    def progress_ratio(self) -> float:
        return float(self.raw["progress_ratio"])

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What was found so far, while the run goes on; of a run from a list: nothing."""
        return list(self.raw.get("candidates") or ())

    @property
    def stage(self) -> str:
        return str(self.raw["stage"])

    def refresh(self, *, wait_s: int = 0) -> Run:
        """Looks again, held back by the server for up to `wait_s` while the run is unfinished."""
        self.raw = self._http.call("GET", f"/runs/{self.id}", query={"wait": wait_s or None}).json()
        return self

    def wait(self, *, timeout_s: float = 600, on_progress: Callable[[Run], None] | None = None) -> Report:
        """The report once the run has ended. RunFailed: it has none; WaitTimeout: it goes on."""
        end_s = time.monotonic() + timeout_s
        while self.state not in FINAL:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise WaitTimeout(f"run {self.id} is {self.state} after {timeout_s:g} s")
            began_s = time.monotonic()
            self.refresh(wait_s=max(1, min(LONGEST_WAIT_S, int(left_s))))
            if on_progress is not None:
                on_progress(self)
            if self.state not in FINAL and time.monotonic() - began_s < 0.5:  # the server had no thread to wait with
                time.sleep(min(2.0, max(0.0, end_s - time.monotonic())))
        return self.report()

    def report(self) -> Report:
        """The report. RunFailed: the run failed or was cancelled; ApiError 409: it is unfinished."""
        if self.state in ("failed", "cancelled"):
            raise RunFailed(self.state, self.raw.get("failure"))
        return Report(self._http.call("GET", f"/runs/{self.id}/report").json())

    def table(self, name: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Rows of candidates, curves, timeseries, cost, api, break-even, sensitivity or memory. ApiError 409: none."""
        return self._http.pages(f"/runs/{self.id}/{name}", filters)

    def requests(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """The simulated requests that confirmed the recommended fleet, by arrival. ApiError 409: no report."""
        return self.table("requests", **filters)

    def requests_csv(self) -> bytes:
        """The same as one CSV table."""
        return self._http.call("GET", f"/runs/{self.id}/requests", query={"format": "csv"}).body

    def cancel(self) -> None:
        """Asks it to stop; asking a run that has ended changes nothing."""
        self._http.call("DELETE", f"/runs/{self.id}")
