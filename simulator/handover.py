"""What the fast engine leaves to the reference engine."""

from simulator.admission import NO_LIMITS
from simulator.checks import checked
from simulator.config import EngineConfig
from simulator.fleet import Fleet, Pool


@checked
def handed_over(fleet: Fleet) -> tuple[str, ...]:
    """Fields of the fleet for whose sake the fast engine hands a run to the reference engine; none: it runs itself.

    The log is the same; what differs is the time it takes.
    """
    configs = [pool.config for pool in fleet.pools]
    reasons = {
        "kv_groups": any(
            _windowed(config) and (config.kv_allocation == "contiguous" or _apart(config)) for config in configs
        ),
        "order": any(_order_unknown(pool) for pool in fleet.pools),
        "transfer": fleet.disaggregated and not _knows_apart(fleet),
        "scheduler": any(_unknown(config, fleet) for config in configs),
        "overlap_scheduling": any(_unknown_overlap(config, fleet) for config in configs),
        "swap": any(config.swap is not None for config in configs),
    }
    return tuple(field for field, given in reasons.items() if given)


def _order_unknown(pool: Pool) -> bool:
    """The worst falls only where no finished request is late and no table has a window."""
    config = pool.config
    windowed = _windowed(config) or pool.step_time.window_tokens > 0
    falls = config.order == "priority" and config.scheduler == "vllm_v1"
    return falls and (config.overlap_scheduling or windowed)


def _windowed(config: EngineConfig) -> bool:
    """Some block table gives back what lies behind a window."""
    return set(config.windows) != {None}


def _apart(config: EngineConfig) -> bool:
    """It takes blocks otherwise than in vLLM V1's steps."""
    return config.overlap_scheduling or config.scheduler not in ("vllm_v1", "static")


def _stalls(config: EngineConfig) -> bool:
    """Prompts and decodes have steps of their own."""
    return config.scheduler == "sglang" or (config.scheduler == "vllm_v0" and not config.enable_chunked_prefill)


def _unknown(config: EngineConfig, fleet: Fleet) -> bool:
    """A loss in the midst of a step is not known where prompts and decodes have steps of their own."""
    return _stalls(config) and bool(fleet.outages)


def _unknown_overlap(config: EngineConfig, fleet: Fleet) -> bool:
    """Combinations that are not worth it: a loss in the midst of a step, timeouts, lanes, drafts."""
    ends_early = bool(fleet.outages) or fleet.admission.expires
    intricate = ends_early or config.pipeline_stages > 1 or config.speculation is not None
    return config.overlap_scheduling and intricate


def _knows_apart(fleet: Fleet) -> bool:
    """Whether the fast engine knows how the mechanisms of a disaggregated fleet work together."""
    configs = [pool.config for pool in fleet.pools]
    return not (
        fleet.controlled
        or fleet.admission != NO_LIMITS
        or any(
            config.scheduler != "vllm_v1"
            or config.order != "fcfs"
            or config.overlap_scheduling
            or config.swap is not None
            or _windowed(config)
            or pool.step_time.window_tokens > 0
            for pool, config in zip(fleet.pools, configs, strict=True)
        )
    )
