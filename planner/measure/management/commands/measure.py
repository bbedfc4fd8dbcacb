"""`manage.py measure URL --model NAME --scenario FILE`: a load test of an OpenAI-compatible streaming server."""

import asyncio
import json
import logging
import math
import os
import resource
import secrets
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser
from django.utils import timezone

from planner import planning
from planner.core.addresses import Resolved, Target, TargetRefused
from planner.measure.allowed import parse_base, resolve_allowed
from planner.measure.asking import Asker
from planner.measure.campaign import MOST_AT_A_TIME, Campaign, Wanted
from planner.measure.connections import Pool
from planner.measure.driving import Driver, Limits
from planner.measure.probing import ProbeFailed
from planner.planning.command import INVALID, NO_CANDIDATE, read_document, read_file
from planner.planning.measuring.answers import INTERRUPTED
from planner.planning.measuring.asked import Questions, questions
from planner.planning.measuring.document import measurement, measurement_text, progress_text
from planner.planning.measuring.picture import curve_svg

SIGNALLED = 130
FILES_KEPT = 64
LEAST_PATIENCE_S = 30.0
MAX_KEY_CHARACTERS = 8192


class Command(BaseCommand):
    help = (
        "Load-tests an OpenAI-compatible streaming server with a scenario's own requests: rising rates to the knee, or "
        "(--closed) ever more requests at a time. Only servers on this machine and those in PLANNER_MEASURE_TARGETS. "
        "Exit 0: some step met all targets; 3: none did; 2: invalid input, or the server does not answer; "
        "130: interrupted, with what was measured so far."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="where the server's /v1 begins, such as http://127.0.0.1:8000")
        parser.add_argument("--model", required=True, help="the name that the server knows the model by")
        parser.add_argument("--scenario", required=True, metavar="FILE", help="scenario JSON, or - for standard input")
        parser.add_argument("--endpoint", choices=("chat", "completions"), default="chat")
        parser.add_argument("--closed", action="store_true", help="1, 2, 4, ... requests at a time instead of rates")
        parser.add_argument("--rates", type=_numbers, default=(), help="these requests per second, such as 1,2,4")
        parser.add_argument("--at-a-time", type=_wholes, default=(), help="these requests at a time, such as 1,8,64")
        parser.add_argument(
            "--first-rate", type=_positive, help="where rising rates start (an eighth of the peak hour)"
        )
        parser.add_argument("--max-rate", type=_positive, default=math.inf, help="where rising rates end")
        parser.add_argument("--warm-up", type=_number, default=15.0, help="seconds of a step that are not judged (15)")
        parser.add_argument("--duration", type=_positive, default=60.0, help="least seconds of a step judged (60)")
        parser.add_argument("--max-duration", type=_positive, default=600.0,
                            help="most seconds, where percentiles need more requests (600)")  # fmt: skip
        parser.add_argument("--timeout", type=_positive, default=300.0, help="seconds for one whole answer (300)")
        parser.add_argument("--max-in-flight", type=int, default=2000, help="a step with more ends (2000)")
        parser.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key")
        parser.add_argument("--api-key-file", metavar="FILE", help="file that holds the key")
        parser.add_argument("--output", metavar="FILE", help="write the measurement as JSON, for `inspect` and others")
        parser.add_argument("--curve", metavar="FILE", help="draw p50 and p95 against throughput, as SVG")
        parser.add_argument("--json", action="store_true", help="print the measurement as JSON")

    def handle(self, *, url: str, **options: Any) -> None:
        try:
            key = _key(options["api_key_env"], options["api_key_file"])
            target = parse_base(url)
            addresses = resolve_allowed(target, settings.MEASURE_TARGETS)
            asked = questions(_scenario(options["scenario"]))
            output, curve = _output(options["output"], "--output"), _output(options["curve"], "--curve")
        except planning.ScenarioInvalid as invalid:
            self._end([f"{error.pointer or '/'}: {error.detail} [{error.code}]" for error in invalid.errors])
        except TargetRefused as refused:
            self._end([f"URL: {refused.detail} [{refused.code}]"])
        except _Refused as refused:
            self._end([str(refused)])
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        campaign = Campaign(asked, _wanted(options), lambda row: self.stderr.write(progress_text(row)))
        most = _most_in_flight(options["max_in_flight"])
        if target.tls is False and key and not _is_loopback(addresses):
            campaign.notes.append("the key went unencrypted: the address begins with http")
        try:
            asyncio.run(self._measure(campaign, target, addresses, key, most, options))
        except ProbeFailed as failed:
            self._end([f"{url_text(target)}: {failed}"])
        document = measurement(_facts(target, asked, campaign, options), campaign.rows, campaign.notes)
        if output is not None:
            output.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False))
        if curve is not None:
            curve.write_text(curve_svg(document))
        self.stdout.write(json.dumps(document, ensure_ascii=False) if options["json"] else measurement_text(document))
        if campaign.ended == INTERRUPTED:
            sys.exit(SIGNALLED)
        if document["knee"] is None:
            sys.exit(NO_CANDIDATE)

    async def _measure(
        self,
        campaign: Campaign,
        target: Target,
        addresses: Sequence[Resolved],
        key: str,
        most_in_flight: int,
        options: dict[str, Any],
    ) -> None:
        pool = Pool(target, addresses)
        asker = Asker(
            pool, options["model"], options["endpoint"] == "chat", key, secrets.token_hex(8), options["timeout"]
        )
        driver = Driver(asker, Limits(most_in_flight, _patience_s(campaign.questions)))
        loop = asyncio.get_running_loop()
        running = asyncio.create_task(campaign.run(driver))

        def interrupt() -> None:
            """The first time ends the step under way, or the probe."""
            driver.interrupt()
            if not campaign.begun:
                running.cancel()

        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, interrupt)
        try:
            await running
        except asyncio.CancelledError:
            campaign.ended = INTERRUPTED
        finally:
            pool.close()

    def _end(self, lines: Sequence[str]) -> Any:
        for line in lines:
            self.stderr.write(line)
        sys.exit(INVALID)


class _Refused(Exception):  # noqa: N818 - the name says what happened
    """An option that cannot be; the message says why."""


def url_text(target: Target) -> str:
    """The server as it may be shown."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"http{'s' if target.tls else ''}://{host}:{target.port}{target.path}"


def _scenario(file: str) -> planning.Scenario:
    data, folder = (sys.stdin.buffer.read(), Path.cwd()) if file == "-" else (read_file(Path(file)), Path(file).parent)
    return planning.parse_scenario(read_document(data, folder), today=timezone.now().date())


def _key(variable: str | None, file: str | None) -> str:
    """The key from where it was said to be. Its text appears nowhere."""
    if variable and file:
        raise _Refused("--api-key-env and --api-key-file: give one of them")
    if variable:
        if not os.environ.get(variable):
            raise _Refused(f"--api-key-env: the environment has no {variable}")
        key = os.environ[variable]
    elif file:
        try:
            key = read_file(Path(file), most_bytes=MAX_KEY_CHARACTERS).decode("ascii", "replace")
        except planning.ScenarioInvalid as invalid:
            raise _Refused(f"--api-key-file: {invalid.errors[0].detail}") from None
    else:
        return ""
    key = key.strip()
    if not key or not all("!" <= character <= "~" for character in key):
        raise _Refused("the key must be visible ASCII characters on one line")
    return key


def _output(file: str | None, option: str) -> Path | None:
    """Known to be writable before hours of measuring."""
    if file is None:
        return None
    path = Path(file)
    try:
        with path.open("a"):
            pass
    except OSError as error:
        raise _Refused(f"{option}: {path}: {error.strerror}") from None
    return path


def _wanted(options: dict[str, Any]) -> Wanted:
    return Wanted(
        closed=options["closed"],
        rates_rps=options["rates"],
        at_a_time=options["at_a_time"],
        first_rps=options["first_rate"],
        most_rps=options["max_rate"],
        warm_up_s=options["warm_up"],
        least_s=options["duration"],
        most_s=max(options["duration"], options["max_duration"]),
    )


def _most_in_flight(asked: int) -> int:
    """No more than files may be open; the limit is raised as far as this process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(1, asked) + FILES_KEPT
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(asked, soft - FILES_KEPT))
    return max(1, asked)


def _patience_s(asked: Questions) -> float:
    """Ten times the slowest first token that a target allows."""
    limits = [target.limit for target in asked.targets.all if target.metric == "ttft"]
    return max(LEAST_PATIENCE_S, 10 * max(limits, default=0.0) / 1e3)


def _is_loopback(addresses: Sequence[Resolved]) -> bool:
    return all(str(address[0]).startswith("127.") or address[0] == "::1" for _, address in addresses)


def _facts(target: Target, asked: Questions, campaign: Campaign, options: dict[str, Any]) -> dict[str, Any]:
    wanted = campaign.wanted
    return {
        "measured_at": timezone.now().isoformat(timespec="seconds"),
        "server": {"url": url_text(target), "model": options["model"], "endpoint": options["endpoint"]},
        "scenario": {"name": asked.name, "digest": asked.digest, "seed": asked.load.seed},
        "settings": {"closed": wanted.closed or bool(wanted.at_a_time), "warm_up_s": wanted.warm_up_s,
                     "duration_s": wanted.least_s, "max_duration_s": wanted.most_s, "timeout_s": options["timeout"]},
        "ended": campaign.ended,
    }  # fmt: skip


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1e6:
        raise ArgumentTypeError(f"must be a number from 0 to a million, got {text[:40]!r}")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if not value:
        raise ArgumentTypeError("must be above 0")
    return value


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_positive(part) for part in text.split(","))


def _wholes(text: str) -> tuple[int, ...]:
    values = _numbers(text)
    if not all(value == int(value) and value <= MOST_AT_A_TIME for value in values):
        raise ArgumentTypeError(f"must be whole numbers of at most {MOST_AT_A_TIME}, got {text[:40]!r}")
    return tuple(int(value) for value in values)
