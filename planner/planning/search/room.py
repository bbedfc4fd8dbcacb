"""What fits into an engine at once: cached prefixes and running sequences, as means."""

from __future__ import annotations

from planner.planning.traffic.load import Mix
from simulator import EngineConfig


def cached_tokens(config: EngineConfig, mix: Mix) -> float:
    """Tokens of a prompt that the closed form takes from the prefix cache."""
    return mix.cached_tokens_mean(config.num_blocks * config.block_size) if config.enable_prefix_caching else 0.0


def sequences_in_pool(config: EngineConfig, mix: Mix) -> float:
    """Sequences of the mean context that the pool holds; those of a group share their prefix where it is cached."""
    pool, each = config.num_blocks * config.block_size, mix.context_tokens_mean + config.block_size / 2
    apart = pool / each
    shared = float(mix.shared_tokens if config.enable_prefix_caching else 0)
    if not shared or apart <= mix.groups:
        return apart
    return (pool - shared) / (each - (mix.cached_tokens_mean(pool) if mix.classes else mix.prefix_tokens))
