"""Little's law in the open: from an arrival rate to the requests in flight, and to the seats and KV that they need."""

from __future__ import annotations

from typing import Any

from planner.planning.search.closed_form import Form, mean_times
from planner.planning.search.concurrency import fixed_point


def seats_chain(form: Form, rate_rps: float) -> dict[str, Any] | None:
    """λ → N = λ · E2E(N) → seats and KV, of one lane of a replica in the peak hour; None where the fixed point does not
    exist: the rate is beyond what the closed form lets it serve.

    concurrency_p95: of a Poisson number with that mean. KV tokens: running sequences × the mean of the context over
    their time (`Mix.context_tokens_mean`), of `kv_tokens` in the pool.
    """
    found = fixed_point(form, rate_rps)
    if found is None:
        return None
    times = mean_times(form, rate_rps, min(found.concurrency, float(form.seats[-1])))
    assert times is not None
    config, context = form.replica.config, form.load.mix.context_tokens_mean
    return {
        "arrival_rps": found.arrival_rps,
        "e2e_s": found.e2e_s,
        "ttft_ms": times.ttft_ms,
        "tpot_ms": times.step_ms,
        "concurrency_mean": found.concurrency,
        "concurrency_p95": found.concurrency_p95,
        "seats": config.max_num_seqs,
        "context_tokens_mean": context,
        "kv_tokens_mean": found.concurrency * context,
        "kv_tokens_p95": found.concurrency_p95 * context,
        "kv_tokens": config.num_blocks * config.block_size,
        "turns": found.turns,
        "iterations": [{"concurrency": turn.concurrency, "e2e_s": turn.e2e_s} for turn in found.iterations],
    }
