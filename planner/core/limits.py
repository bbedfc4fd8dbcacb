"""Counts of what happens in each minute, in the cache, for limits."""

import math
import time

from django.core.cache import cache

WINDOW_S = 60


def count_up(name: str) -> tuple[int, int]:
    """Counts one more under this name in the running minute; returns the count and the seconds until the next minute.

    A count that the cache dropped meanwhile starts anew: better one request too many than a failure.
    """
    now_s = time.time()
    key = f"limit:{name}:{int(now_s // WINDOW_S)}"
    cache.add(key, 0, timeout=2 * WINDOW_S)
    left_s = math.ceil(WINDOW_S - now_s % WINDOW_S)
    try:
        return int(cache.incr(key)), left_s
    except ValueError:
        return 0, left_s
