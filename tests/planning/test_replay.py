"""A recorded trace through the plan: prompts share what they shared, and it can be played faster or by more users."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import ScenarioInvalid, parse_scenario
from planner.planning.command import file_trace, read_document
from planner.planning.importers import Answers, Blocks, bytes_source, open_trace
from planner.planning.importers.rows import _ranges
from planner.planning.inspection import inspect_source
from planner.planning.traffic.block_cache import as_ranges, chained
from planner.planning.traffic.load import day_stream, replica_stream, scenario_load
from planner.planning.traffic.replay import fitting_blocks
from planner.planning.traffic.traces import read_trace_csv
from planner.planning.what_if import Change, changed_scenario
from simulator import BlockHashes
from tests.planning.importers import samples
from tests.planning.scenarios import changed
from tests.planning.test_replica import server

TALK = "timestamp_s,prompt_tokens,output_tokens,session\n" + "".join(
    f"{100 * turn + talk},{1000 + 1200 * turn},200,{talk}\n" for turn in range(4) for talk in range(30)
)
"""30 conversations of 4 turns; each turn's prompt is the 1,200 tokens before it and 1,000 of its own."""


def scenario_of(**trace):
    document = changed("traffic", {"trace": trace, "shape": {"kind": "constant"}})
    document["slo"] = {"ttft_p50_ms": 60_000}
    return document


def load_of(**trace):
    return scenario_load(parse_scenario(scenario_of(**trace)), 32_768)


def faults(**trace):
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(scenario_of(**trace))
    return {(error.code, error.pointer) for error in caught.value.errors}


def blocks_text(rows=120):
    """Every third request begins with the same 1,536 tokens."""
    lines = [
        {"timestamp": 500 * i, "input_length": 2048, "output_length": 8,
         "hash_ids": [0, 1, 2, 100 + i] if i % 3 == 0 else [1000 + 4 * i + k for k in range(4)]}
        for i in range(rows)
    ]  # fmt: skip
    return "\n".join(map(json.dumps, lines))


def test_hashed_blocks_reach_the_simulator_and_are_found_again():
    fields = file_trace(bytes_source(blocks_text().encode()), Answers())
    assert fields["block_tokens"] == 512
    load = load_of(**fields)
    log = server(caching=True).run(replica_stream(load, 2.0, 0))
    assert log.cached_tokens.tolist() == [0 if i % 3 or i == 0 else 1536 for i in range(120)]
    alone = server(caching=True).run(replica_stream(load_of(**fields, prefixes="none"), 2.0, 0))
    assert not alone.cached_tokens.any()
    told = inspect_source(bytes_source(blocks_text().encode()))["profile"]["prefix"]
    unbounded = told["reusable_token_ratio_by_cache_tokens"]["unbounded"]
    assert load.mix.reused_tokens.mean() / 2048 == pytest.approx(unbounded)
    assert load.mix.cached_tokens_mean(10**9) / 2048 == pytest.approx(unbounded)
    assert load.mix.cached_tokens_mean(1_024) == 0


def test_replicas_get_their_own_requests_with_their_content():
    load = load_of(**file_trace(bytes_source(blocks_text().encode()), Answers()))
    parts = [replica_stream(load, 2.0, 0, replicas=3, replica=replica) for replica in range(3)]
    found = [server(caching=True).run(part).cached_tokens.sum() for part in parts]
    assert found == [39 * 1536, 0, 0]


def test_a_pool_too_small_for_the_trace_finds_less():
    load = load_of(**file_trace(bytes_source(blocks_text().encode()), Answers()))
    assert server(caching=True, blocks=200).run(replica_stream(load, 2.0, 0)).cached_tokens.sum() < 39 * 1536


def test_turns_repeat_their_conversation_where_that_is_asked():
    load = load_of(csv=TALK, prefixes="conversations")
    log = server(caching=True).run(replica_stream(load, 0.3, 0))
    turn = np.arange(120) // 30
    known = (1200 * turn - 1) // 16 * 16  # whole blocks; an answer's last token was never computed
    assert (log.cached_tokens == np.where(turn > 0, known, 0)).all()
    assert load_of(csv=TALK).mix.recorded is None  # a session alone does not say that prompts repeat it


def test_a_shorter_turn_begins_anew():
    rows = "".join(f"{50 * i},{prompt},100,a\n" for i, prompt in enumerate((500, 700, 300, 500) * 30))
    log = server(caching=True).run(
        replica_stream(load_of(csv=TALK.split("\n")[0] + "\n" + rows, prefixes="conversations"), 0.02, 0)
    )
    assert log.cached_tokens[:4].tolist() == [0, 592, 0, 384]


def test_speed_and_copies():
    plain = load_of(csv=TALK)
    fast, many, few = (load_of(csv=TALK, **how) for how in ({"speed": 4}, {"copies": 3}, {"copies": 0.9}))
    assert fast.peak_rps == pytest.approx(4 * plain.peak_rps)
    assert len(many.mix.prompt_tokens) == 360
    assert many.peak_rps == pytest.approx(3 * plain.peak_rps, rel=0.2)
    assert len(few.mix.prompt_tokens) < 120
    assert many.chain[0].what == "Requests of the trace"
    shared = load_of(csv=TALK, prefixes="conversations", copies=2)
    assert shared.mix.reused_tokens.mean() == pytest.approx(1800)  # copies are other people's requests


def test_what_cannot_be_played_is_refused():
    bare = TALK.replace(",session", "").replace(",200,", ",200#")
    bare = "\n".join(line.split("#")[0] for line in bare.split("\n"))
    assert faults(csv=bare, prefixes="conversations") == {("trace_no_conversations", "/traffic/trace/prefixes")}
    assert ("out_of_range", "/traffic/trace/copies") in faults(csv=TALK, copies=0.01)
    rows = {"rows": [[i, 10, 10] for i in range(2_000)]}
    assert faults(**rows, copies=500) == {("out_of_range", "/traffic/trace/copies")}
    assert ("trace_too_long", "/traffic/trace/speed") in faults(**rows, speed=0.01)


def test_more_load_and_longer_answers_keep_what_is_shared():
    fields = file_trace(bytes_source(blocks_text().encode()), Answers())
    moved = changed_scenario(parse_scenario(scenario_of(**fields, speed=2)), Change(load_ratio=1.5, output_ratio=2.0))
    assert moved.traffic.trace.speed == 3
    load = scenario_load(moved, 32_768)
    assert set(load.mix.output_tokens) == {16}
    assert load.mix.reused_tokens.sum() == 39 * 1536


def test_the_command_takes_the_replay_or_what_is_fitted(tmp_path):
    (tmp_path / "t.jsonl").write_text(blocks_text())

    def read(**more):
        document = scenario_of(file="t.jsonl", **more)
        return read_document(json.dumps(document).encode(), Path(tmp_path))["traffic"]

    assert read()["trace"]["csv"].split("\n")[:3] == [
        "timestamp_s,prompt_tokens,output_tokens,blocks", "0.000000000,2048,8,0-3", "0.500000000,2048,8,4-7",
    ]  # fmt: skip
    fitted = read(use="fitted")
    assert "trace" not in fitted
    assert fitted["arrival"]["mean_rps"] == 2.0
    assert fitted["shape"] == {"kind": "constant"}
    for more, code in (({"use": "guess"}, "not_a_choice"), ({"use": "fitted", "speed": 2}, "conflict")):
        with pytest.raises(ScenarioInvalid) as caught:
            read(**more)
        assert caught.value.errors[0].code == code


@given(st.lists(st.integers(0, 10_000), max_size=40))
def test_runs_of_blocks_come_back(ids):
    assert _ranges(as_ranges(ids)) == ids


def test_chains_tell_apart_what_ids_of_single_blocks_do_not():
    given = Blocks(np.array([0, 3, 6, 8]), np.array([7, 8, 9, 5, 8, 9, 7, 8]))
    assert chained(given).ids.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=2, max_size=5),
    st.sampled_from([16, 24, 40, 64]),
    st.sampled_from([16, 24, 32, 48, 80]),
)
def test_blocks_of_another_size_share_what_is_recorded(prompts, recorded, engine):
    """An engine's block is found where the recorded block in which it ends is, and no other."""
    counts = [len(prompt) for prompt in prompts]
    blocks = Blocks(np.cumsum([0, *counts]), np.array([block for prompt in prompts for block in prompt]))
    hashes = BlockHashes(blocks.offsets, chained(blocks).ids, recorded)
    fitted = fitting_blocks(hashes, engine)
    assert fitted.block_tokens % engine == 0

    def common(of, a, b):
        rows = [of.ids[of.offsets[i] : of.offsets[i + 1]].tolist() for i in (a, b)]
        return next((i for i, (x, y) in enumerate(zip(*rows, strict=False)) if x != y), min(map(len, rows)))

    for b in range(1, len(prompts)):
        expected = common(hashes, 0, b) * recorded // engine * engine
        assert common(fitted, 0, b) * fitted.block_tokens // engine * engine == expected


def test_the_size_of_blocks_is_found_or_asked_never_guessed():
    def opened(ids, prompt):
        row = json.dumps({"timestamp_s": 0, "prompt_tokens": prompt, "output_tokens": 1, "hash_ids": list(range(ids))})
        return open_trace(bytes_source((row + "\n").encode())).reading

    assert opened(79, 1260).block_tokens == 16
    few = opened(1, 10)
    assert few.block_tokens is None
    assert [each.answer for each in few.questions] == ["block_tokens"]
    assert open_trace(bytes_source(samples.MOONCAKE.encode())).reading.block_tokens == 512


def test_too_much_content_is_refused():
    row = "0,1000,1,0-90000\n"
    text = "timestamp_s,prompt_tokens,output_tokens,blocks\n" + row * 40
    with pytest.raises(ScenarioInvalid) as caught:
        read_trace_csv(text, block_tokens=16)
    assert caught.value.errors[0].code == "trace_too_many_blocks"


def test_a_day_repeats_the_hour_but_not_its_questions():
    load = load_of(**file_trace(bytes_source(blocks_text().encode()), Answers()))
    hour_s = 120 / load.peak_rps
    stream = day_stream(load, np.array([1.0, 0.5, 1.0]) * load.peak_rps, hour_s, 1)
    found = server(caching=True).run(stream).cached_tokens.tolist()
    once = [0 if i % 3 or i == 0 else 1536 for i in range(120)]
    assert found == [*once, *once[:60], *once]
