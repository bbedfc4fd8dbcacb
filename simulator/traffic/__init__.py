"""Who sends which requests when: arrivals, rates, lengths, shared content, clients, conversations and their mixtures.

Plain arrays come from functions such as `poisson_arrivals_ps`; longer or composed traffic from sources, which `stream`
cuts into chunks and `generate` puts into one workload:

>>> import numpy as np
>>> week = RateCurve(6.0 * weekly_shape("diurnal", 2.4))
>>> tokens = independent_lengths(
...     lambda count, rng: lognormal_tokens(count, rng, mean=1155, p95=3200),
...     lambda count, rng: lognormal_tokens(count, rng, mean=211, p95=480),
... )
>>> chat = plain_requests(renewal_arrivals(week), cut_lengths(tokens, 16_384))
>>> agents = conversations(
...     renewal_arrivals(steady_rate(0.5), gamma_gaps(cv=2.0)), geometric_turns(5.0, most=40), tokens,
...     exponential_think_times(20.0), max_model_len=16_384, system_tokens=1024,
... )
>>> chunks = stream(mixture(chat, labelled(agents, priority=1)), np.random.default_rng(1), count=100_000)
>>> [len(chunk) for chunk in chunks]
[65536, 34464]
"""

from simulator.traffic.arrivals import (
    Arrivals,
    burst_arrivals_ps,
    constant_arrivals_ps,
    curve_arrivals_ps,
    gamma_arrivals_ps,
    on_off_arrivals_ps,
    poisson_arrivals_ps,
    renewal_arrivals,
    replay_arrivals_ps,
    shaped_arrivals_ps,
    weibull_arrivals_ps,
)
from simulator.traffic.batch import trough_arrivals_ps, water_level
from simulator.traffic.bursts import OnOff
from simulator.traffic.clients import Clients, client_requests, draw_clients, pareto_shares
from simulator.traffic.closed import closed_loop
from simulator.traffic.gaps import Gaps, constant_gaps, exponential_gaps, gamma_gaps, weibull_gaps, weibull_shape
from simulator.traffic.lengths import (
    CutTokens,
    Lengths,
    Tokens,
    cdf_tokens,
    cut_lengths,
    cut_to_context,
    empirical_tokens,
    fixed_tokens,
    independent_lengths,
    joint_lengths,
    lognormal_parameters,
    lognormal_tokens,
    uniform_tokens,
)
from simulator.traffic.merging import merge_workloads
from simulator.traffic.mooncake import mooncake_conversation
from simulator.traffic.prefixes import (
    Content,
    PrefixGroups,
    PrefixLayer,
    as_block_hashes,
    layered_prefix,
    shared_prefix,
    with_front_token,
    zipf_shares,
)
from simulator.traffic.rates import HOUR_S, MONTH_S, WEEK_S, RateCurve, growing_rates, measured_rates, steady_rate
from simulator.traffic.replay import scaled_rate, scaled_time
from simulator.traffic.sessions import ThinkTimes, conversations, exponential_think_times, geometric_turns
from simulator.traffic.shapes import SHAPES, weekly_shape
from simulator.traffic.streams import (
    Source,
    changed,
    generate,
    labelled,
    mixture,
    plain_requests,
    recorded_requests,
    stream,
)

__all__ = [
    "HOUR_S",
    "MONTH_S",
    "SHAPES",
    "WEEK_S",
    "Arrivals",
    "Clients",
    "Content",
    "CutTokens",
    "Gaps",
    "Lengths",
    "OnOff",
    "PrefixGroups",
    "PrefixLayer",
    "RateCurve",
    "Source",
    "ThinkTimes",
    "Tokens",
    "as_block_hashes",
    "burst_arrivals_ps",
    "cdf_tokens",
    "changed",
    "client_requests",
    "closed_loop",
    "constant_arrivals_ps",
    "constant_gaps",
    "conversations",
    "curve_arrivals_ps",
    "cut_lengths",
    "cut_to_context",
    "draw_clients",
    "empirical_tokens",
    "exponential_gaps",
    "exponential_think_times",
    "fixed_tokens",
    "gamma_arrivals_ps",
    "gamma_gaps",
    "generate",
    "geometric_turns",
    "growing_rates",
    "independent_lengths",
    "joint_lengths",
    "labelled",
    "layered_prefix",
    "lognormal_parameters",
    "lognormal_tokens",
    "measured_rates",
    "merge_workloads",
    "mixture",
    "mooncake_conversation",
    "on_off_arrivals_ps",
    "pareto_shares",
    "plain_requests",
    "poisson_arrivals_ps",
    "recorded_requests",
    "renewal_arrivals",
    "replay_arrivals_ps",
    "scaled_rate",
    "scaled_time",
    "shaped_arrivals_ps",
    "shared_prefix",
    "steady_rate",
    "stream",
    "trough_arrivals_ps",
    "uniform_tokens",
    "water_level",
    "weekly_shape",
    "weibull_arrivals_ps",
    "weibull_gaps",
    "weibull_shape",
    "with_front_token",
    "zipf_shares",
]
