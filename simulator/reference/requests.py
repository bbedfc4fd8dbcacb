"""One request's state inside the reference engine."""

from dataclasses import dataclass, field

from simulator.config import EngineConfig
from simulator.records import NEVER, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL, UNFINISHED
from simulator.reference.content import NOTHING, Content
from simulator.workload import NO_DEADLINE_PS


@dataclass(slots=True, eq=False)
class Request:
    """A request between arrival and end; see EventLog for the times.

    computed  tokens whose KV is in the pool;  target: tokens to compute before the next token comes out
    content   what its blocks hold (nothing where nothing is cached)
    tables    its blocks, see KvManager;  published: how many leading ones have been offered to the prefix cache
    begun     whether the block that its leading tokens reach into has been offered
    uncached_tokens  prompt tokens that the cache lacked when a router asked
    max_new_tokens   its greatest output as the engine knows it
    host_blocks      its blocks in host memory, where it was swapped out;  ready_ps: when its last transfer is done
    joined    how many requests its replica had received before it;  inside: counted as its tenant's
    handed_ps   when a prefill replica had computed its prompt;  joined_ps: when it ran on the decode replica
    leaves_ps   the last instant at which its client is there (None: to the end)
    """

    number: int
    arrival_ps: int
    prompt_tokens: int
    output_tokens: int
    target: int
    tenant: int = 0
    priority: int = 0
    deadline_ps: int = NO_DEADLINE_PS
    session: int = -1
    joined: int = 0
    inside: bool = False
    content: Content = NOTHING
    generated: int = 0
    computed: int = 0
    tables: list[list[int]] = field(default_factory=list)
    published: int = 0
    begun: bool = False
    prefilling: bool = True
    max_new_tokens: int = 0
    host_blocks: int = 0
    ready_ps: int = 0
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
    prefill_replica: int = NEVER
    handed_ps: int = NEVER
    joined_ps: int = NEVER
    transfer_ps: int = 0
    leaves_ps: int | None = None
    outcome: int = UNFINISHED
    reason: int = 0

    @property
    def left(self) -> int:
        """Tokens to compute before the next token comes out."""
        return self.target - self.computed

    @property
    def ended(self) -> bool:
        """Its last token is out, though it may still hold a seat and blocks."""
        return self.outcome != UNFINISHED

    def start_over(self) -> None:
        """Its blocks are gone: what it has generated becomes part of the prompt that is computed again."""
        self.tables, self.computed, self.published, self.prefilling = [], 0, 0, True
        self.target = self.prompt_tokens + self.generated

    def restart(self) -> None:
        """Its replica is lost: prompt and tokens so far are to be computed again elsewhere."""
        self.failovers += 1
        self.host_blocks = self.ready_ps = 0
        self.start_over()


def unservable_reason(config: EngineConfig, prompt_tokens: int, output_tokens: int) -> int:
    """Why a request can never be served (index into REASONS), 0 if it can."""
    if prompt_tokens + output_tokens > config.max_model_len:
        return TOO_LONG_FOR_CONTEXT
    if not config.pool_holds(prompt_tokens, output_tokens):
        return TOO_LONG_FOR_POOL
    return 0
