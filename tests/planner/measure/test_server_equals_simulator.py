"""What a client measures at the simulated server is what the simulator says, request by request."""

import numpy as np
import pytest

from planner.planning.measuring.asked import Asked
from simulator import Fleet, Pool, Workload, simulate_fleet
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms
from tests.planner.measure.parts import CONFIG, MODEL, MS, STEP_TIME, ask_all, asked, asker_for, serving, small
from tests.planner.measure.virtual import run

S_PS = 10**12


def workload(requests: list[Asked]) -> Workload:
    return Workload(
        arrival_ps=np.array([round(each.at_s * S_PS) for each in requests]),
        prompt_tokens=np.array([each.prompt_tokens for each in requests]),
        output_tokens=np.array([each.output_tokens for each in requests]),
    )


@pytest.mark.parametrize(("rate_rps", "replicas"), [(8.0, 1), (25.0, 1), (25.0, 2)], ids=["light", "queueing", "two"])
def test_latencies_equal_the_simulators(rate_rps: float, replicas: int) -> None:
    rng = np.random.default_rng(5)
    at_s = np.cumsum(rng.exponential(1 / rate_rps, 16))
    requests = [
        asked(int(rng.integers(20, 700)), int(rng.integers(2, 25)), number, float(at)) for number, at in enumerate(at_s)
    ]

    async def measured() -> list[tuple[float, float, float, int | None]]:
        async with serving(small(replicas=replicas)) as (_, url):
            answers = await ask_all(asker_for(url), requests)
            assert [(a.prompt_tokens, a.output_tokens) for a in answers] == [
                (each.prompt_tokens, each.output_tokens) for each in requests
            ]
            return [(a.ttft_ms, a.tpot_ms, a.e2e_ms, a.cached_tokens) for a in answers]

    ttft, tpot, e2e, cached = np.array(run(measured())).T
    log = simulate_fleet(Fleet((Pool(CONFIG, STEP_TIME, replicas),)), workload(requests), engine="reference")
    assert cached == pytest.approx(log.cached_tokens)
    assert ttft == pytest.approx(ttft_ms(log), rel=1e-6)
    assert tpot == pytest.approx(tpot_ms(log), rel=1e-6)
    assert e2e == pytest.approx(e2e_ms(log), rel=1e-6)


def test_one_request_alone_follows_from_its_steps() -> None:
    """400 prompt tokens are two steps of 256 and 144; then each token is a step."""

    async def measured() -> tuple[float, float, list[float]]:
        async with serving() as (_, url):
            (answer,) = await ask_all(asker_for(url), [asked(400, 5)])
            return answer.ttft_ms, answer.e2e_ms, answer.gaps_s

    def step_ms(tokens: int, decoding: int, context: int) -> float:
        prefilling = 0 if decoding else 1
        return STEP_TIME.step_ps(tokens, decoding, context, 0, prefilling) / MS

    first_ms = 7 + step_ms(256, 0, 0) + step_ms(144, 0, 256)
    gaps_ms = [step_ms(1, 1, 400 + place) for place in range(4)]
    ttft, e2e, gaps_s = run(measured())
    assert ttft == pytest.approx(first_ms)
    assert [gap * 1e3 for gap in gaps_s] == pytest.approx(gaps_ms)
    assert e2e == pytest.approx(first_ms + sum(gaps_ms))


def test_speed_divides_every_latency() -> None:
    async def measured(speed: float) -> float:
        async with serving(speed=speed) as (_, url):
            (answer,) = await ask_all(asker_for(url), [asked(300, 9)])
            return answer.e2e_ms

    assert run(measured(10.0)) == pytest.approx(run(measured(1.0)) / 10)


def test_the_chat_has_four_tokens_a_message_and_four_for_the_answer() -> None:
    async def measured() -> int | None:
        async with serving() as (_, url):
            (answer,) = await ask_all(asker_for(url, chat=True), [asked(100, 2)])
            return answer.prompt_tokens

    assert run(measured()) == 100 + 8, f"{MODEL} is asked for 100 words"


def test_what_http_takes_here_is_not_added_again() -> None:
    """7 ms outside the engine, of which 5 ms really pass in this process."""

    async def measured(own_s: float) -> float:
        async with serving() as (server, url):
            await server.time_itself(*url.removeprefix("http://").split(":"))  # type: ignore[arg-type]
            assert server.own_s == pytest.approx(0.0, abs=1e-6)
            server.own_s = own_s
            (answer,) = await ask_all(asker_for(url), [asked(40, 3)])
            return answer.ttft_ms

    assert run(measured(0.0)) - run(measured(0.005)) == pytest.approx(5.0)
    assert run(measured(0.0)) - run(measured(0.5)) == pytest.approx(7.0)
