"""Which beginnings prompts share: system prompts, few-shot groups on top of them, or nothing at all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import IntArray
from simulator.traffic.gaps import FloatArray
from simulator.workload import MAX_BLOCK_ID, MAX_TOKENS, BlockHashes, Workload, whole_numbers


class PrefixGroups(NamedTuple):
    """A workload's `prefix_group` and `prefix_tokens`."""

    prefix_group: IntArray
    prefix_tokens: IntArray


class PrefixLayer(NamedTuple):
    """`tokens` of a prompt that come in `choices` versions, the k-th chosen with weight k^-exponent (0: alike)."""

    tokens: int
    choices: int = 1
    exponent: float = 0.0


Content = Callable[[IntArray, np.random.Generator], BlockHashes | PrefixGroups]
"""(prompt_tokens, rng) -> what the prompts of these lengths begin with."""


@checked
def zipf_shares(count: int, exponent: float) -> FloatArray:
    """`count` shares that sum to 1, the k-th proportional to k^-exponent; exponent 0 makes them equal."""
    ranks = np.arange(1, require_int("count", count, 1, 10**7) + 1)
    weights = np.asarray(ranks ** -require_number("exponent", exponent, 0.0, 10.0), np.float64)
    return np.asarray(weights / weights.sum(), np.float64)


@checked
def shared_prefix(
    count: int, groups: int, tokens: int, rng: np.random.Generator, exponent: float = 0.0
) -> PrefixGroups:
    """`count` requests, each beginning with one of `groups` prefixes of `tokens`, picked by `zipf_shares`."""
    groups, count = require_int("groups", groups, 1), require_int("count", count, 1, 10**9)
    tokens = require_int("tokens", tokens, 1, MAX_TOKENS)
    return PrefixGroups(_choice(groups, exponent, count, rng), np.full(count, tokens, np.int64))


@checked
def layered_prefix(
    prompt_tokens: IntArray, layers: Sequence[PrefixLayer], rng: np.random.Generator, block_tokens: int = 16
) -> BlockHashes:
    """Prompts that begin with all layers, one version of each: a system prompt, then one of its few-shot groups, ...

    Versions of a layer belong to the version of the layer before it, so two prompts share what comes before the first
    layer in which they differ. A block is shared as far as its last token: the one across a layer's end belongs to the
    later layer, and what the prompts begin with ends with the last full block.

    Raises SimulatorError `prefix_too_long` where a prompt is shorter than all layers together.
    """
    size = require_int("block_tokens", block_tokens, 1)
    if not layers:
        raise SimulatorError("empty", "layers", "give at least one layer")
    prompt_tokens = whole_numbers("prompt_tokens", prompt_tokens, 1, MAX_TOKENS)
    ends = np.cumsum([require_int("tokens", layer.tokens, 1, MAX_TOKENS) for layer in layers])
    if prompt_tokens.size and prompt_tokens.min() < ends[-1]:
        raise SimulatorError("prefix_too_long", "layers", f"a prompt is shorter than the layers' {ends[-1]} tokens")
    blocks = int(ends[-1]) // size
    layer_of_block = np.searchsorted(ends, (np.arange(blocks) + 1) * size)
    version = np.zeros(prompt_tokens.size, np.int64)
    ids = np.empty((prompt_tokens.size, blocks), np.int64)
    first = 0
    versions = 1
    for number, layer in enumerate(layers):
        choices = require_int("choices", layer.choices, 1)
        versions *= choices
        if versions * max(1, blocks) > MAX_BLOCK_ID:
            raise SimulatorError("too_large", "choices", "the layers together have too many versions")
        version = version * choices + _choice(choices, layer.exponent, version.size, rng)
        own = np.flatnonzero(layer_of_block == number)
        ids[:, own] = first + version[:, None] * own.size + (own - own[:1])
        first += versions * own.size
    offsets = np.arange(prompt_tokens.size + 1) * blocks
    return BlockHashes(offsets, ids.ravel(), size)


@checked
def with_front_token(workload: Workload) -> Workload:
    """Every prompt with one token of its own in front (a time stamp, a request number): no two begin alike any more.

    Prompts are one token longer. They share what they shared, but nothing of it can be found in a prefix cache.
    """
    return replace(workload, prompt_tokens=workload.prompt_tokens + 1, front_tokens=workload.column("front_tokens") + 1)


@checked
def as_block_hashes(workload: Workload, block_tokens: int) -> Workload:
    """The same shared content as hashes of `block_tokens`, so that workloads with other content can be merged.

    Groups share their full blocks; recorded blocks are cut into parts, which must divide them (`incompatible`).
    """
    size = require_int("block_tokens", block_tokens, 1)
    hashes = workload.block_hashes
    if hashes is None:
        blocks = np.where(workload.column("prefix_group") < 0, 0, workload.column("prefix_tokens") // size)
        offsets = np.concatenate(([0], np.cumsum(blocks)))
        first = np.maximum(workload.column("prefix_group"), 0) * int(blocks.max())
        ids = np.repeat(first - offsets[:-1], blocks) + np.arange(offsets[-1])
        return replace(workload, prefix_group=None, prefix_tokens=None, block_hashes=BlockHashes(offsets, ids, size))
    if hashes.block_tokens % size:
        raise SimulatorError(
            "incompatible", "block_tokens", f"must divide the recorded blocks of {hashes.block_tokens} tokens"
        )
    parts = hashes.block_tokens // size
    if hashes.ids.size and (int(hashes.ids.max()) + 1) * parts > MAX_BLOCK_ID:
        raise SimulatorError("too_large", "block_tokens", "leaves too many parts to be numbered")
    ids = (hashes.ids[:, None] * parts + np.arange(parts)).ravel()
    return replace(workload, block_hashes=BlockHashes(hashes.offsets * parts, ids, size))


def _choice(choices: int, exponent: float, count: int, rng: np.random.Generator) -> IntArray:
    """Numbers 0 to choices - 1 by `zipf_shares`."""
    shares = zipf_shares(choices, exponent)
    if exponent == 0.0:
        return rng.integers(0, choices, count, dtype=np.int64)
    picked = np.searchsorted(np.cumsum(shares), rng.random(count), side="right")
    return np.minimum(picked, choices - 1).astype(np.int64)
