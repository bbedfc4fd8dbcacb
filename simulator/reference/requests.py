"""One request's state inside the reference engine, and the content of its blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.config import EngineConfig
from simulator.errors import SimulatorError
from simulator.records import NEVER, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL, UNFINISHED
from simulator.workload import Workload


@dataclass(slots=True, eq=False)
class Request:
    """A request between arrival and end; see EventLog for the times.

    computed  tokens whose KV is in the pool;  target: tokens to compute before the next token comes out
    keys      content of its full blocks, chained: equal keys mean equal tokens up to there
              (none where nothing is cached)
    tables    its blocks, see KvManager;  published: how many leading ones have been offered to the prefix cache
    uncached_tokens  prompt tokens that the cache lacked when a router asked
    """

    number: int
    arrival_ps: int
    prompt_tokens: int
    output_tokens: int
    keys: Sequence[int] = ()
    generated: int = 0
    computed: int = 0
    target: int = 0
    tables: list[list[int]] = field(default_factory=list)
    published: int = 0
    prefilling: bool = True
    admitted_ps: int = NEVER
    first_token_ps: int = NEVER
    last_token_ps: int = NEVER
    finish_ps: int = NEVER
    cached_tokens: int = 0
    uncached_tokens: int = 0
    preemptions: int = 0
    preempted_at_ps: int = NEVER
    preempted_ps: int = 0
    replica: int = NEVER
    failovers: int = 0
    outcome: int = UNFINISHED
    reason: int = 0

    def restart(self) -> None:
        """Its replica is lost: prompt and tokens so far are to be computed again elsewhere."""
        self.failovers += 1
        self.tables, self.computed, self.published, self.prefilling = [], 0, 0, True
        self.target = self.prompt_tokens + self.generated


def unservable_reason(config: EngineConfig, prompt_tokens: int, output_tokens: int) -> int:
    """Why a request can never be served (index into UNSERVABLE_REASONS), 0 if it can."""
    if prompt_tokens + output_tokens > config.max_model_len:
        return TOO_LONG_FOR_CONTEXT
    if config.final_blocks(prompt_tokens, output_tokens) > config.num_blocks:
        return TOO_LONG_FOR_POOL
    return 0


class BlockContent:
    """Names the content of every full block of a request's tokens: shared beginnings get shared names.

    A name is a small int that stands for the block and all before it.
    """

    def __init__(self, workload: Workload, block_size: int) -> None:
        self._workload = workload
        self._block_size = block_size
        self._names: dict[tuple[str, int, int], int] = {}
        hashes = workload.block_hashes
        if hashes is not None and hashes.block_tokens % block_size:
            raise SimulatorError(
                "incompatible",
                "block_size",
                f"recorded blocks of {hashes.block_tokens} tokens need a block size that divides them",
            )

    def keys(self, number: int) -> list[int]:
        """Keys of all full blocks of request `number`, prompt and output, in chain order."""
        workload, size = self._workload, self._block_size
        total = int(workload.prompt_tokens[number] + workload.output_tokens[number])
        shared = self._shared(number)
        own = [("own", number, index) for index in range(len(shared), total // size)]
        return [self._names.setdefault(key, len(self._names)) for key in shared + own]

    def _shared(self, number: int) -> list[tuple[str, int, int]]:
        workload, size = self._workload, self._block_size
        if workload.prefix_group is not None and workload.prefix_tokens is not None:
            group = int(workload.prefix_group[number])
            blocks = int(workload.prefix_tokens[number]) // size if group >= 0 else 0
            return [("group", group, index) for index in range(blocks)]
        hashes = workload.block_hashes
        if hashes is None:
            return []
        ids = hashes.ids[int(hashes.offsets[number]) : int(hashes.offsets[number + 1])].tolist()
        parts = hashes.block_tokens // size
        full = int(workload.prompt_tokens[number]) // size
        return [("hash", block_id, part) for block_id in ids for part in range(parts)][:full]
