"""What the kernels find of a disaggregated fleet at the start of a run, and what they leave of it at the end."""

import numpy as np

from simulator.fleet import Fleet, Pool
from simulator.kernels import handed as h
from simulator.kernels import state as s
from simulator.kernels.runs import Int32Array
from simulator.kernels.waiting import FIRST, LAST
from simulator.kernels.words import Words
from simulator.steptime import IntArray
from simulator.transfer import Link, Role
from simulator.workload import Workload

LINKS: dict[Link, int] = {"shared": h.SHARED_LINK, "prefill": h.PREFILL_LINK, "decode": h.DECODE_LINK}
ROLES: dict[Role, int] = {"both": s.ANY, "prefill": s.PREFILL, "decode": s.DECODE}


class TransferLayout:
    """Takes its words, and writes them when the arena is there."""

    def __init__(self, fleet: Fleet, words: Words) -> None:
        transfer = fleet.transfer
        assert transfer is not None
        self.at = words.take(h.TRANSFER_SIZE)
        seats = sum(pool.engines * pool.config.member.max_num_seqs for pool in fleet.pools if pool.role == "decode")
        self.fields = {
            h.TOKEN_PS: transfer.token_ps,
            h.LATENCY_PS: transfer.latency_ps,
            h.LINK: LINKS[transfer.link],
            h.FIRST_HERE: transfer.first_output == "prefill",
            h.LOCAL_TOKENS: transfer.local_prefill_max_tokens,
            h.HANDED + FIRST: s.NONE,
            h.HANDED + LAST: s.NONE,
            h.LINKS: words.take(len(fleet)),
            h.FITS: words.take(len(fleet.gangs)),
            h.LOOKS: transfer.local_prefill_max_tokens > 0
            and any(pool.config.enable_prefix_caching for pool in fleet.pools if pool.role == "decode"),
            h.UNDER_WAY: words.take(h.TRANSFER_WORDS * seats),
        }

    def write(self, m: IntArray) -> None:
        """The settings; nothing is under way."""
        m[s.TRANSFER] = self.at
        for field, value in self.fields.items():
            m[self.at + field] = value


def held_rows(pool: Pool, workload: Workload) -> int:
    """Rows of one engine beyond its seats: of prompts that hold blocks until their KV has left, each one at least."""
    return min(pool.config.member.num_blocks, len(workload)) if pool.role == "prefill" else 0


def role_fields(fleet: Fleet, pool: Pool, words: Words) -> dict[int, int]:
    """The fields of one engine that do not begin as 0."""
    if fleet.transfer is None:
        return {}
    fields = {s.INTAKE + FIRST: s.NONE, s.INTAKE + LAST: s.NONE}
    if pool.role == "prefill":
        return fields | {s.HANDS_OVER: s.TELLING if fleet.transfer.first_output == "prefill" else s.SILENT}
    return fields | {s.FRESH: words.take(pool.config.member.max_num_seqs)}


def on_their_way(counts: Int32Array) -> IntArray:
    """Requests whose prompt has been computed and that do not run yet where they will be decoded."""
    return np.flatnonzero(counts[s.HELD_ROW] != s.NOBODY)


def close_transfers(m: IntArray, times: IntArray, counts: Int32Array) -> int:
    """Time between prefill and decode, up to the end of the run for those who are on their way; notes theirs."""
    end_ps, high = int(m[s.CLOCK]), int(m[s.TRANSFER]) + h.WAIT_HIGH
    waited_ps = (int(m[high]) << 31) + int(m[high + 1])
    for request in on_their_way(counts):
        handed_ps = end_ps - int(times[s.HANDED_AT, request])
        waited_ps += handed_ps
        if times[s.SENT_PS, request] == 0:
            times[s.SENT_PS, request] = handed_ps
    return waited_ps
