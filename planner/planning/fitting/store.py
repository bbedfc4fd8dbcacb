"""The responses of the vendored rows, stored beside them: making them anew takes minutes, fitting on them seconds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.resources import files
from multiprocessing import get_context
from os import cpu_count

import numpy as np

from costmodel.steptime import shipped_constants
from planner.planning.fitting.priors import Document
from planner.planning.fitting.responses import OpenResponse, Response, open_response, response
from planner.planning.fitting.rows import fitted_rows, rows_digest
from planner.planning.validation.setups import OPEN_LOADS, RowSetup
from planner.planning.validation.unusable import Unusable
from simulator import warm_up

ROWS_PER_TASK = 16
AnyResponse = Response | OpenResponse
Pairs = list[tuple[RowSetup, AnyResponse]]


class StaleResponsesError(Exception):
    """The stored responses are not of the vendored rows."""


def simulated_responses() -> Pairs:
    """(row, response) of every vendored row that can be simulated, in as many processes as there are cores; open loops
    about the shipped constants."""
    setups = fitted_rows()
    make = partial(row_response, document=shipped_constants())
    warm_up()  # compiled once here, not once in every process
    with ProcessPoolExecutor(cpu_count() or 1, mp_context=get_context("spawn")) as pool:
        found = pool.map(make, setups, chunksize=ROWS_PER_TASK)
        return [(setup, one) for setup, one in zip(setups, found, strict=True) if one is not None]


def row_response(setup: RowSetup, document: Document) -> AnyResponse | None:
    """The response of one row, or None where its model does not fit by our memory model."""
    try:
        return open_response(setup, document) if setup.load.kind in OPEN_LOADS else response(setup)
    except Unusable:
        return None


def stored_responses() -> Pairs:
    """(row, response) of the vendored rows as stored in `data/responses.npz`. Raises StaleResponsesError."""
    content = (files("planner.planning.fitting") / "data" / "responses.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        columns = {name: file[name] for name in file.files}
    if str(columns["rows_digest"]) != rows_digest():
        raise StaleResponsesError(
            "responses.npz was made from other rows than rows.csv: run `manage.py fit --simulate`"
        )
    by_id: dict[str, AnyResponse] = {**dict(_unpacked(columns)), **dict(_unpacked_open(columns))}
    return [(setup, by_id[setup.row.id]) for setup in fitted_rows() if setup.row.id in by_id]


def packed(pairs: Pairs) -> bytes:
    """The bytes of `data/responses.npz`."""
    written = io.BytesIO()
    closed = [(setup.row.id, one) for setup, one in pairs if isinstance(one, Response)]
    opened = [(setup.row.id, one) for setup, one in pairs if isinstance(one, OpenResponse)]
    np.savez_compressed(
        written,
        rows_digest=np.array(rows_digest()),
        ids=np.array([name for name, _ in closed]),
        counts=np.array([len(one.knots) for _, one in closed], np.int32),
        knots=np.concatenate([one.knots for _, one in closed]).astype(np.int32),
        per_knot=np.concatenate([one.per_knot for _, one in closed]).astype(np.float32),
        per_part=np.stack([one.per_part for _, one in closed]).astype(np.float32),
        median_ratio=np.stack([one.median_ratio for _, one in closed]).astype(np.float32),
        tokens=np.array([one.tokens for _, one in closed], np.int64),
        prompt_tokens=np.array([one.prompt_tokens for _, one in closed]),
        open_ids=np.array([name for name, _ in opened]),
        open_ms=np.array([(one.ttft_ms, one.tpot_ms) for _, one in opened]),
        open_slopes=np.stack([one.slopes for _, one in opened]).astype(np.float32),
        open_about=opened[0][1].about,
    )
    return written.getvalue()


def _unpacked(columns: dict[str, np.ndarray]) -> Iterator[tuple[str, Response]]:
    ends = np.cumsum(columns["counts"])
    for number, (name, end) in enumerate(zip(columns["ids"], ends, strict=True)):
        begin = end - columns["counts"][number]
        yield (
            str(name),
            Response(
                knots=columns["knots"][begin:end].astype(np.int64),
                per_knot=columns["per_knot"][begin:end].astype(np.float64),
                per_part=columns["per_part"][number].astype(np.float64),
                median_ratio=columns["median_ratio"][number].astype(np.float64),
                tokens=int(columns["tokens"][number]),
                prompt_tokens=float(columns["prompt_tokens"][number]),
            ),
        )


def _unpacked_open(columns: dict[str, np.ndarray]) -> Iterator[tuple[str, OpenResponse]]:
    for name, ms, slopes in zip(columns["open_ids"], columns["open_ms"], columns["open_slopes"], strict=True):
        yield str(name), OpenResponse(float(ms[0]), float(ms[1]), slopes.astype(np.float64), columns["open_about"])
