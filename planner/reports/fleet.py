"""The recommended fleet: what to run, how busy it is, and the check on the simulation."""

from collections.abc import Mapping
from typing import Any

from planner.reports import computed, names
from planner.reports.headline import candidate_of
from planner.reports.numbers import number, percent, plain_decimal, range_text, requests_per_s, significant
from planner.reports.parts import Fact

Report = Mapping[str, Any]
LITTLE_TOLERANCE_RATIO = 0.05


def layout_facts(report: Report) -> tuple[Fact, ...]:
    """What to buy and start."""
    fleet = report["recommended"]
    row = candidate_of(report) or {}
    load = report.get("load") or {}
    capacity = row.get("capacity_rps") or {}
    hows = computed.load_hows(report)
    facts = [
        Fact("GPU", names.gpu(fleet["gpu"])),
        Fact("Layout of a replica", names.layout(fleet), term="tp", note=_per_replica(fleet)),
        Fact(
            "Weights, KV cache", f"{names.dtype(row.get('weight_dtype', ''))}, {names.dtype(row.get('kv_dtype', ''))}"
        ),
        Fact("Replicas", f"{fleet['serving_replicas']} serving + {fleet['spare_replicas']} spare", term="spare"),
        *_pool_facts(fleet),
        *_router_facts(fleet),
        Fact("GPUs", number(fleet["gpus"]), strong=True),
        Fact(
            "Capacity of a replica",
            requests_per_s(capacity.get("mid")),
            "req/s",
            term="capacity",
            note=range_text(capacity, requests_per_s) if capacity else "",
            rule=True,
            how=computed.capacity_how(row),
        ),
        Fact(
            "Load on each, peak hour",
            requests_per_s(load.get("per_replica_rps")),
            "req/s",
            how=hows.get("how-per-replica"),
        ),
    ]
    if load.get("saturation_rps") is not None:
        facts.append(Fact("Fleet saturates at", requests_per_s(load["saturation_rps"]), "req/s", term="saturation"))
    return tuple(facts)


def _router_facts(fleet: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Where requests are not dealt in turn: how, and what that saves."""
    router = fleet.get("router") or {}
    if router.get("key", "round_robin") == "round_robin":
        return ()
    return (Fact("Router", router["key"].replace("_", " "), note=router["sentence"]),)


def _pool_facts(fleet: Mapping[str, Any]) -> tuple[Fact, ...]:
    """What is apart; reports from before pools were planned have none."""
    pools = fleet.get("pools") or ()
    what = {"prefill": "for prompts", "decode": "for outputs"}
    split = ", ".join(f"{number(row['serving_replicas'])} {what[row['role']]}" for row in pools)
    spares = (pools[0].get("spare_replicas") or 0) if pools else 0
    note = f"and {number(spares)} spare in each pool" if spares else ""
    return (Fact("Of the serving", split, term="disaggregation", note=note),) if pools else ()


def load_facts(report: Report) -> tuple[Fact, ...]:
    """How the fleet stands at the peak hour."""
    load = report.get("load") or {}
    hows = computed.load_hows(report)
    facts = [
        Fact("Peak hour", requests_per_s(load.get("offered_rps")), "req/s"),
        Fact("Mean of the week", requests_per_s(load.get("mean_rps")), "req/s", how=hows.get("how-mean")),
        Fact(
            "Utilisation", percent(load.get("utilisation_ratio")), term="utilisation", how=hows.get("how-utilisation")
        ),
        Fact("Headroom to saturation", percent(load.get("headroom_ratio")), how=hows.get("how-headroom")),
        Fact(
            "In flight on the fleet, mean",
            significant(load.get("concurrency_mean")),
            "requests",
            rule=True,
            how=hows.get("how-concurrency"),
        ),
    ]
    facts += _little(load.get("littles_law"))
    facts += _seats(load.get("seats"))
    facts.append(
        Fact(
            "KV cache in use, mean and peak",
            f"{percent(load.get('kv_mean_ratio'))}, {percent(load.get('kv_peak_ratio'))}",
            term="kv",
            how=hows.get("how-kv"),
        )
    )
    facts.append(
        Fact("Preempted", percent(load.get("preemption_ratio"), 1), "of requests", term="preemption", note=_times(load))
    )
    facts.append(Fact("Prefix cache hits", percent(load.get("cache_hit_ratio"), 1), "of input tokens", term="prefix"))
    if load.get("cut_ratio"):
        facts.append(Fact("Requests cut at the longest context", percent(load["cut_ratio"], 2)))
    return tuple(facts)


def engine_facts(report: Report) -> tuple[tuple[str, str], ...]:
    """The engine's settings, by the engine's own names."""
    settings = report["recommended"].get("engine") or {}
    return tuple((key, _setting(value)) for key, value in settings.items() if value is not None)


def _little(law: Mapping[str, Any] | None) -> list[Fact]:
    if not law or law.get("product") is None or law.get("measured") is None:
        return []
    measured = law["measured"]
    near = abs(law["product"] - measured) <= LITTLE_TOLERANCE_RATIO * max(abs(measured), 1e-9)
    label = f"{significant(law['arrival_rps'])} req/s × {significant(law['mean_e2e_s'])} s"
    verdict = "agrees" if near else "does not agree: the load is not steady"
    return [Fact(label, significant(law["product"]), term="little", note=verdict)]


def _seats(chain: Mapping[str, Any] | None) -> list[Fact]:
    """From the rate of one engine to its seats and its KV cache, as a mean and as a percentile."""
    if not chain:
        return []
    law = f"{significant(chain['arrival_rps'])} req/s × {significant(chain['e2e_s'])} s"
    return [
        Fact(
            "In flight on one engine, mean and p95",
            f"{significant(chain['concurrency_mean'])}, {number(chain['concurrency_p95'])}",
            term="little",
            note=f"{law}, of {number(chain['seats'])} seats; closed form, p95 of a Poisson number",
        ),
        Fact(
            "KV cache for them, mean and p95",
            f"{number(chain['kv_tokens_mean'])}, {number(chain['kv_tokens_p95'])}",
            "tokens",
            term="kv",
            note=f"× {number(chain['context_tokens_mean'])} tokens each; the cache holds {number(chain['kv_tokens'])}",
        ),
    ]


def _times(load: Mapping[str, Any]) -> str:
    count = load.get("preemptions")
    return f"{number(count)} times" if count else ""


def _per_replica(fleet: Mapping[str, Any]) -> str:
    per_replica = fleet["gpus"] // fleet["replicas"]
    return "one GPU each" if per_replica == 1 else f"{per_replica} GPUs each"


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return plain_decimal(value) if isinstance(value, int | float) else str(value)
