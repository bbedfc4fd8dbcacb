"""What the fast engine leaves to the reference engine."""

from simulator.fleet import Fleet


def handed_over(fleet: Fleet) -> tuple[str, ...]:
    """Fields of the fleet for whose sake the fast engine hands a run to the reference engine; none: it runs itself.

    The log is the same; what differs is the time it takes.
    """
    configs = [pool.config for pool in fleet.pools]
    reasons = {
        "kv_groups": any(
            set(config.windows) != {None} and (config.enable_prefix_caching or config.kv_allocation == "contiguous")
            for config in configs
        ),
        "order": any(
            pool.config.order == "priority" and (set(pool.config.windows) != {None} or pool.step_time.window_tokens)
            for pool in fleet.pools
        ),
        "transfer": fleet.disaggregated,
        "scheduler": any(config.scheduler not in ("vllm_v1", "static") for config in configs),
        "overlap_scheduling": any(config.overlap_scheduling for config in configs),
        "swap": any(config.swap is not None for config in configs),
    }
    return tuple(field for field, given in reasons.items() if given)
