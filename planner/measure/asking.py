"""One request of a load test, from its sending to its end: always an answer, with an error in it if need be."""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import h11

from planner.measure.connections import Connection, Pool
from planner.measure.stream import Events, StreamBroken, choice_of, error_message, has_text, read_chunk, usage_of
from planner.measure.words import words
from planner.planning.importers.cells import printable
from planner.planning.measuring.answers import Answer
from planner.planning.measuring.asked import Asked

MAX_ERROR_BYTES = 16 << 10
MAX_DETAIL_CHARACTERS = 200
LENGTH_FIELDS: tuple[tuple[str, ...], ...] = (
    ("max_tokens", "min_tokens", "ignore_eos"),
    ("max_tokens",),
    ("max_completion_tokens",),
)
"""How the length of an answer is asked for: as vLLM and SGLang take it, then as others do."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How prompts of a length are made: tokens = base_tokens + tokens_per_word x words, and how answers' lengths are
    asked for."""

    base_tokens: float = 0.0
    tokens_per_word: float = 1.0
    length_fields: tuple[str, ...] = LENGTH_FIELDS[0]

    def words_for(self, tokens: int, least: int = 1) -> int:
        """So many words make a prompt of so many tokens."""
        return max(least, round((tokens - self.base_tokens) / self.tokens_per_word))


@dataclass(slots=True)
class Asker:
    """Sends requests to one model of a server.

    key       sent as a bearer token, never told;  salt: makes prompts that no earlier test has sent
    timeout_s for a whole answer
    """

    pool: Pool
    model: str
    chat: bool
    key: str = field(repr=False)
    salt: str
    timeout_s: float
    tuning: Tuning = Tuning()

    def with_tuning(self, tuning: Tuning) -> Asker:
        """The same with other lengths."""
        return replace(self, tuning=tuning)

    def body(self, asked: Asked, step: int) -> bytes:
        """The request as JSON: the words of its group's prefix, which all steps share, then words of its own."""
        tuning = self.tuning
        shared = tuning.words_for(asked.prefix_tokens, 0) if asked.prefix_tokens else 0
        own = max(1, tuning.words_for(asked.prompt_tokens) - shared)
        prefix = words(shared, random.Random(f"{self.salt} group {asked.group}")) if shared else ""  # noqa: S311
        text = prefix + words(own, random.Random(f"{self.salt} {step} {asked.number}"))  # noqa: S311
        document: dict[str, Any] = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
        document["temperature"] = 0
        if self.chat:
            document["messages"] = [{"role": "user", "content": text}]
        else:
            document["prompt"] = text
        document |= {name: True if name == "ignore_eos" else asked.output_tokens for name in tuning.length_fields}
        return json.dumps(document).encode()

    async def ask(self, body: bytes, answer: Answer, begun_s: float) -> None:
        """Sends the body and fills in the answer; times count from `begun_s` on the clock of the loop."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.timeout_s):
                await self._attempts(body, answer, begun_s)
        except TimeoutError:
            answer.error, answer.detail = "timeout", f"no whole answer within {self.timeout_s:g} s"
        except OSError as error:
            answer.error, answer.detail = "unreachable", f"it cannot be reached: {_os_words(error)}"
        except asyncio.CancelledError:
            answer.error, answer.detail = "unfinished", "the step ended before its answer was whole"
        finally:
            answer.ended_s = loop.time() - begun_s
            answer.detail = self._clean(answer.detail)

    async def _attempts(self, body: bytes, answer: Answer, begun_s: float) -> None:
        """A connection that was kept may have been closed meanwhile: then once more, on a new one."""
        connection = await self.pool.take()
        kept = connection.used
        reading = await self._once(connection, body, answer, begun_s)
        if kept and reading.nothing_came:
            reading = await self._once(await self.pool.connect(), body, answer, begun_s)
        reading.conclude()

    async def _once(self, connection: Connection, body: bytes, answer: Answer, begun_s: float) -> _Reading:
        target = self.pool.target
        path = f"{target.path}/v1/{'chat/' if self.chat else ''}completions"
        host = f"[{target.host}]" if ":" in target.host else target.host
        usual = target.port == (443 if target.tls else 80)
        headers = [
            ("Host", host if usual else f"{host}:{target.port}"),
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream"),
            ("User-Agent", "Staircase-Measure/1"),
            ("Content-Length", str(len(body))),
            *([("Authorization", f"Bearer {self.key}")] if self.key else []),
        ]
        reading = _Reading(answer, begun_s)
        try:
            connection.ask(h11.Request(method="POST", target=path, headers=headers), body, reading)
            await reading.ended
        finally:
            if reading.complete:
                connection.detach(reading)
            else:
                connection.drop(reading)
        return reading

    def _clean(self, detail: str) -> str:
        """One printable line without the key, should a server repeat it."""
        if self.key:
            detail = detail.replace(self.key, "***")
        return printable(detail, MAX_DETAIL_CHARACTERS)


class _Reading:
    """Takes an answer as it comes."""

    def __init__(self, answer: Answer, begun_s: float) -> None:
        self.answer, self._begun_s = answer, begun_s
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.broken, self.complete = "", False
        self._status = 0
        self._streamed = self._reason_seen = False
        self._events = Events()
        self._error = bytearray()
        self._failure: tuple[str, str] | None = None

    @property
    def nothing_came(self) -> bool:
        """Not even a status."""
        return bool(self.broken) and self._status == 0

    def head(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Status and headers."""
        self._status = status
        kind = next((value for name, value in headers if name == b"content-type"), b"")
        self._streamed = status == 200 and kind.lower().startswith(b"text/event-stream")

    def body(self, data: bytes, at_s: float) -> None:
        """Some of the body."""
        if not self._streamed:
            self._error += data[: MAX_ERROR_BYTES - len(self._error)]
            if len(self._error) >= MAX_ERROR_BYTES:
                self._finish()
            return
        if self.complete:
            return
        try:
            for event in self._events.feed(data):
                if event == b"[DONE]":
                    self.complete = True
                    self._finish()
                    return
                self._take(read_chunk(event), at_s - self._begun_s)
        except StreamBroken as broken:
            self._failure = (broken.code, broken.detail)
            self._finish()

    def over(self, broken: str) -> None:
        """No more comes."""
        self.broken = broken
        self._finish()

    def conclude(self) -> None:
        """Says what was wrong, if anything was."""
        answer = self.answer
        if self._failure is not None:
            answer.error, answer.detail = self._failure
        elif self._status == 0:
            answer.error, answer.detail = "closed", self.broken or "no answer came"
        elif self._status != 200:
            answer.error, answer.detail = f"http_{self._status}", self._status_words()
        elif not self._streamed:
            answer.error, answer.detail = "not_streamed", "the answer is no stream of events"
        elif not self.complete and not self._reason_seen:
            answer.error, answer.detail = "cut_off", self.broken or "the stream ended before the answer did"
        elif answer.first_s is None:
            answer.error, answer.detail = "no_text", "the answer has no text"

    def _take(self, chunk: dict[str, Any], at_s: float) -> None:
        answer = self.answer
        usage = usage_of(chunk)
        if usage is not None:
            answer.prompt_tokens, answer.output_tokens, answer.cached_tokens = usage
        choice = choice_of(chunk)
        if choice is None:
            return
        self._reason_seen |= bool(choice.get("finish_reason"))
        if has_text(choice):
            if answer.last_s is None:
                answer.first_s = at_s
            else:
                answer.gaps_s.append(at_s - answer.last_s)
            answer.last_s = at_s
            answer.chunks += 1

    def _status_words(self) -> str:
        try:
            said = error_message(json.loads(self._error))
        except (ValueError, RecursionError):
            said = ""
        if 300 <= self._status < 400:
            said = "redirects are not followed"
        return f"it answered {self._status}" + (f": {said}" if said else "")

    def _finish(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _os_words(error: OSError) -> str:
    if error.errno is not None and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return str(getattr(error, "verify_message", "") or error.strerror or type(error).__name__)
