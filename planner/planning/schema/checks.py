"""Faults between fields. Each check looks at raw values that are themselves valid, so all faults come at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from typing import Any

from planner.planning.errors import FieldError, pointer, show
from planner.planning.schema.slo import PERCENTILE_FIELDS

MAX_P95_TO_MEAN = 3.868
"""exp(1.6449² / 2): above this ratio of p95 to mean no lognormal exists."""
MAX_MEAN_TO_P50 = 50.0

SIZES = (
    "params_active_b",
    "layers",
    "hidden",
    "n_heads",
    "n_kv_heads",
    "head_dim",
    "intermediate",
    "vocab",
    "max_context",
)

Found = Iterator[FieldError]


def cross_field_errors(data: dict[str, Any]) -> list[FieldError]:
    """Every fault between fields of a document that may have other faults too."""
    out: list[FieldError] = []
    for check in CHECKS:
        out.extend(check(data))
    return out


def part(data: Any, *path: str | int) -> Any:
    """The value at a path, or None where the document does not go there."""
    for step in path:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list | tuple) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
    return data


def number(value: Any) -> float | None:
    """The value when it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def day(value: Any) -> date | None:
    """The value when it is a date, as JSON writes one, else None."""
    try:
        return value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _one_source(data: dict[str, Any]) -> Found:
    traffic = data.get("traffic")
    if not isinstance(traffic, dict):
        return
    sources = [key for key in ("arrival", "trace", "users") if traffic.get(key) is not None]
    allowed = "exactly one of arrival, trace, users"
    if len(sources) != 1:
        detail = (
            "Say how requests arrive."
            if not sources
            else f"{' and '.join(sources)} cannot both say how requests arrive."
        )
        yield FieldError("one_of", "/traffic", ", ".join(sources), allowed, detail)
    for key in ("prompt_tokens", "output_tokens"):
        if "trace" in sources and traffic.get(key) is not None:
            yield FieldError(
                "conflict", pointer("traffic", key), "", "absent with a trace", f"The trace already has {key}."
            )
        if sources and "trace" not in sources and traffic.get(key) is None and not traffic.get("classes"):
            yield FieldError("missing", pointer("traffic", key), "", "required without a trace", f"{key} is required.")


def _lengths(data: dict[str, Any]) -> Found:
    for place in _kinds_of_requests(data):
        for key in ("prompt_tokens", "output_tokens"):
            spec, here = part(data, *place, key), (*place, key)
            if part(spec, "kind") == "lognormal":
                yield from _lognormal(spec, here)
            if part(spec, "kind") == "empirical":
                yield from _empirical(spec, here)


def _classes(data: dict[str, Any]) -> Found:
    """Classes stand in place of the lengths of all, have names of their own, and together are everything."""
    classes = part(data, "traffic", "classes")
    if not isinstance(classes, list | tuple) or not classes:
        return
    for key in ("prompt_tokens", "output_tokens", "prefix", "trace"):
        given = part(data, "traffic", key)
        if given is not None and part(given, "kind") != "none":
            yield FieldError(
                "conflict", pointer("traffic", key), "", "absent with classes", f"The classes already say {key}."
            )
    shares = [number(part(each, "share_ratio")) for each in classes]
    total = sum(share for share in shares if share is not None)
    if None not in shares and abs(total - 1) > 1e-6:
        detail = f"The shares of the classes add up to {total:.6g}; together they are all requests."
        yield FieldError("out_of_range", "/traffic/classes", f"{total:.6g}", "shares that add up to 1", detail)
    apart = part(data, "serving", "disaggregation")
    if apart in ("on", "auto") and len({part(each, "priority") or 0 for each in classes}) > 1:
        detail = "Prefill and decode pools are not simulated with priorities; let the classes have the same."
        yield FieldError("not_offered_yet", "/serving/disaggregation", show(apart), "off", detail)
    names = [part(each, "name") for each in classes]
    for place, name in enumerate(names):
        if isinstance(name, str) and name in names[:place]:
            here = pointer("traffic", "classes", place, "name")
            yield FieldError("repeated", here, show(name), "another name", "Two classes cannot have the same name.")


def _kinds_of_requests(data: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """Where lengths and prefixes stand: those of all requests, and of each class."""
    classes = part(data, "traffic", "classes")
    count = len(classes) if isinstance(classes, list | tuple) else 0
    return [("traffic",), *(("traffic", "classes", place) for place in range(count))]


def _lognormal(spec: dict[str, Any], here: tuple[str | int, ...]) -> Found:
    given = [name for name in ("p95", "p50") if spec.get(name) is not None]
    if len(given) != 1:
        yield FieldError(
            "one_of",
            pointer(*here),
            ", ".join(given),
            "exactly one of p95, p50",
            "A lognormal needs its mean and p95 or p50.",
        )
        return
    mean, value = number(spec.get("mean")), number(spec.get(given[0]))
    if not mean or not value or mean < 0 or value < 0:
        return
    ratio = value / mean if given[0] == "p95" else mean / value
    limit = MAX_P95_TO_MEAN if given[0] == "p95" else MAX_MEAN_TO_P50
    names = "p95 / mean" if given[0] == "p95" else "mean / p50"
    if not 1 < ratio <= limit:
        yield FieldError(
            "no_such_lognormal", pointer(*here, given[0]), show(spec[given[0]]),
            f"{names} above 1 and at most {limit:g}",
            f"{names} is {ratio:.4g}; a lognormal needs it above 1 and at most {limit:g}.",
        )  # fmt: skip


def _empirical(spec: dict[str, Any], here: tuple[str | int, ...]) -> Found:
    given = [name for name in ("values", "quantiles") if spec.get(name) is not None]
    if len(given) != 1:
        yield FieldError(
            "one_of", pointer(*here), ", ".join(given), "exactly one of values, quantiles", "Give values or quantiles."
        )
        return
    points = spec.get("quantiles")
    if not isinstance(points, list | tuple) or not points:
        return
    if not all(
        isinstance(p, list | tuple) and len(p) == 2 and number(p[0]) is not None and number(p[1]) is not None
        for p in points
    ):
        return
    rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(points))
    if not rising or points[0][0] != 0 or points[-1][0] != 1:
        yield FieldError(
            "not_rising", pointer(*here, "quantiles"), show(points), "ratios from 0 to 1, rising; tokens not falling",
            "Quantiles start at ratio 0, end at 1, and rise.",
        )  # fmt: skip


def shortest(spec: Any) -> float | None:
    """The least of the figures that describe a length; None when it cannot be told."""
    kind = part(spec, "kind")
    if kind == "fixed":
        return number(spec.get("tokens"))
    if kind == "lognormal":
        found = [v for name in ("mean", "p95", "p50") if (v := number(spec.get(name))) is not None]
        return min(found, default=None)
    values = part(spec, "values")
    if isinstance(values, list | tuple):
        return min((v for value in values if (v := number(value)) is not None), default=None)
    points = part(spec, "quantiles")
    if isinstance(points, list | tuple) and points and isinstance(points[0], list | tuple) and len(points[0]) == 2:
        return number(points[0][1])
    return None


def _prefix(data: dict[str, Any]) -> Found:
    for place in _kinds_of_requests(data):
        yield from _prefix_at(data, place)


def _prefix_at(data: dict[str, Any], place: tuple[str | int, ...]) -> Found:
    prefix = part(data, *place, "prefix")
    tokens = number(part(prefix, "tokens"))
    if part(prefix, "kind") != "shared" or tokens is None:
        return
    here = pointer(*place, "prefix", "tokens")
    if part(data, "traffic", "trace") is not None:
        detail = "A shared prefix with a trace is not offered yet: the trace does not say which prompts share it."
        yield FieldError("not_offered_yet", "/traffic/prefix", "shared", "none", detail)
        return
    spec = part(data, *place, "prompt_tokens")
    least = shortest(spec)
    if least is not None and tokens >= least:
        yield FieldError(
            "prefix_too_long", here, show(part(prefix, "tokens")), f"below {least:g}",
            f"A prefix of {tokens:g} tokens leaves nothing of a prompt of {least:g}; the remainder must stay positive.",
        )  # fmt: skip
        return
    mean, p95 = number(part(spec, "mean")), number(part(spec, "p95"))
    if part(spec, "kind") == "lognormal" and mean and p95 and 1 < p95 / mean <= MAX_P95_TO_MEAN:
        ratio = (p95 - tokens) / (mean - tokens)
        if ratio > MAX_P95_TO_MEAN:
            longest = math.floor((MAX_P95_TO_MEAN * mean - p95) / (MAX_P95_TO_MEAN - 1))
            yield FieldError(
                "prefix_too_long", here, show(part(prefix, "tokens")), f"at most {longest}",
                f"Without the prefix p95 / mean is {ratio:.4g}; no lognormal lies above {MAX_P95_TO_MEAN:g}. "
                f"With these lengths at most {longest:,} tokens can be shared.",
            )  # fmt: skip


def _batch(data: dict[str, Any]) -> Found:
    if part(data, "traffic", "batch") is not None and part(data, "billing", "mode") == "scale_to_zero":
        detail = "Requests with a deadline keep replicas awake; choose another billing mode."
        yield FieldError("conflict", "/billing/mode", "scale_to_zero", "another mode with traffic.batch", detail)


def _serving(data: dict[str, Any]) -> Found:
    asked, engine = part(data, "serving", "disaggregation"), part(data, "engine", "name") or "vllm"
    if asked in ("on", "auto") and engine != "vllm":
        detail = "Prefill and decode pools are simulated with vLLM's scheduler only."
        yield FieldError("conflict", "/serving/disaggregation", asked, "off, or engine vllm", detail)


def _slo(data: dict[str, Any]) -> Found:
    slos = [part(data, *place, "slo") for place in _kinds_of_requests(data)[1:]]
    if isinstance(data.get("slo"), dict):
        yield from _slo_at(data["slo"], ("slo",), may_be_empty=any(isinstance(slo, dict) for slo in slos))
    for place, slo in enumerate(slos):
        here = ("traffic", "classes", place, "slo")
        if not isinstance(slo, dict):
            continue
        yield from _slo_at(slo, here)
        for name, metric, _ in PERCENTILE_FIELDS:
            if metric == "itl" and slo.get(name) is not None:
                detail = "Gaps between tokens are counted for the fleet, not by class; take TPOT."
                yield FieldError("not_offered_yet", pointer(*here, name), show(slo[name]), "tpot_*", detail)


def _slo_at(slo: dict[str, Any], here: tuple[str | int, ...], *, may_be_empty: bool = False) -> Found:
    targets = [name for name, _, _ in PERCENTILE_FIELDS if slo.get(name) is not None]
    if slo.get("window") == "month":
        yield FieldError(
            "not_offered_yet",
            pointer(*here, "window"),
            "month",
            "peak",
            "Targets over the month are not offered yet; judge the peak hour.",
        )
    if slo.get("goodput") is not None and slo.get("goodput_min_ratio") is not None:
        yield FieldError(
            "conflict",
            pointer(*here, "goodput_min_ratio"),
            "",
            "goodput or goodput_min_ratio",
            "Goodput is given twice.",
        )
    if slo.get("goodput_min_ratio") is not None and not targets:
        yield FieldError(
            "missing",
            pointer(*here),
            "",
            "a percentile target",
            "goodput_min_ratio takes the percentile targets as thresholds; there is none.",
        )
    given = targets or slo.get("goodput") is not None or slo.get("goodput_min_ratio") is not None
    if not given and not may_be_empty:
        yield FieldError(
            "missing",
            pointer(*here),
            "",
            "at least one target, such as ttft_p95_ms",
            "An SLO needs at least one target.",
        )
    goodput = slo.get("goodput")
    if isinstance(goodput, dict) and all(goodput.get(name) is None for name in ("ttft_ms", "tpot_ms", "e2e_ms")):
        yield FieldError(
            "missing",
            pointer(*here, "goodput"),
            "",
            "ttft_ms, tpot_ms or e2e_ms",
            "Goodput needs at least one threshold.",
        )


def _model(data: dict[str, Any]) -> Found:
    model = data.get("model")
    if not isinstance(model, dict):
        return
    given = [name for name in SIZES if model.get(name) is not None]
    sized = ["sizes"] if given or model.get("params_total_b") is not None else []
    ways = [key for key in ("id", "hf_config") if model.get(key) is not None] + sized
    allowed = "exactly one of id, hf_config, sizes (params_total_b, layers, ...)"
    if len(ways) != 1:
        detail = "Say which model." if not ways else f"{' and '.join(ways)} cannot both say which model."
        yield FieldError("one_of", "/model", ", ".join(ways), allowed, detail)
        return
    for name in ("name", "source", "as_of"):
        if ways == ["id"] and model.get(name) is not None:
            detail = f"{name} belongs to a model of your own, given by config or sizes."
            yield FieldError("conflict", pointer("model", name), show(model[name]), "absent with id", detail)
    if set(given) - {"max_context", "params_active_b"}:
        for name in ("layers", "hidden", "n_heads"):
            if model.get(name) is None:
                detail = f"{name} is required where other sizes are given."
                yield FieldError("missing", pointer("model", name), "", "required with sizes", detail)
        if model.get("params_active_b") is not None:
            detail = "params_active_b goes with params_total_b alone."
            yield FieldError("conflict", "/model/params_active_b", "", "absent with sizes", detail)
    elif sized and model.get("params_total_b") is None:
        yield FieldError("missing", "/model/params_total_b", "", "required", "params_total_b is required.")
    heads, kv_heads = number(model.get("n_heads")), number(model.get("n_kv_heads"))
    if heads and kv_heads and (kv_heads > heads or heads % kv_heads):
        yield FieldError(
            "heads_not_divisible", "/model/n_kv_heads", show(model["n_kv_heads"]), "a divisor of n_heads",
            f"{heads:g} heads cannot be grouped over {kv_heads:g} KV heads.",
        )  # fmt: skip


def _users(data: dict[str, Any]) -> Found:
    users = part(data, "traffic", "users")
    if not isinstance(users, dict):
        return
    direct, share = users.get("active_users") is not None, users.get("total_users") is not None
    shared = users.get("active_ratio") is not None
    if direct == share and (share or not shared):
        yield FieldError(
            "one_of",
            "/traffic/users",
            "",
            "active_users, or total_users with active_ratio",
            "Say how many users are active, once: their number, or all users and the share that is active, not both.",
        )
    if share != shared:
        name = "active_ratio" if share else "total_users"
        yield FieldError(
            "missing",
            pointer("traffic", "users", name),
            "",
            "total_users with active_ratio",
            f"{name} is required here.",
        )
    active = number(users.get("active_users"))
    if active is None:
        total, ratio = number(users.get("total_users")), number(users.get("active_ratio"))
        active = total * ratio if total is not None and ratio is not None else None
    each = number(users.get("requests_per_user_hour"))
    if active and each and active > 0 and each > 0 and not 0.0001 <= active * each / 3600 <= 10_000:
        yield FieldError(
            "out_of_range", "/traffic/users", f"{active * each / 3600:g} requests/s", "0.0001 to 10000 requests/s",
            "Users × requests per hour / 3600 must be 0.0001 to 10000 requests per second.",
        )  # fmt: skip


def _trace_source(data: dict[str, Any]) -> Found:
    trace = part(data, "traffic", "trace")
    if isinstance(trace, dict):
        given = [key for key in ("builtin", "csv", "rows") if trace.get(key) is not None]
        if len(given) != 1:
            yield FieldError(
                "one_of",
                "/traffic/trace",
                ", ".join(given),
                "exactly one of builtin, csv, rows",
                "Give the trace once.",
            )


def _shape(data: dict[str, Any]) -> Found:
    shape = part(data, "traffic", "shape")
    ratio = number(part(shape, "peak_to_mean"))
    if isinstance(shape, dict) and shape.get("kind", "constant") == "constant" and ratio is not None and ratio != 1:
        yield FieldError(
            "conflict",
            "/traffic/shape/peak_to_mean",
            show(shape["peak_to_mean"]),
            "1, or another kind of shape",
            "A constant shape has no peak.",
        )


def _calibrations(data: dict[str, Any]) -> Found:
    """One deployment has one calibration, and the oldest of its runs is not younger than the newest."""
    stated, seen = data.get("calibrations"), set()
    for place, each in enumerate(stated if isinstance(stated, list | tuple) else ()):
        key = tuple(show(part(each, name)) for name in ("model", "weight_dtype", "gpu", "engine"))
        if isinstance(each, dict) and key in seen:
            what = "one calibration for each model, weight_dtype, gpu and engine"
            yield FieldError(
                "repeated", pointer("calibrations", place), key[0], what, "This deployment has one already."
            )
        seen.add(key)
        first, last = (day(part(each, name)) for name in ("measured_from", "measured_until"))
        if first and last and first > last:
            yield FieldError(
                "out_of_range", pointer("calibrations", place, "measured_until"), show(part(each, "measured_until")),
                f"{first} or later", "The newest run cannot be older than the oldest.",
            )  # fmt: skip


CHECKS: tuple[Callable[[dict[str, Any]], Found], ...] = (
    _model,
    _one_source,
    _users,
    _trace_source,
    _shape,
    _classes,
    _lengths,
    _prefix,
    _batch,
    _serving,
    _slo,
    _calibrations,
)
