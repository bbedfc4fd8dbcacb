"""The simulated server's HTTP: what it answers, and what it refuses."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from planner.measure import http_server
from planner.planning.importers.sources import bytes_source, open_source
from planner.planning.measurements import read_measurement
from tests.planner.measure.parts import MODEL, ask_all, asked, asker_for, serving, small
from tests.planner.measure.virtual import run


@dataclass
class Reply:
    status: int
    headers: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[str]:
        return [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]


async def raw(url: str, data: bytes) -> Reply:
    """Sends these bytes and reads to the end."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if "content-length: " in head.lower():
        body = await reader.readexactly(int(head.lower().partition("content-length: ")[2].split("\r\n")[0]))
    else:
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size + 2)
    writer.close()
    return Reply(int(head.split()[1]), head, body)


async def post(url: str, path: str, document: Any) -> Reply:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return await raw(url, head_of(path, len(body)) + body)


def head_of(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


async def get(url: str, path: str) -> Reply:
    return await raw(url, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())


CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "abcd" * 10}], "max_tokens": 3}
TEXT = {"model": MODEL, "prompt": list(range(20)), "max_tokens": 3}


def test_chat_streams_tokens_usage_and_the_end() -> None:
    async def go() -> Reply:
        async with serving() as (_, url):
            options = {"stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True}
            return await post(url, "/v1/chat/completions", {**CHAT, **options})

    reply = run(go())
    assert reply.status == 200
    assert "text/event-stream" in reply.headers
    *chunks, usage, done = [json.loads(e) if e != "[DONE]" else e for e in reply.events]
    assert done == "[DONE]"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [c["choices"][0]["delta"]["content"] for c in chunks[1:]] == [" the", " and", " for"]
    assert [c["choices"][0]["finish_reason"] for c in chunks[1:]] == [None, None, "length"]
    assert usage["usage"] == {
        "prompt_tokens": 18, "completion_tokens": 3, "total_tokens": 21, "prompt_tokens_details": {"cached_tokens": 0}
    }  # fmt: skip
    assert usage["choices"] == []


def test_an_answer_in_one_piece() -> None:
    async def go() -> Reply:
        async with serving() as (_, url):
            return await post(url, "/v1/completions", {**TEXT, "ignore_eos": True})

    document = run(go()).json
    assert document["choices"][0]["text"] == " the and for"
    assert document["usage"]["prompt_tokens"] == 20


@pytest.mark.parametrize(
    ("options", "tokens", "reason"),
    [
        ({"max_tokens": 100}, (5, 9), "stop"),
        ({"max_tokens": 4}, (4,), "length"),
        ({}, (5, 9), "stop"),
        ({"max_tokens": 100, "min_tokens": 40}, (40,), "stop"),
        ({"max_tokens": 100, "ignore_eos": True}, (100,), "length"),
        ({"max_completion_tokens": 7, "max_tokens": None, "ignore_eos": True}, (7,), "length"),
    ],
    ids=["drawn", "cut", "unsaid", "least", "ignored", "newer name"],
)
def test_how_long_answers_are(options: dict[str, Any], tokens: tuple[int, ...], reason: str) -> None:
    async def go() -> Any:
        async with serving() as (_, url):
            return (await post(url, "/v1/completions", {"model": MODEL, "prompt": "x", **options})).json

    document = run(go())
    assert document["usage"]["completion_tokens"] in tokens
    assert document["choices"][0]["finish_reason"] == reason


def test_the_next_turn_finds_prompt_and_answer_in_the_cache() -> None:
    async def go() -> list[int]:
        async with serving() as (_, url):
            turns, cached = [{"role": "user", "content": "abcd" * 100}], []
            for _ in range(3):
                body = {"model": MODEL, "messages": turns, "max_tokens": 60, "ignore_eos": True}
                document = (await post(url, "/v1/chat/completions", body)).json
                cached.append(document["usage"]["prompt_tokens_details"]["cached_tokens"])
                turns = [*turns, document["choices"][0]["message"], {"role": "user", "content": "go on"}]
            return cached

    first, second, third = run(go())
    assert first == 0
    assert second == (4 + 100 + 4 + 60 - 1) // 16 * 16, "all full blocks but for the last token, never computed"
    assert third > second


@pytest.mark.parametrize(
    ("path", "document", "status", "words"),
    [
        ("/v1/completions", {**TEXT, "model": "other"}, 404, "does not exist"),
        ("/v1/completions", {**TEXT, "max_tokens": 2000}, 400, "maximum context length is 1024"),
        ("/v1/completions", {**TEXT, "prompt": [1] * 1024}, 400, "maximum context length"),
        ("/v1/completions", {**TEXT, "prompt": None}, 400, "prompt"),
        ("/v1/completions", {**TEXT, "prompt": [-1]}, 400, "prompt"),
        ("/v1/completions", {**TEXT, "prompt": ["a", "b"]}, 400, "prompt"),
        ("/v1/completions", {**TEXT, "max_tokens": 0}, 400, "max_tokens"),
        ("/v1/completions", {**TEXT, "max_tokens": True}, 400, "max_tokens"),
        ("/v1/completions", {**TEXT, "min_tokens": 9}, 400, "min_tokens"),
        ("/v1/completions", {**TEXT, "stream": "yes"}, 400, "stream"),
        ("/v1/completions", {**TEXT, "stream_options": []}, 400, "stream_options"),
        ("/v1/completions", {**TEXT, "n": 2}, 400, "n = 1"),
        ("/v1/completions", {"prompt": "x"}, 400, "model"),
        ("/v1/completions", [], 400, "object"),
        ("/v1/completions", b"{", 400, "JSON"),
        ("/v1/completions", b"[" * 100_000, 400, "JSON"),
        ("/v1/chat/completions", {**CHAT, "messages": []}, 400, "messages"),
        ("/v1/chat/completions", {**CHAT, "messages": [{"content": "x"}]}, 400, "role"),
        ("/v1/chat/completions", {**CHAT, "messages": [{"role": "user", "content": [{"type": "image"}]}]}, 400, "text"),
        ("/v1/embeddings", TEXT, 404, "no such page"),
        ("/v1/models", TEXT, 405, "GET"),
    ],
)  # fmt: skip
def test_refusals(path: str, document: Any, status: int, words: str) -> None:
    async def go() -> Reply:
        async with serving() as (_, url):
            return await post(url, path, document)

    reply = run(go())
    assert reply.status == status
    assert words in reply.json["error"]["message"]


def test_bodies_heads_and_what_is_no_http_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_BODY_BYTES", 1000)

    async def go() -> list[int]:
        async with serving() as (server, url):
            replies = [
                await post(url, "/v1/completions", b" " * 1001),
                await raw(url, b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000),
                await raw(url, b"\x16\x03\x01 hello\r\n\r\n"),
            ]
            await asyncio.sleep(0.1)
            assert not server.http.connections
            return [reply.status for reply in replies]

    assert run(go()) == [413, 431, 400]


def test_a_request_that_never_ends_is_cut_off() -> None:
    async def go() -> float:
        async with serving() as (_, url):
            host, port = url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head_of("/v1/completions", 100) + b"{")
            begun = asyncio.get_running_loop().time()
            with suppress(ConnectionResetError):
                assert not await reader.read()
            writer.close()
            return asyncio.get_running_loop().time() - begun

    assert run(go()) == pytest.approx(http_server.READ_S, abs=1)


def test_a_full_line_is_503_with_the_time_to_come_again() -> None:
    async def go() -> list[Reply]:
        async with serving(small(max_waiting=1)) as (_, url):
            body = {**TEXT, "max_tokens": 50, "ignore_eos": True}
            return await asyncio.gather(*(post(url, "/v1/completions", body) for _ in range(40)))

    replies = run(go())
    refused = [reply for reply in replies if reply.status == 503]
    assert len(refused) >= 10
    assert "retry-after: 1" in refused[0].headers
    assert len([reply for reply in replies if reply.status == 200]) == 40 - len(refused)


def test_a_client_that_leaves_frees_its_seat() -> None:
    async def go() -> tuple[int, int]:
        async with serving() as (server, url):
            host, port = url.removeprefix("http://").split(":")
            _, writer = await asyncio.open_connection(host, int(port))
            body = json.dumps({**TEXT, "max_tokens": 900, "ignore_eos": True, "stream": True}).encode()
            writer.write(head_of("/v1/completions", len(body)) + body)
            await asyncio.sleep(0.5)
            before = server.clock.live.state().running
            writer.close()
            await asyncio.sleep(0.1)
            return before, server.clock.live.state().running

    assert run(go()) == (1, 0)


def test_metrics_are_vllms_and_our_own_reader_takes_them() -> None:
    async def go() -> tuple[str, float]:
        async with serving() as (_, url):
            answers = await ask_all(asker_for(url), [asked(100, 11, place, 0.3 * place) for place in range(12)])
            return (await get(url, "/metrics")).body.decode(), sum(each.ttft_ms for each in answers) / 12

    text, ttft_ms = run(go())
    assert "vllm:num_requests_running" in text
    found = read_measurement(open_source(bytes_source(text.encode())))
    assert found is not None
    (metrics,) = found.runs
    assert (metrics.completed, metrics.input_tokens, metrics.output_tokens) == (12, 1200, 132)
    assert metrics.latencies_ms["tpot"]["mean"] == pytest.approx(10.3, abs=0.3)
    assert metrics.latencies_ms["ttft"]["mean"] == pytest.approx(ttft_ms - 7, abs=0.01), "without HTTP and tokenizer"
    assert set(metrics.lengths) == {"input", "output"}


def test_pages() -> None:
    async def go() -> tuple[int, Any]:
        async with serving() as (_, url):
            return (await get(url, "/health")).status, (await get(url, "/v1/models")).json

    status, models = run(go())
    assert status == 200
    assert [(model["id"], model["max_model_len"]) for model in models["data"]] == [(MODEL, 1024)]
