"""Which replicas a request may be sent to: arrivals, and those whose prompt a prefill replica has computed."""

from collections.abc import Sequence

from simulator.fleet import Fleet
from simulator.reference.gangs import Gang
from simulator.reference.requests import Request
from simulator.reference.routing import Routing
from simulator.steptime import IntArray
from simulator.workload import Workload

Choice = tuple[Routing, list[Gang]]


class Dispatch:
    """A fleet whose replicas compute prompts and outputs alike."""

    def __init__(self, fleet: Fleet, gangs: Sequence[Gang], workload: Workload | None, draws: IntArray) -> None:
        self.routing = Routing(fleet, gangs, workload, draws)

    def unservable_reason(self, request: Request) -> int:
        """Why no replica can serve the request, 0 if one can."""
        prompt, output = request.prompt_tokens, request.output_tokens
        return 0 if self.routing.candidates(prompt, output) else self.routing.unservable_reason(prompt, output)

    def choices(self, request: Request) -> list[Choice]:
        """Routers for an arriving request with their candidates: the first with a replica that is on decides."""
        return [(self.routing, self.routing.candidates(request.prompt_tokens, request.output_tokens))]

    def decoders(self, request: Request) -> Choice:
        """The same for a request that has been prefilled."""
        raise NotImplementedError


class Disaggregated(Dispatch):
    """Prefill and decode pools, each with a router of its own: the same rule, another memory.

    A request must fit a prefill replica with its prompt and one token, and a decode replica with all; where it ends
    with its prefill, or is computed by a decode replica whatever that has cached, one of them is enough.
    """

    def __init__(self, fleet: Fleet, gangs: Sequence[Gang], workload: Workload | None, draws: IntArray) -> None:
        assert fleet.transfer is not None
        self.transfer = fleet.transfer
        prefill, decode = (
            [gang for gang in gangs if fleet.pools[gang.members[0].pool].role == role] for role in ("prefill", "decode")
        )
        self.prefill = Routing(fleet, prefill, workload, draws[:, :2])
        self.decode = Routing(fleet, decode, workload, draws[:, 2:])

    def unservable_reason(self, request: Request) -> int:
        """Why no replica can compute the prompt, or the output, 0 if some can."""
        prompt, output = request.prompt_tokens, request.output_tokens
        decode = self.decode.candidates(prompt, output)
        if decode and prompt <= self.transfer.local_prefill_max_tokens:
            return 0
        if not self.prefill.candidates(prompt, 1):
            return self.prefill.unservable_reason(prompt, 1)
        if decode or (output == 1 and self.transfer.first_output == "prefill"):
            return 0
        return self.decode.unservable_reason(prompt, output)

    def choices(self, request: Request) -> list[Choice]:
        """Decode replicas that lack few of the prompt's tokens, then prefill replicas."""
        decode = self.decode.candidates(request.prompt_tokens, request.output_tokens)
        local = [gang for gang in decode if self._lacks_few(request, gang)]
        prefill = self.prefill.candidates(request.prompt_tokens, 1)
        return [(self.decode, local), (self.prefill, prefill)] if prefill else [(self.decode, local)]

    def decoders(self, request: Request) -> Choice:
        """Chosen when the prompt has been computed."""
        return self.decode, self.decode.candidates(request.prompt_tokens, request.output_tokens)

    def _lacks_few(self, request: Request, gang: Gang) -> bool:
        limit = self.transfer.local_prefill_max_tokens
        return limit > 0 and all(
            request.prompt_tokens - engine.cached_tokens(request) <= limit for engine in gang.members
        )
