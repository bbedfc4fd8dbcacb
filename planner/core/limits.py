"""Counts of what happens in each minute or another window, in the cache, for limits."""

import math
import time

from django.core.cache import cache

WINDOW_S = 60


def count_up(name: str, window_s: int = WINDOW_S) -> tuple[int, int]:
    """Counts one more under this name in the running window; returns the count and the seconds until the next one.

    A count that the cache dropped meanwhile starts anew: better one request too many than a failure.
    """
    now_s = time.time()
    key = f"limit:{name}:{int(now_s // window_s)}"
    cache.add(key, 0, timeout=2 * window_s)
    left_s = math.ceil(window_s - now_s % window_s)
    try:
        return int(cache.incr(key)), left_s
    except ValueError:
        return 0, left_s
