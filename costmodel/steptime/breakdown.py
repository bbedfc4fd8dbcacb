"""One step's time line by line, so that a reader can recompute it by hand."""

from __future__ import annotations

from typing import Any

from costmodel.deployment.deployment import Deployment
from costmodel.steptime.calibrated import deployment_constants
from costmodel.steptime.constants import StepConstants
from costmodel.steptime.physics import ALL_PARTS, Load, experts_touched
from costmodel.steptime.shape import StepShape, step_shape

PartLine = tuple[str, float, str]


def step_time_parts(
    deployment: Deployment,
    *,
    tokens: int,
    decode_seqs: int = 0,
    context_tokens: int = 0,
    prefill_pairs: int = 0,
    prefill_seqs: int = 0,
    constants: dict[str, Any] | None = None,
) -> tuple[PartLine, ...]:
    """(label, seconds, formula with its numbers) of every part that takes time; they sum to the tables' step.

    The sum differs from the table by rounding to whole picoseconds only. Arguments as in `StepTimeTables`.
    """
    shape = step_shape(deployment)
    c = deployment_constants(deployment, constants)
    load = Load(
        float(tokens),
        float(decode_seqs),
        float(context_tokens),
        float(prefill_pairs),
        float(prefill_seqs),
        float(prefill_seqs > 0),
    )
    formulas = _formulas(shape, c, load)
    lines = ((label, float(part(shape, c, load)), formulas[label]) for label, part in ALL_PARTS.items())
    return tuple(line for line in lines if line[1] > 0)


def _formulas(shape: StepShape, c: StepConstants, load: Load) -> dict[str, str]:
    """The formula of every part with this step's numbers in it."""
    return {**_gemm_formulas(shape, c, load), **_message_formulas(shape, c, load), **_other_formulas(shape, c, load)}


def _gemm_formulas(shape: StepShape, c: StepConstants, load: Load) -> dict[str, str]:
    touched = float(experts_touched(shape, load))
    routed = load.tokens * shape.attention_ranks * shape.experts_active
    weights = shape.moe_layers * shape.expert_params / shape.expert_shards
    share = c.moe_efficiency * shape.expert_width / (shape.expert_width + c.moe_half_width)
    return {
        "dense GEMMs": (
            f"rounded max (power {c.roofline_power:g}) of 2·({load.tokens:g}·{_big(shape.dense_params)}"
            f" + {_big(c.gemm_tile_area)}·{_big(shape.gemm_depth)})"
            f" / ({c.gemm_efficiency:.3f}·{_big(shape.dense_flops)}FLOP/s)"
            f" + 2·{load.tokens:g}·{_big(shape.plain_params)}"
            f" / ({c.plain_efficiency:.3f}·{_big(shape.attention_flops)}FLOP/s)"
            f" and {_big(shape.dense_bytes)}B / ({c.weight_bandwidth:.3f}·{_big(shape.bandwidth)}B/s)"
        ),
        "experts": (
            f"2·{_big(weights)}·{routed:g} / ({share:.3f}·{_big(shape.expert_flops)}FLOP/s) + {_big(weights)}·"
            f"{touched:.1f}·{shape.expert_bytes_per_param:g}B / ({c.moe_bandwidth:.3f}·{_big(shape.bandwidth)}B/s);"
            f" {touched:.1f} of {shape.experts:g} experts touched a layer"
        ),
        "output matrix, weights": f"{_big(shape.head_bytes)}B / ({c.weight_bandwidth:.3f}·{_big(shape.bandwidth)}B/s)",
        "output matrix, FLOPs": (
            f"2·{_big(shape.head_params)}·{load.seats:g}"
            f" / ({c.head_efficiency:.3f}·{_big(shape.attention_flops)}FLOP/s)"
        ),
    }


def _message_formulas(shape: StepShape, c: StepConstants, load: Load) -> dict[str, str]:
    bandwidth = f"({c.collective_bandwidth:.3f}·{_big(shape.link_bandwidth)}B/s)"
    latency = f"{c.collective_latency_s * 1e6:.2f} µs"
    exchange = f"{c.exchange_latency_s * 1e6:.1f} µs·({shape.attention_ranks:g}/8)^{c.exchange_power:.2f}"
    grow = f"(1 + {c.collective_growth:.3f}·({shape.tp:g} - 2))"
    fan_out = min(float(shape.experts_active), float(shape.attention_ranks) - 1)
    return {
        "all-reduce": (
            f"{shape.all_reduces:g}·({latency}·{grow} + 2·({shape.tp:g} - 1)/{shape.tp:g}·{load.tokens:g}·"
            f"{shape.hidden:g}·2 B / {bandwidth})"
        ),
        "all-to-all": (
            f"{shape.moe_layers:g}·(2·{exchange} + {load.tokens:g}·{fan_out:g}·{shape.hidden:g}·3 B / {bandwidth})"
        ),
        "pipeline hand-over": f"({shape.pp:g} - 1)·({latency} + {load.tokens:g}·{shape.hidden:g}·2 B / {bandwidth})",
    }


def _other_formulas(shape: StepShape, c: StepConstants, load: Load) -> dict[str, str]:
    prefill_rate = f"({c.prefill_efficiency:.3f}·{_big(shape.attention_flops)}FLOP/s)"
    launches = (
        f"{shape.layers:g}·{c.prefill_layer_s * 1e6:.2f} µs"
        f" + {shape.moe_layers:g}·{c.prefill_moe_layer_s * 1e6:.2f} µs"
        f" + {shape.latent_layers + shape.recurrent_layers:g}·{c.prefill_mixer_layer_s * 1e6:.2f} µs"
    )
    kv_rate = f"({c.kv_bandwidth:.3f}·{_big(shape.bandwidth)}B/s)"
    return {
        "norms and activations": (
            f"{load.tokens:g}·{_big(shape.token_bytes)}B / ({c.activation_bandwidth:.3f}·{_big(shape.bandwidth)}B/s)"
        ),
        "windowed attention": f"{load.tokens:g}·{_big(shape.window_flops_per_token)}FLOP / {prefill_rate}",
        "host, per layer": (
            f"{shape.layers:g}·{c.host_layer_s * 1e6:.2f} µs + {shape.moe_layers:g}·{c.host_moe_layer_s * 1e6:.2f} µs"
            f" + {shape.latent_layers:g}·{c.host_latent_layer_s * 1e6:.2f} µs"
            f" + {shape.recurrent_layers:g}·{c.host_recurrent_layer_s * 1e6:.2f} µs"
            f" + {shape.quantised_layers:g}·{c.host_quantised_layer_s * 1e6:.2f} µs"
        ),
        "host, per step": f"{c.host_step_s * 1e6:.1f} µs",
        "windows and states": f"{load.seats:g}·{_big(shape.seat_bytes)}B / {kv_rate}",
        "host, per sequence": f"{load.seats:g}·{c.host_sequence_s * 1e6:.2f} µs",
        "KV cache": (
            f"{load.context:g}·max({_big(shape.context_bytes)}B / {kv_rate}, {_big(shape.context_flops)}FLOP /"
            f" ({c.decode_attention_efficiency:.3f}·{_big(shape.attention_flops)}FLOP/s))"
        ),
        "prefill attention": f"{load.pairs:g}·{_big(shape.pair_flops)}FLOP / {prefill_rate}",
        "host, per prefilling sequence": f"{load.prefills:g}·{c.host_prefill_s * 1e6:.1f} µs",
        "host, launches of long steps": launches,
        "host, launches of prefill": launches,
    }


def _big(value: object) -> str:
    """A count with a metric prefix: 70.6 G."""
    number = float(value)  # type: ignore[arg-type]
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= factor:
            return f"{number / factor:.4g} {prefix}"
    return f"{number:.4g} "
