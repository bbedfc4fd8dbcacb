"""Which fields the form shows, in which section, under which label."""

from planner.web.forms.layout import Group, Item, Section
from planner.web.forms.traffic_section import TRAFFIC


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
    ("params_active_b", "Active parameters", True),
    ("layers", "Layers", True),
    ("hidden", "Hidden size", True),
    ("n_heads", "Query heads", True),
    ("n_kv_heads", "KV heads", True),
    ("head_dim", "Head size", True),
    ("intermediate", "Feed-forward size", True),
    ("vocab", "Vocabulary", True),
    ("max_context", "Longest context", True),
)
_SIZE_HELP = {
    "params_active_b": "Of a mixture of experts: parameters read for one token.",
    "n_kv_heads": "Key and value heads; fewer than query heads with grouped-query attention.",
}
API_ROWS = 8
API_FIELDS = ("provider", "model", "service_tier", "caching", "discount_ratio", "min_usd_per_month")


def _terms(row: int) -> tuple[Item, ...]:
    """What was agreed with the provider of one row."""
    labels = ("Tier of service", "Cache of prompts", "Discount", "Month at least")
    helps = {"caching": "How shared prefixes use the provider's cache, where it has one."}
    return tuple(
        Item(f"api.alternatives.{row}.{name}", f"{label}, provider {row + 1}", help=helps.get(name, ""))
        for name, label in zip(API_FIELDS[2:], labels, strict=True)
    )


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
                    Item("model.name", "What it is called", optional=True),
                    Item("model.source", "Where its figures are from", optional=True),
                    Item("model.as_of", "As of", optional=True),
                ),
                ways=("config", "sizes"),
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
    TRAFFIC,
    Section(
        "batch",
        "Requests that may wait",
        (
            Group(
                (
                    Item("traffic.batch.requests_per_day", "Requests with a deadline", optional=True),
                    Item("traffic.batch.deadline_hours", "Done within", optional=True),
                    Item("traffic.batch.submitted_at_hour", "All come in hour", optional=True),
                    Item("traffic.batch.prompt_tokens_mean", "Prompt, mean", optional=True),
                    Item("traffic.batch.output_tokens_mean", "Output, mean", optional=True),
                )
            ),
        ),
        open=False,
        note="They fill the hours in which the fleet has replicas to spare before they buy any.",
    ),
    Section(
        "slo",
        "Targets",
        (
            Group(
                (
                    *_targets((95,), ("ttft", "tpot", "e2e")),
                    Item("slo.goodput_min_ratio", "Goodput, at least", optional=True),
                    Item("slo.confidence_ratio", "Met with a probability of", optional=True),
                )
            ),
            Group((*_targets((95,), ("itl",)), *_targets((50, 90, 99))), title="Other percentiles", folded=True),
            Group(
                (
                    Item("slo.goodput.ttft_ms", "TTFT at most", optional=True),
                    Item("slo.goodput.tpot_ms", "TPOT at most", optional=True),
                    Item("slo.goodput.e2e_ms", "E2E at most", optional=True),
                    Item("slo.goodput.min_ratio", "Share that meets all", optional=True),
                    Item("slo.window", "Judged over"),
                ),
                title="Goodput by thresholds of its own",
                folded=True,
            ),
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
                        "Beside a ticked GPU you can enter what you pay, and how many you have.",
                    ),
                )
            ),
            Group(
                (
                    Item("hardware.tensor_parallel", "Tensor-parallel sizes", "list", optional=True),
                    Item("hardware.pipeline_parallel", "Pipeline stages", "list", optional=True),
                    Item("hardware.max_gpus", "Quota", optional=True),
                    Item("hardware.regions", "Regions", "list", optional=True),
                    Item("hardware.providers", "Renters", "list", optional=True),
                ),
                title="Layouts, quota, and whose listings count",
                folded=True,
            ),
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
            Group(
                tuple(item for row in range(API_ROWS) for item in _terms(row)),
                title="What was agreed with them: tier of service, cache, discount, minimum",
                folded=True,
            ),
            Group((Item("api.utc_offset_hours", "The week's clock ahead of UTC", optional=True),)),
        ),
        open=False,
        note="The verdict compares your own fleet with these at list prices, for the same tokens. Choose models that "
        "would do your job as well: answers are not compared. Own prices of a saved scenario are kept while "
        "provider and model stay; they are changed over the API.",
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
            Group(
                (
                    Item("serving.router", "Requests go to"),
                    Item("serving.disaggregation", "Prompts and outputs on engines of their own"),
                    Item("serving.kv_link_gb_per_s", "Link between them"),
                    Item("serving.kv_latency_ms", "KV usable after"),
                )
            ),
        ),
        open=False,
        note="What is left empty takes the default of the engine's version.",
    ),
    Section(
        "uncertainty",
        "How sure you are",
        (
            Group(
                (
                    Item("uncertainty.load_factor", "Load"),
                    Item("uncertainty.prompt_tokens_factor", "Prompt lengths"),
                    Item("uncertainty.output_tokens_factor", "Output lengths"),
                    Item("uncertainty.token_ratio_factor", "Tokens of the API"),
                    Item("uncertainty.gpu_price_factor", "GPU price", optional=True),
                    Item("uncertainty.api_price_factor", "API price"),
                    Item("uncertainty.horizon_months", "Horizon"),
                )
            ),
        ),
        open=False,
        note="1.25 means: eight times of ten between the planned value ÷ 1.25 and × 1.25.",
    ),
    Section(
        "costs",
        "Further costs, growth, own hardware",
        (
            Group(
                (
                    Item("costs.staff_usd_per_month", "Staff"),
                    Item("costs.on_call_usd_per_month", "On-call"),
                    Item("costs.network_storage_usd_per_month", "Network and storage"),
                    Item("costs.monitoring_usd_per_month", "Monitoring"),
                    Item("costs.one_off_usd", "Once, at the start"),
                    Item("costs.api_staff_usd_per_month", "Staff for the API"),
                    Item("costs.api_retry_ratio", "API retries"),
                    Item("costs.api_token_ratio", "API tokens per own token"),
                    Item("costs.growth_per_month_ratio", "Growth a month"),
                    Item("costs.discount_per_year_ratio", "Discount a year"),
                )
            ),
            Group(
                (
                    Item("costs.own_hardware.usd_per_gpu", "Price of a GPU", optional=True),
                    Item("costs.own_hardware.months", "Depreciated over", optional=True),
                    Item("costs.own_hardware.residual_ratio", "Residual value", optional=True),
                    Item("costs.own_hardware.maintenance_per_year_ratio", "Maintenance", optional=True),
                    Item("costs.own_hardware.kw_per_gpu", "Power of a GPU", optional=True),
                    Item("costs.own_hardware.pue", "PUE", optional=True),
                    Item("costs.own_hardware.usd_per_kwh", "Price of power", optional=True),
                    Item("costs.own_hardware.colocation_usd_per_gpu_month", "Colocation", optional=True),
                )
            ),
        ),
        open=False,
    ),
    Section(
        "billing",
        "Billing, dates and seed",
        (
            Group(
                (
                    Item(
                        "billing.mode",
                        "The plan is billed",
                        help="What the month of the plan is: every replica every hour, or the hours that a schedule, a "
                        "rule, a commitment or spot leaves to pay.",
                    ),
                    Item("billing.hours_per_month", "Hours in a month"),
                    Item("billing.spare_replicas", "Spare replicas"),
                    Item("billing.max_usd_per_month", "Budget", optional=True),
                    Item("billing.ready_s", "Start of a replica"),
                    Item("billing.idle_s", "Idle before it stops"),
                    Item("billing.spot_interruptions_per_hour", "Spot interruptions"),
                    Item("billing.spot_price_ratio", "Spot over on-demand price", optional=True),
                    Item("billing.reserved_1y_discount_ratio", "Off for one year"),
                    Item("billing.reserved_3y_discount_ratio", "Off for three years"),
                    Item("billing.allowed_modes", "Modes that cheapest may choose", "list", optional=True, wide=True),
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
