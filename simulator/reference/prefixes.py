"""What a router remembers of the prompts it sent."""

from simulator.workload import Workload


class SentPrefixes:
    """For each replica the beginnings of the prompts sent there, as far as other prompts can share them.

    Nothing is forgotten. Tokens count, not blocks: a router does not know how an engine cuts them.
    """

    def __init__(self, workload: Workload, replicas: int) -> None:
        self._workload = workload
        self._fronts = workload.column("front_tokens")
        self._group_tokens: list[dict[int, int]] = [{} for _ in range(replicas)]
        self._ids: list[set[int]] = [set() for _ in range(replicas)]

    def matched_tokens(self, number: int, replica: int) -> int:
        """Leading prompt tokens of request `number` that were sent to the replica before."""
        workload, known = self._workload, self._ids[replica]
        if workload.prefix_tokens is not None:
            return min(int(workload.prefix_tokens[number]), self._group_tokens[replica].get(self._group(number), 0))
        if workload.block_hashes is None:
            return 0
        ids = self._chain(number)
        blocks = next((place for place, block_id in enumerate(ids) if block_id not in known), len(ids))
        return min(int(workload.prompt_tokens[number]), blocks * workload.block_hashes.block_tokens)

    def add(self, number: int, replica: int) -> None:
        """Request `number` has been sent to the replica."""
        workload, group_tokens = self._workload, self._group_tokens[replica]
        group = self._group(number)
        if workload.prefix_tokens is not None and group >= 0:
            group_tokens[group] = max(group_tokens.get(group, 0), int(workload.prefix_tokens[number]))
        self._ids[replica].update(self._chain(number))

    def _group(self, number: int) -> int:
        if self._workload.prefix_group is None or self._fronts[number]:
            return -1
        return int(self._workload.prefix_group[number])

    def _chain(self, number: int) -> list[int]:
        hashes = self._workload.block_hashes
        if hashes is None or self._fronts[number]:
            return []
        blocks = -(-int(self._workload.prompt_tokens[number]) // hashes.block_tokens)
        chain: list[int] = hashes.ids[int(hashes.offsets[number]) : int(hashes.offsets[number + 1])].tolist()
        return chain[:blocks]
