"""What someone's own measurements say about one deployment: a few factors on the step-time constants, and intervals."""

from __future__ import annotations

from dataclasses import dataclass

Ratios = tuple[float, float]


@dataclass(frozen=True, slots=True)
class StepFactors:
    """Multiples of the shipped constants of the step-time model; 1 leaves them as they are.

    compute         share of the FLOP peak that GEMMs, experts and attention reach
    bandwidth       share of the memory bandwidth that weights, KV cache and activations reach
    host            time of scheduler, launches and bookkeeping, per step, layer and sequence
    communication   time of collectives between GPUs
    request         time outside the steps, once per request (HTTP, tokenizer)
    """

    compute: float = 1.0
    bandwidth: float = 1.0
    host: float = 1.0
    communication: float = 1.0
    request: float = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Factors fitted to measured runs of a deployment, and what held-out runs were off by.

    Ratios are measured over predicted, the tenth and the ninetieth percentile, as in `Coverage`; `basis` says in words
    what stands behind them.
    """

    factors: StepFactors
    step_time_ratios: Ratios
    closed_ttft_ratios: Ratios
    open_ttft_ratios: Ratios
    runs: int
    basis: str
