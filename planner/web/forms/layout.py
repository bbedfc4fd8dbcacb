"""Which fields the form shows, in which section, under which label. Everything else about them comes from the schema.

`ways` and `kinds` say with which choice a field counts; with another choice it is hidden and left out, but kept.
"""

from dataclasses import dataclass
from typing import Literal

Widget = Literal["", "text", "area", "models", "providers", "api_models", "trace", "gpus", "list"]


@dataclass(frozen=True, slots=True)
class Item:
    """One field of the form by its dotted path in the scenario."""

    path: str
    label: str
    widget: Widget = ""
    kinds: tuple[str, ...] = ()
    optional: bool = False
    wide: bool = False
    help: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that stand together. `ways`: the choices of the section with which the group counts. `kind`: the path of
    the select that says which of its fields count. `folded`: behind a further fold. `chain`: shown as factors, each
    with what it comes to."""

    items: tuple[Item, ...]
    title: str = ""
    ways: tuple[str, ...] = ()
    kind: str = ""
    folded: bool = False
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A fold of the form. `way`: the name of its radio buttons, `options` their values and labels."""

    id: str
    title: str
    groups: tuple[Group, ...]
    way: str = ""
    options: tuple[tuple[str, str], ...] = ()
    open: bool = True
    note: str = ""


def _lengths(path: str, label: str) -> Group:
    return Group(
        (
            Item(f"{path}.kind", f"{label}, described by"),
            Item(f"{path}.mean", f"{label}, mean", kinds=("lognormal",)),
            Item(f"{path}.p95", f"{label}, p95", kinds=("lognormal",), optional=True),
            Item(f"{path}.p50", f"{label}, p50", kinds=("lognormal",), optional=True),
            Item(f"{path}.tokens", f"{label}, every request", kinds=("fixed",)),
            Item(f"{path}.values", f"{label}, observed", "list", kinds=("empirical",), wide=True),
        ),
        title=label,
        ways=("rate", "users"),
        kind=f"{path}.kind",
    )


def _targets(
    percentiles: tuple[int, ...], metrics: tuple[str, ...] = ("ttft", "tpot", "itl", "e2e")
) -> tuple[Item, ...]:
    return tuple(
        Item(f"slo.{metric}_p{percentile}_ms", f"{metric.upper()} p{percentile}", optional=True)
        for metric in metrics
        for percentile in percentiles
    )


_SIZES = (
    ("params_total_b", "Parameters", False),
    ("layers", "Layers", True),
    ("hidden", "Hidden size", True),
    ("n_heads", "Query heads", True),
    ("n_kv_heads", "KV heads", True),
    ("head_dim", "Head size", True),
    ("intermediate", "Feed-forward size", True),
    ("vocab", "Vocabulary", True),
    ("max_context", "Longest context", True),
)
_SIZE_HELP = {"n_kv_heads": "Key and value heads; fewer than query heads with grouped-query attention."}
API_ROWS = 4

SECTIONS: tuple[Section, ...] = (
    Section(
        "model",
        "Model",
        (
            Group((Item("model.id", "Model", "models", wide=True),), ways=("id",)),
            Group((Item("model.hf_config", "config.json", "area", wide=True),), ways=("config",)),
            Group(
                tuple(
                    Item(f"model.{name}", label, optional=opt, help=_SIZE_HELP.get(name, ""))
                    for name, label, opt in _SIZES
                ),
                ways=("sizes",),
            ),
            Group(
                (
                    Item("model.weight_dtype", "Weights"),
                    Item("model.kv_dtype", "KV cache"),
                    Item("engine.max_model_len", "Longest context served", optional=True),
                )
            ),
        ),
        way="way.model",
        options=(("id", "From the catalog"), ("config", "A config.json"), ("sizes", "By sizes")),
    ),
    Section(
        "traffic",
        "Traffic",
        (
            Group(
                (
                    Item("traffic.arrival.kind", "Arrivals"),
                    Item("traffic.arrival.mean_rps", "Mean over the week"),
                    Item("traffic.arrival.cv", "Variation of the gaps", kinds=("gamma",)),
                ),
                title="How many requests",
                ways=("rate",),
                kind="traffic.arrival.kind",
            ),
            Group(
                (
                    Item("traffic.users.total_users", "Users", help="Everyone with access."),
                    Item(
                        "traffic.users.active_ratio",
                        "Share active at a time",
                        help="Mean over the week: 0.08 with a peak of 2.4 is a fifth of all in the busiest hour.",
                    ),
                    Item(
                        "traffic.users.requests_per_user_hour",
                        "Requests of an active user",
                        help="12 to 120 an hour is usual; an agent sends each of its steps.",
                    ),
                    Item(
                        "traffic.users.active_users",
                        "Or: users active at a time",
                        optional=True,
                        help="Instead of the first two lines.",
                    ),
                ),
                title="How many requests",
                ways=("users",),
                chain=True,
            ),
            Group(
                (Item("traffic.trace", "Recorded requests", "trace", wide=True),),
                title="Recorded requests",
                ways=("trace",),
            ),
            Group(
                (
                    Item(
                        "traffic.shape.kind",
                        "Shape of the week",
                        help="How the load rises and falls over the 168 hours of a week.",
                    ),
                    Item("traffic.shape.peak_to_mean", "Peak ÷ mean", optional=True),
                ),
                title="The week",
            ),
            _lengths("traffic.prompt_tokens", "Prompt tokens"),
            _lengths("traffic.output_tokens", "Output tokens"),
            Group(
                (
                    Item("traffic.prefix.kind", "What prompts share"),
                    Item("traffic.prefix.tokens", "Shared prefix", kinds=("shared",)),
                    Item("traffic.prefix.groups", "Different prefixes", kinds=("shared",)),
                ),
                title="Shared prefix",
                ways=("rate", "users"),
                kind="traffic.prefix.kind",
            ),
        ),
        way="way.traffic",
        options=(("rate", "A rate"), ("users", "Users"), ("trace", "A trace")),
    ),
    Section(
        "slo",
        "Targets",
        (
            Group(
                (
                    *_targets((95,), ("ttft", "tpot", "e2e")),
                    Item("slo.goodput_min_ratio", "Goodput, at least", optional=True),
                )
            ),
            Group((*_targets((95,), ("itl",)), *_targets((50, 90, 99))), title="Other percentiles", folded=True),
        ),
        note="At least one. All are judged over the peak hour, with the serving replicas alone.",
    ),
    Section(
        "hardware",
        "Hardware",
        (
            Group(
                (
                    Item(
                        "hardware.gpus",
                        "GPUs to try",
                        "gpus",
                        wide=True,
                        help="Prices are per GPU-hour: the median of on-demand listings, how many, and their span. "
                        "Beside a ticked GPU you can enter what you pay.",
                    ),
                )
            ),
            Group((Item("hardware.tensor_parallel", "Tensor-parallel sizes", "list", optional=True),)),
        ),
    ),
    Section(
        "api",
        "API to compare",
        (
            Group(
                tuple(
                    item
                    for row in range(API_ROWS)
                    for item in (
                        Item(f"api.alternatives.{row}.provider", f"Provider {row + 1}", "providers", optional=True),
                        Item(f"api.alternatives.{row}.model", f"Its model {row + 1}", "api_models", optional=True),
                    )
                )
            ),
        ),
        open=False,
        note="The verdict compares your own fleet with these at list prices, for the same tokens. Choose models that "
        "would do your job as well: answers are not compared.",
    ),
    Section(
        "engine",
        "Engine",
        (
            Group(
                (
                    Item("engine.name", "Engine"),
                    Item("engine.version", "Version", "text", optional=True),
                    Item("engine.max_num_seqs", "Sequences in a step, at most", optional=True),
                    Item("engine.max_num_batched_tokens", "Tokens in a step, at most", optional=True),
                    Item("engine.gpu_memory_utilization", "Share of memory used", optional=True),
                    Item("engine.block_size", "KV block", optional=True),
                    Item("engine.enable_prefix_caching", "Prefix cache"),
                    Item("engine.enable_chunked_prefill", "Chunked prefill"),
                    Item("engine.max_tokens", "Output cut at", optional=True),
                )
            ),
        ),
        open=False,
        note="What is left empty takes the default of the engine's version.",
    ),
    Section(
        "billing",
        "Billing, dates and seed",
        (
            Group(
                (
                    Item("billing.hours_per_month", "Hours in a month"),
                    Item("billing.spare_replicas", "Spare replicas"),
                    Item("priced_at", "Prices of", "text"),
                    Item("seed", "Seed"),
                )
            ),
        ),
        open=False,
    ),
)


def items() -> tuple[Item, ...]:
    """Every field of the form, in its order."""
    return (
        Item("name", "Name of the scenario", "text", wide=True),
        *(item for section in SECTIONS for group in section.groups for item in group.items),
    )
