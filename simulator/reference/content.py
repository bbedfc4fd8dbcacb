"""Names for what the blocks of a request hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simulator.config import EngineConfig
from simulator.content import leading_tokens
from simulator.workload import Workload

Origin = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Content:
    """What a request's tokens are, as far as blocks can be told apart.

    keys            names of all its full blocks, prompt and output, in chain order: a name stands for the block and all
                    before it
    leading_tokens  tokens, of prompt and answer, that others may begin with too;  beginnings: names of the blocks they
                    reach into. Two blocks of one name begin with as many of the same tokens as both have
    """

    keys: Sequence[int] = ()
    beginnings: Sequence[int] = ()
    leading_tokens: int = 0


NOTHING = Content()


class Contents(Protocol):
    """Knows what each request holds."""

    def of(self, number: int) -> Content:
        """The content of request `number`."""


class BlockContent:
    """Names the content of a workload's requests in blocks of one engine's size."""

    def __init__(self, workload: Workload, config: EngineConfig) -> None:
        self._workload = workload
        self._block_size = config.block_size
        self._leading: list[int] = leading_tokens(workload).tolist()
        self._tenant: list[int] = workload.column("tenant").tolist() if config.isolate_tenants else [0] * len(workload)
        self._names: dict[Origin, int] = {}

    def of(self, number: int) -> Content:
        """The content of request `number`."""
        leading, size = self._leading[number], self._block_size
        total = int(self._workload.prompt_tokens[number] + self._workload.output_tokens[number])
        shared = [self._name(origin) for origin in self._shared(number, -(-leading // size))]
        full = leading // size
        own = [self._name(("own", 0, number, index)) for index in range(full, total // size)]
        return Content(shared[:full] + own, shared, leading)

    def _name(self, origin: Origin) -> int:
        return self._names.setdefault(origin, len(self._names))

    def _shared(self, number: int, blocks: int) -> list[Origin]:
        workload, tenant = self._workload, self._tenant[number]
        if workload.prefix_group is not None:
            group = int(workload.prefix_group[number])
            return [("group", tenant, group, index) for index in range(blocks)]
        hashes = workload.block_hashes
        if hashes is None:
            return []
        ids = hashes.ids[int(hashes.offsets[number]) : int(hashes.offsets[number + 1])].tolist()
        parts = hashes.block_tokens // self._block_size
        return [("hash", tenant, ids[index // parts], index % parts) for index in range(blocks)]
