"""A measured source of step times: NVIDIA's per-operation measurements, as step-time tables.

The package `aiconfigurator-core` (extra `silicon`; Linux x86-64) holds measured times of single operations and adds
them up to steps. Here its steps are tabulated into `StepTimeTables`, so that the same simulator can run on them. It
knows nothing of queues, of a server's front end, or of time per prefilling sequence: `request_ps` and
`request_token_ps` stay those of our own model, `prefill_seq_ps` is zero. Its measurements are of one version of each
engine, named in the provenance, not of the deployment's profile.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.deployment.deployment import Deployment
from costmodel.steptime.silicon_curve import Residual, SiliconCurve, StepLatencies, sample_curve, straight
from costmodel.steptime.silicon_names import SiliconRefusedError, SiliconRequest, silicon_request
from costmodel.steptime.tables import StepTimeTables, step_time_tables

PACKAGE = "aiconfigurator-core"
EXTRA = "silicon"
FORM = 2
"""Raised when sampling or solving changes, so that cached curves of the old form are not read."""

PS_PER_MS = 1e9


class SiliconMissingError(RuntimeError):
    """The package is not installed."""


@dataclass(frozen=True, slots=True)
class MeasuredTables:
    """Step-time tables, how well they hold what the package says, and where they come from (plain data)."""

    tables: StepTimeTables
    curve: SiliconCurve
    provenance: Mapping[str, Any]


Compile = Callable[[SiliconRequest], tuple[StepLatencies, str]]
"""Makes a source for a request, and names the version of the engine that was measured."""


def silicon_version() -> str:
    """Version of the installed package. Raises SiliconMissingError, naming the extra."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise SiliconMissingError(
            f"{PACKAGE} is not installed: it comes with the extra `{EXTRA}`"
            f" (pip install --require-hashes -r requirements-{EXTRA}.txt; Linux x86-64)."
        ) from None


def silicon_step_time_tables(
    deployment: Deployment,
    cache_folder: Path | None = None,
    *,
    version: str | None = None,
    compile_source: Compile | None = None,
) -> MeasuredTables:
    """Tables of a deployment from the package's measurements, as long as the deployment's limits.

    A curve is kept in `cache_folder` (made where missing) under a key of the package's version and the request, and
    read from there the next time. `version` and `compile_source` stand in for the package.

    Raises SiliconRefusedError where the package does not cover the deployment, SiliconMissingError without it.
    """
    version = version or silicon_version()
    request = silicon_request(deployment)
    wanted = {"form": FORM, "package": PACKAGE, "version": version, **request.as_document()}
    path = cache_folder / f"{_key(wanted)}.json" if cache_folder else None
    found = _read(path, wanted) if path else None
    if found is None:
        found = _sampled(request, compile_source or compile_request)
        if path:
            _write(path, wanted, *found)
    curve, engine_version = found
    if isinstance(curve, SiliconRefusedError):
        raise SiliconRefusedError(curve.reason, curve.detail)
    provenance = {**wanted, "engine_version": engine_version}
    return MeasuredTables(_tables(curve, deployment), curve, provenance)


Sampled = tuple[SiliconCurve | SiliconRefusedError, str]


def _sampled(request: SiliconRequest, compile_source: Compile) -> Sampled:
    """The curve, or the package's own refusal, which is worth keeping too: finding out costs a second."""
    try:
        source, engine_version = compile_source(request)
        return sample_curve(source), engine_version
    except SiliconMissingError:
        raise
    except Exception as problem:  # the package raises classes of its own for what it has no data for
        text = str(problem).split(" at /")[0].splitlines() or [""]
        return SiliconRefusedError(f"package has no data ({type(problem).__name__})", text[0][:200]), ""


def compile_request(request: SiliconRequest) -> tuple[StepLatencies, str]:
    """Ask the package itself. A model that it does not bundle is given as a folder with its config."""
    try:
        from aiconfigurator_core.sdk import perf_database
        from aiconfigurator_core.sdk.engine import EngineHandle
    except ImportError as problem:
        raise SiliconMissingError(f"{PACKAGE} cannot be imported ({problem}): reinstall the extra `{EXTRA}`.") from None
    measured = perf_database.resolve_query_version(request.system, request.backend, "current")
    with tempfile.TemporaryDirectory(prefix="silicon-") as folder, _quiet():
        if request.config is not None:
            (Path(folder) / "config.json").write_text(json.dumps(request.config), encoding="utf-8")
        model = request.bundled_model or folder
        return EngineHandle.compile(model, request.system, request.backend, **request.arguments), measured


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the package's log lines: it tells every table that it loads, needed or not."""
    logger = logging.getLogger("aiconfigurator_core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _tables(curve: SiliconCurve, deployment: Deployment) -> StepTimeTables:
    own = step_time_tables(deployment)
    tokens = np.arange(deployment.max_num_batched_tokens + 1)
    seats = np.arange(deployment.max_num_seqs + 1)
    return StepTimeTables(
        tokens_ps=_ps(straight(tokens, curve.tokens, curve.tokens_ms), none_at_zero=True),
        seats_ps=_ps(straight(seats, curve.seats, curve.seats_ms), none_at_zero=True),
        context_ps=_ps(straight(seats, curve.seats, curve.context_ms), none_at_zero=True),
        prefill_pair_ps=round(curve.pair_ms * PS_PER_MS),
        prefill_seq_ps=0,
        prefill_step_ps=round(curve.prefill_step_ms * PS_PER_MS),
        request_ps=own.request_ps,
        request_token_ps=own.request_token_ps,
    )


def _ps(values_ms: NDArray[np.float64], *, none_at_zero: bool) -> NDArray[np.int64]:
    table = np.rint(values_ms * PS_PER_MS).astype(np.int64)
    if none_at_zero:
        table[0] = 0
    return table


def _key(wanted: Mapping[str, Any]) -> str:
    return sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:32]


def _read(path: Path, wanted: Mapping[str, Any]) -> Sampled | None:
    """What the file holds for exactly this request; None where there is none or it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["wanted"] != wanted:
            return None
        if "refused" in document:
            return SiliconRefusedError(**document["refused"]), ""
        parts = {field.name: document["curve"][field.name] for field in fields(SiliconCurve)}
        for name, part in parts.items():
            if isinstance(part, list):
                parts[name] = tuple(part)
            elif isinstance(part, dict):
                parts[name] = Residual(**part)
        return SiliconCurve(**parts), str(document["engine_version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(
    path: Path, wanted: Mapping[str, Any], curve: SiliconCurve | SiliconRefusedError, engine_version: str
) -> None:
    """Whole or not at all: processes that predict side by side share the folder."""
    document: dict[str, Any] = {"wanted": wanted, "engine_version": engine_version}
    if isinstance(curve, SiliconRefusedError):
        document["refused"] = {"reason": curve.reason, "detail": curve.detail}
    else:
        document["curve"] = asdict(curve)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(json.dumps(document), encoding="utf-8")
    part.replace(path)
