"""Servers that fail, stall, lie or stop in the middle: each is an answer with its error, never a hang."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from planner.measure.asking import Asker
from planner.measure.probing import ProbeFailed, probe
from planner.measure.stream import Events, StreamBroken
from planner.planning.measuring.answers import Answer
from tests.planner.measure.parts import ask_all, asked, asker_for, driver_for, serving
from tests.planner.measure.virtual import run

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def chunk(text: str, reason: str | None = None) -> bytes:
    return b"data: " + json.dumps({"choices": [{"text": text, "finish_reason": reason}]}).encode() + b"\n\n"


USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 6}}\n\n'
DONE = b"data: [DONE]\n\n"
Behaviour = list[bytes | float]


@asynccontextmanager
async def behaving(*answers: Behaviour) -> AsyncIterator[str]:
    """A server that reads a request and then writes bytes and waits seconds; the last of `answers` for ever after."""
    given = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
            for part in given.pop(0) if len(given) > 1 else given[0]:
                if isinstance(part, float):
                    await asyncio.sleep(part)
                else:
                    writer.write(part)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()


def answer_of(behaviour: Behaviour, *, key: str = "", timeout_s: float = 60.0) -> Answer:
    async def go() -> Answer:
        async with behaving(behaviour) as url:
            (answer,) = await ask_all(asker_for(url, key=key, timeout_s=timeout_s), [asked(40, 6)])
            return answer

    return run(go())


def error(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.mark.parametrize(
    ("behaviour", "code", "words"),
    [
        ([error(500, b"<html>broken")], "http_500", "it answered 500"),
        ([error(400, b'{"error": {"message": "too long"}}')], "http_400", "it answered 400: too long"),
        ([error(401, b'{"detail": "bad key s3cret"}')], "http_401", "bad key ***"),
        ([error(429, b'{"message": "slow down\\u001b[31m"}')], "http_429", "slow down\N{REPLACEMENT CHARACTER}[31m"),
        ([error(307, b"")], "http_307", "redirects are not followed"),
        ([error(502, b"x" * 100_000)], "http_502", "it answered 502"),
        ([error(200, b'{"choices": []}')], "not_streamed", "no stream of events"),
        ([b""], "closed", "closed"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "closed", "not HTTP"),
        ([HEAD, chunk("a"), 0.1], "cut_off", "before the answer did"),
        ([HEAD.replace(b"close\r\n", b"close\r\nContent-Length: 999\r\n"), chunk("a"), 0.1], "cut_off", "closed"),
        ([HEAD, b"data: {broken\n\n", DONE], "bad_stream", "not JSON"),
        ([HEAD, b"data: 7\n\n", DONE], "bad_stream", "no object"),
        ([HEAD, b"data: " + b"x" * (5 << 20)], "bad_stream", "no end"),
        ([HEAD, chunk("a"), b'data: {"error": {"message": "out of memory"}}\n\n'], "error_event", "out of memory"),
        ([HEAD, USAGE, DONE], "no_text", "no text"),
        ([HEAD, chunk("a"), 10_000.0], "timeout", "no whole answer within 5 s"),
        ([10_000.0], "timeout", "no whole answer within 5 s"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else None,
)  # fmt: skip
def test_what_goes_wrong_is_said(behaviour: Behaviour, code: str, words: str) -> None:
    answer = answer_of(behaviour, key="s3cret", timeout_s=5.0)
    assert answer.error == code
    assert words in answer.detail
    assert "s3cret" not in answer.detail
    assert not answer.done
    assert answer.ttft_ms == answer.e2e_ms == float("inf")


def test_nobody_there() -> None:
    async def go() -> Answer:
        async with behaving([DONE]) as url:
            pass
        (answer,) = await ask_all(asker_for(url), [asked(40, 6)])
        return answer

    answer = run(go())
    assert (answer.error, answer.detail) == ("unreachable", "it cannot be reached: Connection refused")


def test_chunks_of_several_tokens() -> None:
    """TPOT is per token by the server's count, gaps are per chunk."""
    answer = answer_of([0.5, HEAD, chunk("a"), 0.3, chunk("b c d"), 0.2, chunk("e f", "stop"), USAGE, DONE])
    assert answer.done
    assert (answer.chunks, answer.output_tokens, answer.prompt_tokens) == (3, 6, 40)
    assert answer.ttft_ms == pytest.approx(500)
    assert answer.gaps_s == pytest.approx([0.3, 0.2])
    assert answer.tpot_ms == pytest.approx(500 / 5)
    assert answer.e2e_ms == pytest.approx(1000)


def test_a_role_and_empty_text_are_no_first_token() -> None:
    role = b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    text = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'
    assert answer_of([HEAD, role, 0.4, text, DONE]).ttft_ms == pytest.approx(400)


def test_without_usage_tokens_are_unknown() -> None:
    answer = answer_of([HEAD, chunk("a"), 0.3, chunk("b", "stop"), DONE])
    assert answer.done
    assert answer.output_tokens is None
    assert answer.tpot_ms != answer.tpot_ms
    assert answer.e2e_ms == pytest.approx(300)


def test_an_end_without_done_is_an_end_where_the_reason_was_told() -> None:
    assert answer_of([HEAD, chunk("a"), chunk("b", "stop")]).done


def test_a_stalled_server_is_counted_from_the_intended_time() -> None:
    """While one answer takes 8 s, the others are sent in time and wait: none of that is left out."""

    async def go() -> list[Answer]:
        slow: Behaviour = [8.0, HEAD, chunk("a", "stop"), DONE]
        async with behaving(slow) as url:
            return await ask_all(asker_for(url), [asked(40, 6, place, 0.5 * place) for place in range(5)])

    answers = run(go())
    assert [answer.ttft_ms for answer in answers] == pytest.approx([8000.0] * 5, rel=1e-3)
    assert max(answer.late_s for answer in answers) < 1e-3


def test_a_kept_connection_that_was_closed_meanwhile_is_no_failure() -> None:
    async def go() -> list[Answer]:
        async with serving() as (server, url):
            asker = asker_for(url)
            first = await ask_all(asker, [asked(40, 6)])
            (kept,) = asker.pool._idle
            kept.ask = _closing(server, kept.ask)  # type: ignore[method-assign]
            return first + await ask_all(asker, [asked(40, 6, 1)])

    assert [answer.error for answer in run(go())] == ["", ""]


def _closing(server: object, ask: Callable[..., None]) -> Callable[..., None]:
    """The server closes its end just as the client sends."""

    def sent(*args: object) -> None:
        for connection in list(server.http.connections):  # type: ignore[attr-defined]
            connection.abort()
        ask(*args)

    return sent


def test_connections_are_used_again() -> None:
    async def go() -> int:
        async with serving() as (server, url):
            asker = asker_for(url)
            await ask_all(asker, [asked(40, 6, place, place * 1.0) for place in range(4)])
            return len(server.http.connections)

    assert run(go()) == 1


def probed(*answers: Behaviour) -> tuple[Asker, list[str]]:
    async def go() -> tuple[Asker, list[str]]:
        async with behaving(*answers) as url:
            return await probe(asker_for(url), 200)

    return run(go())


def counted(prompt: int, output: int = 8) -> Behaviour:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": %d, "completion_tokens": %d}}\n\n' % (prompt, output)
    return [HEAD, chunk("a", "stop"), usage, DONE]


def test_the_probe_learns_tokens_per_word() -> None:
    asker, notes = probed(counted(17 + 40), counted(17 + 250))
    assert (asker.tuning.base_tokens, asker.tuning.tokens_per_word) == (17.0, 1.25)
    assert asker.tuning.words_for(1017) == 800
    assert notes == []


def test_a_server_that_knows_no_ignore_eos_is_asked_otherwise() -> None:
    asker, notes = probed([error(400, b"{}")], [error(400, b"{}")], counted(40, 5), counted(208, 5))
    assert asker.tuning.length_fields == ("max_completion_tokens",)
    assert any("ignore_eos" in note for note in notes)
    assert any("shorter" in note for note in notes)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([[error(404, b'{"error": {"message": "no such model"}}')]], "no such model"),
        ([[error(500, b"")]], "500"),
        ([counted(40), counted(40)], "does not follow"),
        ([counted(40), [error(400, b'{"message": "context"}')]], "context"),
    ],
    ids=["model", "broken", "constant", "context"],
)
def test_a_server_that_cannot_be_tested(answers: list[Behaviour], words: str) -> None:
    with pytest.raises(ProbeFailed, match=words):
        probed(*answers)


def test_a_server_without_usage_can_be_tested() -> None:
    asker, notes = probed([HEAD, chunk("a", "stop"), DONE])
    assert asker.tuning.words_for(100) == 100
    assert any("nominal" in note for note in notes)


def test_events_are_whole_lines_however_they_come() -> None:
    events = Events()
    data = b": comment\r\ndata: one\r\n\r\nevent: x\ndata:two\n\n"
    assert [each for byte in data for each in events.feed(bytes([byte]))] == [b"one", b"two"]
    with pytest.raises(StreamBroken):
        list(events.feed(b"x" * (4 << 20) + b"y"))


def test_a_step_ends_when_every_request_fails() -> None:
    async def go() -> str:
        async with behaving([error(500, b'{"message": "away"}')]) as url:
            requests = (asked(40, 6, place, place * 0.1) for place in range(10_000))
            return (await driver_for(asker_for(url)).open_loop(requests, 10.0, 5.0, 500.0)).stopped

    assert run(go()) == "20 requests in a row failed, the last: it answered 500: away"
