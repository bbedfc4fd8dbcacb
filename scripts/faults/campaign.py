"""Runs asked for, faults in turn, and what must hold when all has ended."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.faults.faults import FAULTS, broker_messages
from scripts.faults.services import within
from scripts.faults.traffic import FINAL, Clients, Receiver, Row, Rows, Watch, plain_id, scenario
from scripts.faults.world import Stack, World, world

ENDS_WITHIN_S = 300.0
TOLD_WITHIN_S = 400.0
"""A webhook call whose worker was killed is held for two minutes before it is tried again."""
COMPARED = 10


@dataclass
class Outcome:
    """The figures of one stack; `wrong` is empty when all held."""

    stack: Stack
    seed: int
    runs: int
    faults: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    resends: int = 0
    restarts: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def campaign(stack: Stack, *, runs: int, seed: int, folder: Path, only: Sequence[str]) -> Outcome:
    """All runs asked for while faults come in an order that the seed draws, each at least once."""
    outcome, start_s = Outcome(stack, seed, runs), time.monotonic()
    receiver = Receiver()
    try:
        with world(stack, folder, receiver.port) as made:
            _go(made, outcome, receiver, only)
    finally:
        receiver.close()
    outcome.seconds = time.monotonic() - start_s
    return outcome


def _go(made: World, outcome: Outcome, receiver: Receiver, only: Sequence[str]) -> None:
    stop, pause = threading.Event(), threading.Event()
    rows = Rows(made)
    watch, clients = Watch(rows), Clients(made, outcome.runs)
    helpers = [threading.Thread(target=made.keep_up, args=(stop,)), threading.Thread(target=watch.run, args=(stop,))]
    asking = threading.Thread(target=clients.run, args=(pause, watch))
    for thread in (*helpers, asking):
        thread.daemon = True
        thread.start()
    try:
        _harm(made, outcome, asking, watch, only)
        asking.join(ENDS_WITHIN_S)
        _wait_for_the_end(outcome, watch, clients)
        _judge(made, outcome, rows, watch, clients, receiver)
    finally:
        stop.set()
        for thread in helpers:
            thread.join(30)
    outcome.refusals, outcome.restarts = clients.refusals, made.restarts


def _harm(made: World, outcome: Outcome, asking: threading.Thread, watch: Watch, only: Sequence[str]) -> None:
    dice, names = random.Random(outcome.seed), list(only or FAULTS)
    while asking.is_alive() or set(names) - set(outcome.faults):
        round_of = dice.sample(names, len(names))
        for name in round_of:
            if not asking.is_alive() and name in outcome.faults:
                continue
            time.sleep(dice.uniform(1.0, 4.0))
            print(f"  {outcome.stack}: {name}; {len(watch.ended)} of {outcome.runs} ended", flush=True)
            problem = FAULTS[name](made, dice)
            outcome.faults[name] += 1
            if problem is not None:
                outcome.wrong.append(f"{name}: {problem}")
                print(f"    {problem}", flush=True)


def _wait_for_the_end(outcome: Outcome, watch: Watch, clients: Clients) -> None:
    """Until every run ended, or nothing ended for a long while."""
    ended, since_s = -1, time.monotonic()
    while len(watch.ended) < outcome.runs:
        if len(watch.ended) > ended:
            ended, since_s = len(watch.ended), time.monotonic()
        if time.monotonic() - since_s > ENDS_WITHIN_S:
            outcome.wrong.append(f"{outcome.runs - ended} runs had not ended {ENDS_WITHIN_S:.0f} s after the last did")
            return
        time.sleep(0.5)


def _judge(made: World, outcome: Outcome, rows: Rows, watch: Watch, clients: Clients, receiver: Receiver) -> None:
    wrong = outcome.wrong
    asked = {plain_id(run) for run in clients.accepted.values()}
    within(TOLD_WITHIN_S, lambda: len(receiver.told) >= len(asked) and not _pending(rows))
    if within(60, lambda: broker_messages(made) == 0) is None:
        wrong.append(f"{broker_messages(made)} messages still wait in the broker")
    runs = watch.look()
    outcome.states = Counter(row.state for row in runs.values())
    outcome.attempts = Counter(row.attempts for row in runs.values())
    outcome.resends = sum(row.resends for row in runs.values())
    _expect(wrong, "runs that were accepted have no row", asked - set(runs))
    _expect(wrong, "runs have a row that nobody was told of", set(runs) - asked)
    _expect(wrong, "runs have not ended", {key for key, row in runs.items() if row.state not in FINAL})
    _expect(wrong, "runs changed after they had ended", watch.changed_after_end)
    _expect(wrong, "runs were held by nobody for long", watch.silent)
    for key, row in runs.items():
        if row.state != "done":
            wrong.append(f"run {key} ended {row.state}: {row.failure}")
    _judge_told(wrong, rows, runs, receiver)
    _judge_reports(wrong, runs, clients)


def _pending(rows: Rows) -> bool:
    return bool(rows.ask("SELECT 1 FROM webhooks_delivery WHERE state = 'pending' LIMIT 1"))


def _judge_told(wrong: list[str], rows: Rows, runs: Any, receiver: Receiver) -> None:
    """Events and audit rows: once a run."""
    bodies = [json.loads(body) for (body,) in rows.ask("SELECT body FROM webhooks_delivery")]
    events = Counter(plain_id(body["data"]["run"]["id"]) for body in bodies)
    _expect(wrong, "runs have not exactly one event of their end", {key for key in runs if events[key] != 1})
    told = {plain_id(run) for run in receiver.told}
    _expect(wrong, "runs' ends did not reach the receiver", set(runs) - told)
    doubled = {run for run, deliveries in receiver.told.items() if len(deliveries) > 1}
    _expect(wrong, "runs were told under two delivery ids", doubled)
    logged = rows.ask(
        "SELECT object_id, COUNT(*) FROM teams_auditevent WHERE action = 'run.started' GROUP BY object_id"
    )
    started = {plain_id(run): times for run, times in logged}
    _expect(wrong, "runs have not exactly one audit row of their start", {k for k in runs if started.get(k) != 1})


def _judge_reports(wrong: list[str], runs: "dict[str, Row] | Any", clients: Clients) -> None:
    """Reports have the seed that was asked for; some are computed again here and must be the same bytes."""
    import hashlib

    from planner import planning

    numbers = sorted(clients.accepted)
    for number in numbers[:: max(1, len(numbers) // COMPARED)]:
        row = runs.get(plain_id(clients.accepted[number]))
        report = planning.report_bytes(planning.plan(planning.parse_scenario(dict(scenario(number)))))
        if row is None or row.report_sha256 != hashlib.sha256(report).hexdigest():
            wrong.append(f"the report of run {number} is not what its scenario gives")
    shared = Counter(row.report_sha256 for row in runs.values() if row.state == "done")
    if len(shared) != sum(shared.values()):
        wrong.append("two runs with different seeds have the same report")


def _expect(wrong: list[str], what: str, found: "set[str]") -> None:
    if found:
        wrong.append(f"{len(found)} {what}: {', '.join(sorted(found)[:3])}")
