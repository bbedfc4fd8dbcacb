"""KV caches that engines logged at start-up, against the memory model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from costmodel import (
    Deployment,
    DeploymentError,
    Parallelism,
    UnknownIdError,
    engine_profile,
    make_deployment,
    memory_plan,
)
from planner.planning.validation.compare import Comparison, Missing, deployment_groups
from planner.planning.validation.names import accelerator_named, model_named
from planner.planning.validation.rows import read_table
from planner.planning.validation.setups import ENGINES, WEIGHT_DTYPES
from planner.planning.validation.unusable import Unusable

REQUIRED = frozenset({"id", "model", "gpu", "engine", "kv_cache_tokens"})
GIB = 2**30


def compare_kv_caches(content: bytes) -> list[Comparison | Missing]:
    """Every row of a `kvcache.csv`: predicted over logged tokens, or the reason that there is none."""
    table = read_table(content, REQUIRED)
    if isinstance(table, str):
        return [Missing("kvcache", "", table)]
    return [_compare(record) for record in table]


def _compare(record: Mapping[str, str]) -> Comparison | Missing:
    row_id = record.get("id", "")
    try:
        if record.get("trust") == "bronze":
            raise Unusable("trust bronze")
        deployment = _deployment(record)
        ratio = _ratio(record, deployment)
    except Unusable as problem:
        return Missing("kvcache", row_id, str(problem))
    except (ValueError, ArithmeticError, LookupError) as problem:
        return Missing("kvcache", row_id, f"failed: {type(problem).__name__}")
    groups = {**deployment_groups(deployment), "load": "start-up", "source": row_id.split("-")[0]}
    return Comparison("kvcache", row_id, ratio, None, groups)


def _ratio(record: Mapping[str, str], deployment: Deployment) -> float:
    plan = memory_plan(deployment)
    tokens, gib = _number(record, "kv_cache_tokens"), _number(record, "kv_cache_gib")
    if plan.kv_pool_bytes <= 0:
        raise Unusable("model does not fit by our memory model")
    if tokens:
        return plan.kv_tokens / tokens
    if gib:
        return plan.kv_pool_bytes / GIB / gib
    raise Unusable("KV cache not stated")


def _deployment(record: Mapping[str, str]) -> Deployment:
    model, accelerator = model_named(record["model"]), accelerator_named(record["gpu"])
    engine = ENGINES.get(record["engine"])
    if engine is None:
        raise Unusable("engine not modelled")
    version = re.search(r"\d+(\.\d+)+", record.get("engine_version", ""))
    dtype = WEIGHT_DTYPES.get(re.split(r"[-/ ]", record.get("weight_dtype", ""))[0])
    if dtype is None:
        raise Unusable("weight dtype not usable")
    try:
        return make_deployment(
            model,
            accelerator,
            engine_profile(engine, version.group(0) if version else None),
            Parallelism(tp=_count(record, "tp") or 1),
            weight_dtype="native" if dtype == model.native_weight_dtype else dtype,
            kv_dtype="fp8" if record.get("kv_dtype", "").startswith("fp8") else "auto",
            max_model_len=_count(record, "max_model_len"),
            max_num_seqs=_count(record, "max_num_seqs"),
            max_num_batched_tokens=_count(record, "max_num_batched_tokens"),
            gpu_memory_utilization=_number(record, "gpu_memory_utilization"),
            block_size=_count(record, "block_size"),
        )
    except (DeploymentError, UnknownIdError) as problem:
        raise Unusable("deployment refused") from problem


def _number(record: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(record.get(name, "").rstrip("?"))
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _count(record: Mapping[str, str], name: str) -> int | None:
    value = _number(record, name)
    return int(value) if value is not None and value == int(value) else None
