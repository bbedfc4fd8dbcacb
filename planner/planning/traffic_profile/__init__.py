"""What a trace says about its traffic: rates, bursts, lengths, sharing, and a synthetic profile that stands for it."""

from planner.planning.traffic_profile.profile import profile_trace

__all__ = ["profile_trace"]
