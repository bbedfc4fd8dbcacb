"""An OpenAI-compatible server whose engine is the simulator: real HTTP and real streams, the timing of a deployment."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from planner.measure import prompts, words
from planner.measure.clock import SPIN_S
from planner.measure.engine_clock import PS_PER_S, EngineClock, Sink
from planner.measure.http_server import Exchange, HttpServer
from planner.measure.openai_body import ApiError, Completion, read_completion
from planner.measure.server_metrics import ServerMetrics
from planner.planning.measuring.served import Ended, Served

RETRY_AFTER_S = 1
TIMED = 41


class SimulatedServer:
    """Serves `served` under the name `model`. speed: simulated seconds a second; see EngineClock for the rest.

    own_s  how long a request and its answer take here without the engine. The deployment's time outside the engine was
           measured by clients, so HTTP is in it: what HTTP really takes is not added again.
    """

    def __init__(
        self,
        served: Served,
        model: str,
        *,
        speed: float = 1.0,
        spin_s: float = SPIN_S,
        on_failure: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.served, self.model = served, model
        self.clock = EngineClock(served, speed=speed, spin_s=spin_s, on_failure=on_failure)
        self.metrics = ServerMetrics(model)
        self.http = HttpServer(self._handle)
        self._started_s = int(time.time())
        self._asked = 0
        self._speed, self.own_s = speed, 0.0

    async def time_itself(self, host: str, port: int) -> None:
        """Finds out what a request and its answer take here: asks for a model that is not there."""
        loop, taken_s = asyncio.get_running_loop(), []
        body = json.dumps({"model": "", "prompt": words.answer(1000)}).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        reader, writer = await asyncio.open_connection(host, port)
        for _ in range(TIMED):
            begun_s = loop.time()
            writer.write(head + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
            taken_s.append(loop.time() - begun_s)
        writer.close()
        self.own_s = float(np.median(taken_s))

    async def stop(self) -> None:
        """Ends every connection and the simulation."""
        self.clock.stop()
        await self.http.stop()

    def _handle(self, exchange: Exchange) -> None:
        try:
            self._route(exchange)
        except ApiError as error:
            self._answer_error(exchange, error)

    def _route(self, exchange: Exchange) -> None:
        posts = {"/v1/chat/completions": True, "/v1/completions": False}
        pages = {"/health": self._health, "/v1/models": self._models, "/metrics": self._metrics}
        if exchange.path in posts:
            if exchange.method != "POST":
                raise ApiError(405, "only POST is answered here")
            self._complete(exchange, chat=posts[exchange.path])
        elif exchange.path in pages:
            if exchange.method not in ("GET", "HEAD"):
                raise ApiError(405, "only GET is answered here")
            pages[exchange.path](exchange)
        else:
            raise ApiError(404, "there is no such page", "NotFoundError")

    def _health(self, exchange: Exchange) -> None:
        exchange.reply(200, b"", b"text/plain")

    def _models(self, exchange: Exchange) -> None:
        entry = {"id": self.model, "object": "model", "created": self._started_s, "owned_by": "staircase",
                 "root": self.served.model, "max_model_len": self.served.max_model_len}  # fmt: skip
        exchange.reply_json(200, {"object": "list", "data": [entry]})

    def _metrics(self, exchange: Exchange) -> None:
        exchange.reply(200, self.metrics.text(self.clock).encode(), b"text/plain; version=0.0.4; charset=utf-8")

    def _answer_error(self, exchange: Exchange, error: ApiError) -> None:
        headers = [(b"retry-after", str(RETRY_AFTER_S).encode())] if error.status == 503 else []
        exchange.reply_json(error.status, error.as_dict(), headers)

    def _complete(self, exchange: Exchange, *, chat: bool) -> None:
        asked = read_completion(bytes(exchange.body), self.model, chat=chat)
        exchange.body.clear()
        number = self._asked
        self._asked += 1
        output, reason = self._output(asked, number)
        keys: list[int] = []
        if self.served.prefix_caching:
            keys = prompts.block_keys(asked.tokens + words.answer(output).encode(), self.served.block_size)
        answer = _Answer(self, exchange, asked, f"{'chatcmpl' if chat else 'cmpl'}-{number}", output, reason)
        served = self.served
        outside_ps = served.request_ps + served.request_token_ps * asked.prompt_tokens
        answer.sink.delay_ps = max(0, outside_ps - int(self.own_s * self._speed * PS_PER_S))
        entered = self.clock.submit(exchange.received_s, asked.prompt_tokens, output, keys, answer.sink)

        def gone() -> None:
            self.metrics.finished["abort"] += 1
            self.clock.leave(entered)

        exchange.on_gone = gone

    def _output(self, asked: Completion, number: int) -> tuple[int, str]:
        """How many tokens the answer has, and why it ends. The model's own end is drawn from the scenario's answers."""
        room = self.served.max_model_len - asked.prompt_tokens
        if room < 1 or (asked.max_tokens or 1) > room or asked.min_tokens > room:
            wanted = max(asked.max_tokens or 1, asked.min_tokens)
            raise ApiError(
                400,
                f"This model's maximum context length is {self.served.max_model_len} tokens. However, your prompt has "
                f"{asked.prompt_tokens} tokens and you asked for {wanted} more.",
                "BadRequestError",
                "prompt",
            )
        most = asked.max_tokens or room
        if asked.min_tokens > most:
            raise ApiError(400, "min_tokens must not exceed max_tokens", param="min_tokens")
        if asked.ignore_eos:
            return most, "length"
        sample = self.served.output_tokens
        drawn = int(np.random.default_rng([self.served.seed, number]).choice(sample))
        output = max(1, asked.min_tokens, min(drawn, most))
        return output, "length" if drawn >= most else "stop"

    def done(self, asked: Completion, sink: Sink, output: int, reason: str, ended: Ended) -> None:
        """Counts a request that has ended, with all its tokens or without."""
        metrics = self.metrics
        metrics.preemptions += ended.preemptions
        if sink.first_ps is None or sink.last_ps is None:
            return
        metrics.finished[reason] += 1
        metrics.prompt_tokens += asked.prompt_tokens
        metrics.cached_tokens += ended.cached_tokens
        begun_ps = sink.arrival_ps + sink.delay_ps  # engines count their own time, without HTTP and tokenizer
        metrics.ttft.add((sink.first_ps - begun_ps) / PS_PER_S)
        metrics.e2e.add((sink.last_ps - begun_ps) / PS_PER_S)
        metrics.prompts.add(asked.prompt_tokens)
        metrics.outputs.add(output)
        if output > 1:
            metrics.tpot.add((sink.last_ps - sink.first_ps) / PS_PER_S / (output - 1))


class _Answer:
    """One answer as its tokens come: streamed, or kept for the end."""

    def __init__(
        self, server: SimulatedServer, exchange: Exchange, asked: Completion, name: str, output: int, reason: str
    ) -> None:
        self._server, self._exchange, self._asked, self._output, self._reason = server, exchange, asked, output, reason
        self.sink = Sink(self.tokens, self.end, 0)
        self._sent, self._before_ps = 0, 0
        kind = "chat.completion" if asked.chat else "text_completion"
        self._about = {"id": name, "object": kind, "created": int(time.time()), "model": server.model}
        if asked.stream and asked.chat:
            self._about["object"] = "chat.completion.chunk"
        self._head = f"data: {json.dumps(self._about)[:-1]}, "

    def tokens(self, count: int) -> None:
        """So many more."""
        now_ps = self.sink.last_ps or 0
        if self._sent:
            self._server.metrics.itl.add((now_ps - self._before_ps) / PS_PER_S)
        self._before_ps = now_ps
        self._server.metrics.generation_tokens += count
        start, self._sent = self._sent, self._sent + count
        if not self._asked.stream:
            return
        chunks = ""
        if not start:
            self._exchange.begin(200, b"text/event-stream; charset=utf-8")
            if self._asked.chat:
                chunks = self._chunk('"delta": {"role": "assistant", "content": ""}', "null")
        text = json.dumps(words.answer(count, start))
        content = f'"delta": {{"content": {text}}}' if self._asked.chat else f'"text": {text}'
        reason = f'"{self._reason}"' if self._sent == self._output else "null"
        self._exchange.send((chunks + self._chunk(content, reason)).encode())

    def end(self, ended: Ended) -> None:
        """No more come."""
        if ended.finished:
            self._server.done(self._asked, self.sink, self._output, self._reason, ended)
            usage = self._usage(ended)
            if self._asked.stream:
                last = (
                    f'{self._head}"choices": [], "usage": {json.dumps(usage)}}}\n\n' if self._asked.with_usage else ""
                )
                self._exchange.send(f"{last}data: [DONE]\n\n".encode())
                self._exchange.finish()
            else:
                self._exchange.reply_json(200, {**self._about, "choices": [self._choice()], "usage": usage})
        elif "waiting line" in ended.reason:
            self._server._answer_error(self._exchange, ApiError(503, "The waiting line is full.", "overloaded_error"))
        else:
            self._server._answer_error(self._exchange, ApiError(400, f"It cannot be served: {ended.reason}."))

    def _chunk(self, content: str, reason: str) -> str:
        return f'{self._head}"choices": [{{"index": 0, {content}, "logprobs": null, "finish_reason": {reason}}}]}}\n\n'

    def _choice(self) -> dict[str, Any]:
        text = words.answer(self._output)
        content: dict[str, Any] = (
            {"message": {"role": "assistant", "content": text}} if self._asked.chat else {"text": text}
        )
        return {"index": 0, **content, "logprobs": None, "finish_reason": self._reason}

    def _usage(self, ended: Ended) -> dict[str, Any]:
        prompt = self._asked.prompt_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": self._output,
            "total_tokens": prompt + self._output,
            "prompt_tokens_details": {"cached_tokens": ended.cached_tokens},
        }


async def serve(
    server: SimulatedServer, host: str, port: int, ready: Callable[[str, int], None], stopped: asyncio.Event
) -> None:
    """Listens until told to stop. Raises OSError."""
    ready(*await server.http.listen(host, port))
    await stopped.wait()
    await server.stop()
