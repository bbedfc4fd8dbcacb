"""The engine clock, step by step: slow, readable, and the specification that the fast engine is held to.

Time is a whole number of picoseconds in Python ints. A step starts when the one before it ended; with nothing to do,
time jumps to the next arrival. A prompt's first token comes at the end of the step that completes it.
"""

from collections.abc import Callable

import numpy as np

from simulator.blocks import BlockPool
from simulator.config import EngineConfig
from simulator.errors import SimulationCancelled, beyond_horizon
from simulator.policies import Queues, Step, schedule
from simulator.records import (
    FINISHED,
    ITL_BINS,
    ITL_SLICES,
    UNSERVABLE,
    EventLog,
    itl_bin,
    itl_slice_of,
    pack_itl,
)
from simulator.requests import BlockContent, Request, unservable_reason
from simulator.steptime import HORIZON_PS, StepTime
from simulator.workload import Workload

STEPS_PER_REPORT = 4096


def simulate_reference(
    config: EngineConfig,
    step_time: StepTime,
    workload: Workload,
    until_ps: int | None = None,
    on_progress: Callable[[float], bool] | None = None,
) -> EventLog:
    """Run the workload to its end, or to the first step boundary at or after `until_ps`."""
    run = _Run(config, step_time, workload, until_ps)
    while run.advance():
        if on_progress is not None and run.steps % STEPS_PER_REPORT == 0 and not on_progress(run.ended / len(workload)):
            raise SimulationCancelled
    return run.log()


class _Run:
    def __init__(self, config: EngineConfig, step_time: StepTime, workload: Workload, until_ps: int | None) -> None:
        self.config, self.step_time, self.workload, self.until_ps = config, step_time, workload, until_ps
        self.content = BlockContent(workload, config.block_size) if config.enable_prefix_caching else None
        self.arrival_ps: list[int] = workload.arrival_ps.tolist()
        self.requests: list[Request] = []
        self.queues = Queues(BlockPool(config.num_blocks))
        self.now_ps = self.steps = self.busy_ps = self.ended = self.admissions = 0
        self.seat_ps = self.kv_block_ps = self.kv_peak_blocks = self.prefill_tokens = 0
        self.itl = np.zeros((ITL_SLICES, ITL_BINS), np.int64)

    def advance(self) -> bool:
        """One step, or one jump over idle time; False when there is nothing more to do."""
        if self.now_ps >= HORIZON_PS:
            raise beyond_horizon()
        self._receive()
        if self.until_ps is not None and self.now_ps >= self.until_ps:
            return False
        if self.queues.running or self.queues.waiting:
            self._step()
            return True
        if len(self.requests) == len(self.workload):
            return False
        self.now_ps = self.arrival_ps[len(self.requests)]
        if self.until_ps is not None:
            self.now_ps = min(self.now_ps, self.until_ps)
        return True

    def _receive(self) -> None:
        """Take in the requests that have arrived; those that can never be served end here."""
        while len(self.requests) < self._sendable() and self.arrival_ps[len(self.requests)] <= self.now_ps:
            number = len(self.requests)
            prompt, output = int(self.workload.prompt_tokens[number]), int(self.workload.output_tokens[number])
            request = Request(
                number, self.arrival_ps[number], prompt, output, self.content.keys(number) if self.content else ()
            )
            request.target = prompt
            self.requests.append(request)
            request.reason = unservable_reason(self.config, prompt, output)
            if request.reason:
                self._end(request, UNSERVABLE, request.arrival_ps)
            else:
                self.queues.waiting.append(request)

    def _sendable(self) -> int:
        """In a closed loop a request can be sent when one has ended for each beyond the concurrency limit."""
        concurrency = self.workload.concurrency
        return len(self.workload) if concurrency is None else min(len(self.workload), concurrency + self.ended)

    def _end(self, request: Request, outcome: int, at_ps: int) -> None:
        request.outcome, request.finish_ps = outcome, at_ps
        if self.workload.concurrency is not None:
            released = self.workload.concurrency + self.ended
            if released < len(self.arrival_ps):
                self.arrival_ps[released] = max(self.arrival_ps[released], at_ps)
        self.ended += 1

    def _step(self) -> None:
        step = schedule(self.config, self.queues)
        self._note_moves(step)
        duration_ps = self._duration_ps(step)
        self._account(step, duration_ps)
        self.now_ps += duration_ps
        for request, tokens in step.chunks:
            self._compute(request, tokens)

    def _note_moves(self, step: Step) -> None:
        for request in step.preempted:
            request.preemptions += 1
            request.preempted_at_ps = self.now_ps
        for request in step.admitted:
            if request.preemptions:
                request.preempted_ps += self.now_ps - request.preempted_at_ps
            else:
                request.admitted_ps = self.now_ps
                request.cached_tokens = request.computed
                self.admissions += 1

    def _duration_ps(self, step: Step) -> int:
        prefills = [(request.computed, tokens) for request, tokens in step.chunks if request.prefilling]
        return self.step_time.step_ps(
            tokens=sum(tokens for _, tokens in step.chunks),
            decode_seqs=len(step.chunks) - len(prefills),
            context_tokens=sum(request.computed for request, _ in step.chunks),
            prefill_pairs=sum(chunk * before + chunk * (chunk + 1) // 2 for before, chunk in prefills),
            prefill_seqs=len(prefills),
        )

    def _account(self, step: Step, duration_ps: int) -> None:
        self.steps += 1
        self.busy_ps += duration_ps
        self.seat_ps += duration_ps * len(self.queues.running)
        self.kv_block_ps += duration_ps * self.queues.pool.used
        self.kv_peak_blocks = max(self.kv_peak_blocks, self.queues.pool.used)
        self.prefill_tokens += sum(tokens for request, tokens in step.chunks if request.prefilling)

    def _compute(self, request: Request, tokens: int) -> None:
        """The step has ended: the request's tokens are computed; with its target reached it emits a token."""
        request.computed += tokens
        if self.content is not None:
            for index in range(request.published, request.computed // self.config.block_size):
                self.queues.pool.publish(request.blocks[index], request.keys[index])
                request.published = index + 1
        if request.computed == request.target:
            self._emit(request)

    def _emit(self, request: Request) -> None:
        request.prefilling = False
        request.generated += 1
        request.target += 1
        if request.generated == 1:
            request.first_token_ps = self.now_ps
        else:
            self.itl[
                itl_slice_of(self.admissions, len(self.workload)), itl_bin(self.now_ps - request.last_token_ps)
            ] += 1
        request.last_token_ps = self.now_ps
        if request.generated == request.output_tokens:
            self.queues.running.remove(request)
            self.queues.pool.release(request.blocks)
            self._end(request, FINISHED, self.now_ps)

    def log(self) -> EventLog:
        """The columns, with the requests that never arrived before `until_ps` as unfinished rows."""
        rows = self.requests + [
            Request(
                number,
                self.arrival_ps[number],
                int(self.workload.prompt_tokens[number]),
                int(self.workload.output_tokens[number]),
                (),
            )
            for number in range(len(self.requests), len(self.workload))
        ]

        def column(name: str, dtype: type = np.int64) -> np.ndarray:
            return np.array([getattr(row, name) for row in rows], dtype)

        waiting_ps = sum(self._waited_ps(request) for request in self.requests)
        itl_slice, itl_upper_ps, itl_count = pack_itl(self.itl)
        return EventLog(
            arrival_ps=column("arrival_ps"),
            admitted_ps=column("admitted_ps"),
            first_token_ps=column("first_token_ps"),
            finish_ps=column("finish_ps"),
            prompt_tokens=column("prompt_tokens"),
            output_tokens=column("output_tokens"),
            generated_tokens=column("generated"),
            cached_tokens=column("cached_tokens"),
            preemptions=column("preemptions"),
            preempted_ps=column("preempted_ps"),
            outcome=column("outcome", np.int8),
            reason=column("reason", np.int8),
            end_ps=self.now_ps,
            steps=self.steps,
            busy_ps=self.busy_ps,
            request_ps=self.step_time.request_ps,
            seat_ps=self.seat_ps,
            waiting_ps=waiting_ps,
            kv_block_ps=self.kv_block_ps,
            kv_peak_blocks=self.kv_peak_blocks,
            num_blocks=self.config.num_blocks,
            max_num_seqs=self.config.max_num_seqs,
            prefill_tokens=self.prefill_tokens,
            itl_slice=itl_slice,
            itl_upper_ps=itl_upper_ps,
            itl_count=itl_count,
        )

    def _waited_ps(self, request: Request) -> int:
        """Time in the waiting queue, first and preempted, up to the end of the run."""
        if request.outcome == UNSERVABLE:
            return 0
        if request.admitted_ps < 0:
            return self.now_ps - request.arrival_ps
        if request in self.queues.waiting:
            request.preempted_ps += self.now_ps - request.preempted_at_ps
        return request.admitted_ps - request.arrival_ps + request.preempted_ps
