"""Rates of clients by window of time, as ServeGen publishes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.planning.importers.cells import number
from planner.planning.importers.columns import UNKNOWN, IntArray, Numbering
from planner.planning.importers.errors import BadCell, ImportRefused
from planner.planning.importers.trace_file import TraceFile

MAX_WINDOWS = 2_000_000
DAY_S = 86_400
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RateWindows:
    """One entry a client and window; windows without requests may be missing.

    client: number in order of appearance. start_s, window_s: seconds. rate_rps: requests per second. gap_cv:
    coefficient of variation of the gaps, NaN where not told.
    """

    client: IntArray
    start_s: FloatArray
    window_s: float
    rate_rps: FloatArray
    gap_cv: FloatArray


def read_rate_windows(file: TraceFile) -> RateWindows:
    """All windows. Raises ImportRefused with no_rows, too_large or unanswered."""
    columns, problems = file.layout.columns, file.reading.problems
    clients = Numbering()
    rows: list[tuple[int, float, float, float]] = []
    for row, record in file.records():
        file.reading.rows_read += 1
        try:
            rate = float(number(record.get(columns["rate"]), file.decimal))
            if rate < 0:
                raise BadCell("negative_rate", f"{rate} requests/s.")
            start_s = file.clock.ns(record.get(columns["time"])) / 1e9
            cv = _cv(record.get(columns.get("cv", "")), file.decimal)
            client = clients.number(record.get(columns.get("client", ""), 0))
            if client == UNKNOWN:
                raise BadCell("no_client", "The row names no client.")
            rows.append((client, start_s, rate, cv))
        except BadCell as bad:
            problems.drop(bad.code, row, bad.detail)
        if len(rows) > MAX_WINDOWS:
            raise ImportRefused("too_large", f"More than {MAX_WINDOWS:,} windows.")
    if not rows:
        raise ImportRefused("no_rows", "No row can be used.")
    file.reading.rows_used = len(rows)
    table = np.array(rows)
    starts = np.unique(table[:, 1])
    window_s = float(np.diff(starts).min()) if len(starts) > 1 else 600.0
    if (starts[-1] - starts[0]) / window_s > MAX_WINDOWS:
        raise ImportRefused("too_large", f"More than {MAX_WINDOWS:,} windows of {window_s:g} s.")
    return RateWindows(table[:, 0].astype(np.int64), table[:, 1], window_s, table[:, 2], table[:, 3])


def _cv(value: object, decimal: str) -> float:
    try:
        return float(number(value, decimal))
    except BadCell:
        return float("nan")


def rate_summary(windows: RateWindows) -> dict[str, object]:
    """Mean and peak rate over all clients, burstiness weighted by rate, and how unequal the clients are."""
    span_s = float(windows.start_s.max() - windows.start_s.min()) + windows.window_s
    by_window = np.bincount(
        np.rint((windows.start_s - windows.start_s.min()) / windows.window_s).astype(np.int64), windows.rate_rps
    )
    by_client = np.sort(np.bincount(windows.client, windows.rate_rps))[::-1]
    mean_rps = float(windows.rate_rps.sum()) * windows.window_s / span_s
    told = ~np.isnan(windows.gap_cv)
    weight = windows.rate_rps[told]
    top = max(1, round(len(by_client) * 0.1))
    return {
        "clients": len(by_client),
        "windows": len(by_window),
        "window_s": windows.window_s,
        "span_s": span_s,
        "mean_rps": mean_rps,
        "peak_to_mean": float(by_window.max()) / mean_rps if mean_rps else None,
        "trough_to_mean": float(by_window.min()) / mean_rps if mean_rps else None,
        "rate_weighted_gap_cv": float((windows.gap_cv[told] * weight).sum() / weight.sum()) if weight.sum() else None,
        "top_tenth_of_clients_share": float(by_client[:top].sum() / by_client.sum()) if by_client.sum() else None,
        "fitted": _fitted(mean_rps, np.asarray(by_window, dtype=np.float64), windows),
    }


def _fitted(mean_rps: float, by_window: FloatArray, windows: RateWindows) -> dict[str, object] | None:
    """Arrivals and shape of a scenario's traffic; lengths are not known here.

    Counts of independent clients add up, and so do their variances: over long windows the sum of renewal processes has
    the mean of their squared variations, weighted by rate, as its index of dispersion. Gamma gaps with that variation
    have the same.
    """
    if not 0.0001 <= mean_rps <= 10_000:
        return None
    told = ~np.isnan(windows.gap_cv)
    weight = windows.rate_rps[told]
    arrival: dict[str, object] = {"kind": "poisson", "mean_rps": float(f"{mean_rps:.6g}")}
    if weight.sum():
        cv = float(np.sqrt((windows.gap_cv[told] ** 2 * weight).sum() / weight.sum()))
        arrival |= {"kind": "gamma", "cv": round(min(20.0, max(0.05, cv)), 3)}
    peak = min(20.0, float(by_window.max()) / mean_rps)
    whole_days = len(by_window) * windows.window_s >= DAY_S
    shape = {"kind": "diurnal", "peak_to_mean": round(peak, 3)} if whole_days else {"kind": "constant"}
    return {"traffic": {"arrival": arrival, "shape": shape}}
