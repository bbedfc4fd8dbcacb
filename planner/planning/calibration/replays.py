"""A log of single requests as a run: the same arrivals and lengths are replayed, and some of the requests compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from costmodel import Deployment
from planner.planning.calibration.runs import Figure, MeasuredRun, blank_row
from planner.planning.validation.request_logs import RequestLog, Served, log_deployment, replay_request_log
from planner.planning.validation.runs import Prediction
from planner.planning.validation.setups import RowLoad, RowSetup
from planner.planning.validation.unusable import Unusable


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedRun(MeasuredRun):
    """A request log; `compared` says which of its requests are. Times are the engine's own, without HTTP."""

    log: RequestLog
    compared: NDArray[np.bool_]

    def predict(self, step_ratio: float = 1.0) -> Prediction:
        """Means and medians of the compared requests, in a replay of all. Raises Unusable."""
        if step_ratio != 1.0:
            raise Unusable("a replay has its own arrivals, and no corners")
        return _prediction(replay_request_log(self.log, deployment=self.deployment).predicted, self.compared)

    @property
    def is_open(self) -> bool:
        return True

    def on(self, deployment: Deployment) -> Self:
        return replace(self, setup=replace(self.setup, deployment=deployment))


def replayed_run(
    log: RequestLog, compared: NDArray[np.bool_] | None = None, deployment: Deployment | None = None
) -> ReplayedRun:
    """A log, or a part of its requests; deployment: in place of what the log says of itself. Raises Unusable."""
    chosen = np.ones(len(log.prompt_tokens), bool) if compared is None else compared
    told = _prediction(log.measured, chosen)
    span_s = float(log.measured.sent_s[-1] - log.measured.sent_s[0]) or 1.0
    load = RowLoad(
        kind="poisson",
        requests=len(log.prompt_tokens),
        in_flight=0,
        rate_rps=len(log.prompt_tokens) / span_s,
        prompt_tokens=float(log.prompt_tokens.mean()),
        output_tokens=float(log.measured.output_tokens.mean()),
        lengths="fixed",
        cached_prompt_ratio=0.0,
        served=False,
    )
    figures = [Figure("ttft", "mean", told.ttft_ms), Figure("e2e", "mean", 1e3 * told.e2e_s)]
    figures += [Figure("tpot", "mean", told.tpot_ms)] if told.tpot_ms else []
    setup = RowSetup(blank_row(log.name), deployment or log_deployment(log), 1, load)
    return ReplayedRun(log.name, setup, tuple(figures), log, chosen)


def _prediction(served: Served, compared: NDArray[np.bool_]) -> Prediction:
    first_ms, whole_ms = served.latency_ms("ttft")[compared], served.latency_ms("e2e")[compared]
    several = (served.output_tokens > 1) & compared
    gaps_ms = 1e3 * (served.last_token_s - served.first_token_s)[several] / (served.output_tokens[several] - 1)
    return Prediction(
        throughput_tok_s=float(served.output_tokens.sum() / (served.last_token_s.max() - served.sent_s.min())),
        ttft_ms=float(first_ms.mean()),
        ttft_median_ms=float(np.median(first_ms)),
        tpot_ms=float(gaps_ms.mean()) if gaps_ms.size else None,
        tpot_median_ms=float(np.median(gaps_ms)) if gaps_ms.size else None,
        e2e_s=float(whole_ms.mean()) / 1e3,
    )
