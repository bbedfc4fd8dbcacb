"""Speculative decoding: a draft proposes tokens, the model verifies them in one step, and keeps the first ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.checks import check_fields
from simulator.errors import SimulatorError, require_int, require_number
from simulator.hashing import mixed

MAX_DRAFT_TOKENS = 64
CERTAIN = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """What is proposed for every decoding sequence in every step.

    draft_tokens      proposed tokens
    acceptance_ratio  chance that a proposed token is kept if all before it were: one for every place, or one per place
    lookahead         the draft keeps KV of its own for the tokens it will propose next, in the sequence's blocks:
                      their places are taken with the step's (EAGLE, MTP, draft models). False: n-gram look-up
    """

    draft_tokens: int
    acceptance_ratio: float | tuple[float, ...]
    lookahead: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        count = require_int("draft_tokens", self.draft_tokens, 1, MAX_DRAFT_TOKENS)
        object.__setattr__(self, "draft_tokens", count)
        if not isinstance(self.acceptance_ratio, Sequence):
            require_number("acceptance_ratio", self.acceptance_ratio, 0.0, 1.0)
            return
        object.__setattr__(self, "acceptance_ratio", tuple(self.acceptance_ratio))
        for ratio in self.acceptance_ratio:
            require_number("acceptance_ratio", ratio, 0.0, 1.0)
        if len(self.acceptance_ratio) != count:
            raise SimulatorError("shape", "acceptance_ratio", f"needs one ratio for each of {count} draft tokens")

    @property
    def lookahead_tokens(self) -> int:
        """Places taken beyond those of a step's tokens."""
        return self.draft_tokens if self.lookahead else 0

    @property
    def chances(self) -> tuple[float, ...]:
        """Chance that at least 1, 2, ... draft tokens are kept."""
        ratios = self.acceptance_ratio
        kept, chance = [], 1.0
        for ratio in ratios if isinstance(ratios, tuple) else (ratios,) * self.draft_tokens:
            chance *= float(ratio)
            kept.append(chance)
        return tuple(kept)

    @property
    def thresholds(self) -> tuple[int, ...]:
        """`chances` in 2**32 parts: a draw below the n-th keeps at least n draft tokens."""
        return tuple(round(chance * CERTAIN) for chance in self.chances)

    @property
    def tokens_per_step(self) -> float:
        """Expected tokens that a sequence gets in a step; (1 - a**(k + 1)) / (1 - a) for one ratio a and k drafts."""
        return 1.0 + sum(self.chances)


def draw(word: int, request: int, generated_tokens: int) -> int:
    """32 random bits of a run (`word`) for the step in which a request has generated so many tokens."""
    return mixed(mixed(mixed(word) ^ request) ^ mixed(generated_tokens))
