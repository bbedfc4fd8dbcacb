"""`manage.py inspect FILE`: what a file of traffic, usage or measurements is and says."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser

from planner.planning.command import INVALID
from planner.planning.importers import ANSWERS, Answers, ImportRefused, file_source
from planner.planning.inspection import inspect_source, inspection_text

QUESTIONS_OPEN = 4


class Command(BaseCommand):
    help = (
        "Says what a traffic trace, usage export or benchmark result is: rows, rows left out by reason, rate, "
        "burstiness, lengths, prefix reuse, or measured metrics and whether they agree. Exit 0; 2: not readable; "
        "4: a question must be answered first."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")
        parser.add_argument(
            "--answer",
            action="append",
            default=[],
            metavar="QUESTION=CHOICE",
            help="; ".join(f"{name}: {', '.join(choices)}" for name, choices in ANSWERS.items()),
        )
        parser.add_argument(
            "--column", action="append", default=[], metavar="MEANING=NAME", help="time=when, prompt=..., output=..."
        )

    def handle(self, *, file: Path, answer: list[str], column: list[str], **options: Any) -> None:
        try:
            told = inspect_source(file_source(file), parse_answers(answer, column))
        except ImportRefused as refused:
            if options["json"]:
                self.stdout.write(json.dumps({"errors": [refused.as_dict()]}, ensure_ascii=False))
            else:
                self.stderr.write(f"{file}: {refused} [{refused.code}]")
            sys.exit(INVALID)
        self.stdout.write(json.dumps(told, ensure_ascii=False) if options["json"] else inspection_text(told))
        if told["reading"] and told["reading"]["questions"]:
            sys.exit(QUESTIONS_OPEN)


def parse_answers(answers: list[str], columns: list[str]) -> Answers:
    """Answers from `key=value` texts. Raises ImportRefused(unknown_answer)."""
    given = {}
    for text in answers:
        name, _, choice = text.partition("=")
        if choice not in ANSWERS.get(name, ()):
            allowed = "; ".join(f"{each}={'|'.join(choices)}" for each, choices in ANSWERS.items())
            raise ImportRefused("unknown_answer", f"{text!r} is no answer; there are {allowed}.")
        given[name] = choice
    named = dict(text.partition("=")[::2] for text in columns)
    return Answers(**given, columns=named)
