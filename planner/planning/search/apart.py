"""Prefill and decode pools: what one engine of each serves by the closed form, and how engines are shared out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from costmodel.memory.plan import MemoryPlan
from planner.planning.schema.serving import Serving
from planner.planning.search.room import cached_tokens, sequences_in_pool
from planner.planning.traffic.load import Mix
from simulator import EngineConfig, StepTime, Transfer, kv_token_ps

PS_PER_MS = 10**9
GB = 1e9
SEATS_TRIED = 256


@dataclass(frozen=True, slots=True)
class Apart:
    """How a fleet is divided. transfer: the way of a prompt's KV. prefill_ratio: the share of engines for prompts."""

    transfer: Transfer
    prefill_ratio: float

    def split(self, engines: int) -> tuple[int, int]:
        """Engines for prompts and for outputs, at least one of each."""
        prefill = min(engines - 1, max(1, round(engines * self.prefill_ratio)))
        return prefill, engines - prefill


@dataclass(frozen=True, slots=True)
class ApartRates:
    """Requests a second of one engine of each pool, filled to the brim. concurrency: sequences on the decode engine.
    within_limit: whether any mean decode step meets the TPOT target; where none does, one sequence runs."""

    prefill_rps: float
    decode_rps: float
    concurrency: float
    within_limit: bool

    @property
    def each_rps(self) -> float:
        """Of an engine when both pools are filled alike."""
        return 1 / (1 / self.prefill_rps + 1 / self.decode_rps)

    @property
    def prefill_ratio(self) -> float:
        """The share of engines for prompts with which both pools are filled alike."""
        return self.each_rps / self.prefill_rps

    def fewest(self, rate_rps: float) -> int:
        """Engines that carry a rate at least: each pool rounded up to whole ones."""
        return math.ceil(rate_rps / self.prefill_rps) + math.ceil(rate_rps / self.decode_rps)

    def best_prefill(self, engines: int) -> int:
        """Of so many engines, those for prompts with which the fleet carries most; the fewest of equals."""
        return max(
            range(1, engines),
            key=lambda prefill: (
                min(prefill * self.prefill_rps, (engines - prefill) * self.decode_rps),
                -abs(prefill / engines - self.prefill_ratio),
            ),
        )


def kv_transfer(memory: MemoryPlan, serving: Serving) -> Transfer:
    """Each GPU sends the KV that it holds over its own link, one request after the other; the decode engine computes
    the prompt's last token again, as vLLM's connectors have it."""
    return Transfer(
        token_ps=kv_token_ps(bytes_per_token=memory.kv_bytes_per_token, bytes_per_s=serving.kv_link_gb_per_s * GB),
        latency_ps=round(serving.kv_latency_ms * PS_PER_MS),
        link="prefill",
        first_output="decode",
    )


def apart_rates(
    config: EngineConfig, step: StepTime, mix: Mix, tpot_limit_ms: float | None, step_ratio: float = 1.0
) -> ApartRates:
    """A prefill engine computes steps of its whole budget C: a prompt of c tokens that are not cached takes
    (c / C) · (tokens_ps[C] + prefill_step_ps) + pairs · prefill_pair_ps + prefill_seq_ps. A decode engine has steps of
    n sequences and nothing else: n / ((E[output] − 1) · (tokens_ps[n] + seats_ps[n] + context_ps[n] · n · context)),
    at the best n within seats, KV pool and, where given, the TPOT target. Steps last `step_ratio` times as long.
    """
    budget = config.max_num_batched_tokens
    cached = cached_tokens(config, mix)
    computed = max(1.0, mix.prompt_tokens_mean - cached)
    pairs = float(((mix.prompt_tokens.astype(np.float64) ** 2 - cached**2) / 2).mean())
    steps = computed / budget
    prompt_ps = (
        steps * float(step.tokens_ps[budget] + step.prefill_step_ps)
        + pairs * step.prefill_pair_ps
        + step.prefill_seq_ps
        + float(step.context_ps[0]) * cached
    )
    most = max(1.0, min(float(config.max_num_seqs), sequences_in_pool(config, mix)))
    seats = np.geomspace(1.0, most, SEATS_TRIED)
    table = np.arange(len(step.seats_ps))
    step_ps = (
        np.interp(seats, np.arange(len(step.tokens_ps)), step.tokens_ps)
        + np.interp(seats, table, step.seats_ps)
        + np.interp(seats, table, step.context_ps) * seats * mix.context_tokens_mean
    )
    rates = seats / max(1.0, mix.output_tokens_mean - 1) / (step_ps * 1e-12)
    fast = step_ps * (1e-9 * step_ratio) <= (tpot_limit_ms or np.inf)
    best = int(np.argmax(np.where(fast, rates, -1.0))) if fast.any() else 0
    return ApartRates(
        prefill_rps=1e12 / prompt_ps / step_ratio,
        decode_rps=float(rates[best]) / step_ratio,
        concurrency=float(seats[best]),
        within_limit=bool(fast.any()),
    )
