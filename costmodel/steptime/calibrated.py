"""Constants of one deployment with the factors of its calibration, where it has one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costmodel.deployment.calibration import StepFactors
from costmodel.deployment.deployment import Deployment
from costmodel.steptime.constants import StepConstants, constant_keys, resolve_constants

COMPUTE = ("gemm_efficiency", "plain_efficiency", "moe_efficiency", "head_efficiency", "prefill_efficiency",
           "decode_attention_efficiency")  # fmt: skip
BANDWIDTH = ("weight_bandwidth", "kv_bandwidth", "activation_bandwidth", "moe_bandwidth")
HOST = ("host_step_s", "host_layer_s", "host_moe_layer_s", "host_latent_layer_s", "host_recurrent_layer_s",
        "host_quantised_layer_s", "host_sequence_s", "host_prefill_s", "prefill_layer_s", "prefill_moe_layer_s",
        "prefill_mixer_layer_s")  # fmt: skip
COMMUNICATION_TIMES = ("collective_latency_s", "exchange_latency_s")
COMMUNICATION_SHARES = ("collective_bandwidth",)
REQUEST = ("request_s", "request_token_s")


def deployment_constants(deployment: Deployment, document: dict[str, Any] | None = None) -> StepConstants:
    """The shipped constants, or those of `document`, times the deployment's own factors."""
    constants = resolve_constants(constant_keys(deployment), document)
    own = deployment.calibration
    return constants if own is None else with_factors(constants, own.factors)


def with_factors(constants: StepConstants, factors: StepFactors) -> StepConstants:
    """Every constant times its factor; of a share that communication uses, a longer time is a smaller share."""
    changed = {
        **dict.fromkeys(COMPUTE, factors.compute),
        **dict.fromkeys(BANDWIDTH, factors.bandwidth),
        **dict.fromkeys(HOST, factors.host),
        **dict.fromkeys(COMMUNICATION_TIMES, factors.communication),
        **dict.fromkeys(COMMUNICATION_SHARES, 1.0 / factors.communication),
        **dict.fromkeys(REQUEST, factors.request),
    }
    return replace(constants, **{name: getattr(constants, name) * factor for name, factor in changed.items()})
