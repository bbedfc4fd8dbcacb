"""What a simulated server counts, as vLLM names it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from planner.measure.engine_clock import EngineClock

_SHORT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_GAPS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_LONG = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0)


_TOKENS = tuple(float(digit * 10**power) for power in range(7) for digit in (1, 2, 5))


class Histogram:
    """Counts by upper bound, in seconds or tokens."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """One more."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, label: str) -> list[str]:
        """In the format of Prometheus."""
        lines, total = [f"# TYPE {name} histogram"], 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{{label},le="{bound}"}} {total}')
        return [*lines, f"{name}_sum{{{label}}} {self._sum:.6f}", f"{name}_count{{{label}}} {total}"]


@dataclass(slots=True)
class ServerMetrics:
    """Since the start; times in simulated seconds, those of the engine alone as real ones count them."""

    model: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    preemptions: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    ttft: Histogram = field(default_factory=lambda: Histogram(_SHORT))
    itl: Histogram = field(default_factory=lambda: Histogram(_GAPS))
    tpot: Histogram = field(default_factory=lambda: Histogram(_GAPS))
    e2e: Histogram = field(default_factory=lambda: Histogram(_LONG))
    prompts: Histogram = field(default_factory=lambda: Histogram(_TOKENS))
    outputs: Histogram = field(default_factory=lambda: Histogram(_TOKENS))

    def text(self, clock: EngineClock) -> str:
        """The page."""
        state, label = clock.live.state(), f'model_name="{_escaped(self.model)}"'
        lines = []
        for kind, name, value in (
            ("gauge", "vllm:num_requests_running", state.running),
            ("gauge", "vllm:num_requests_waiting", state.waiting),
            ("gauge", "vllm:kv_cache_usage_perc", f"{state.kv_ratio:.6f}"),
            ("counter", "vllm:num_preemptions_total", self.preemptions),
            ("counter", "vllm:prompt_tokens_total", self.prompt_tokens),
            ("counter", "vllm:generation_tokens_total", self.generation_tokens),
            ("counter", "vllm:prefix_cache_queries_total", self.prompt_tokens),
            ("counter", "vllm:prefix_cache_hits_total", self.cached_tokens),
            ("counter", "staircase:late_deliveries_total", clock.totals.late),
            ("gauge", "staircase:worst_late_seconds", f"{clock.totals.worst_late_s:.6f}"),
        ):
            lines += [f"# TYPE {name} {kind}", f"{name}{{{label}}} {value}"]
        lines.append("# TYPE vllm:request_success_total counter")
        for reason in ("stop", "length", "abort"):
            count = self.finished[reason]
            lines.append(f'vllm:request_success_total{{{label},finished_reason="{reason}"}} {count}')
        lines += self.ttft.lines("vllm:time_to_first_token_seconds", label)
        lines += self.itl.lines("vllm:inter_token_latency_seconds", label)
        lines += self.tpot.lines("vllm:request_time_per_output_token_seconds", label)
        lines += self.e2e.lines("vllm:e2e_request_latency_seconds", label)
        lines += self.prompts.lines("vllm:request_prompt_tokens", label)
        lines += self.outputs.lines("vllm:request_generation_tokens", label)
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
