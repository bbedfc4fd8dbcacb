"""The Mooncake conversation trace: an hour of a chat service, with the content of its prompts in hashed blocks."""

from pathlib import Path

import numpy as np

from simulator.checks import checked
from simulator.errors import require_int
from simulator.steptime import PS_PER_MS
from simulator.workload import BlockHashes, Workload

BLOCK_TOKENS = 512
_FILE = Path(__file__).parents[1] / "data" / "mooncake_conversation.npz"  # see SOURCES.md beside it


@checked
def mooncake_conversation(count: int) -> Workload:
    """The first `count` requests of the trace; beyond its 12,031 it begins anew when it ends, with other content."""
    count = require_int("count", count, 1, 10**8)
    with np.load(_FILE) as columns:
        sent_ms, ids = (np.cumsum(columns[name], dtype=np.int64) for name in ("gap_ms", "id_steps"))
        prompt, output = (columns[name].astype(np.int64) for name in ("prompt_tokens", "output_tokens"))
    again = np.arange(-(-count // prompt.size))[:, None]
    which = np.arange(count) % prompt.size
    offsets = np.concatenate(([0], np.cumsum(-(-prompt[which] // BLOCK_TOKENS))))
    return Workload(
        (sent_ms + again * (sent_ms[-1] + 1)).ravel()[:count] * PS_PER_MS,
        prompt[which],
        output[which],
        block_hashes=BlockHashes(offsets, (ids + again * (ids.max() + 1)).ravel()[: offsets[-1]], BLOCK_TOKENS),
    )
