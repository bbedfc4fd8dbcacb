"""What was taken for granted while reading a file, what has to be asked, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Literal

from planner.planning.importers.errors import ImportRefused, Problems

Decimal = Literal["point", "comma"]

ANSWERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "delimiter": ("comma", "semicolon", "tab", "pipe"),
        "decimal": ("point", "comma"),
        "dates": ("day_first", "month_first"),
        "time_unit": ("s", "ms", "us", "ns"),
        "negative_times": ("reject", "rebase"),
        "block_tokens": tuple(str(1 << power) for power in range(3, 12)),
    }
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person said about a file; None where nothing was said. columns: meaning -> name of the column."""

    delimiter: str | None = None
    decimal: str | None = None
    dates: str | None = None
    time_unit: str | None = None
    negative_times: str | None = None
    block_tokens: str | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Assumption:
    """One thing that was read in one way. what: the subject; taken: how; because: the evidence."""

    what: str
    taken: str
    because: str


@dataclass(frozen=True, slots=True)
class Question:
    """Two readings are legal. answer: the key of `Answers`; choices: its values, each with what it would mean."""

    answer: str
    detail: str
    choices: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Reading:
    """A file as it was understood. Complete once all its rows were read.

    format: stable key; title: in words; packing: plain or gzip; columns: names as written, in order;
    used: meaning -> column; ignored: columns not used (personal ones among them are named in `personal`);
    clock: wall (stamps of a calendar), offset (numbers from a start) or none.
    """

    format: str = "unknown"
    title: str = ""
    kind: str = "unknown"
    packing: str = "plain"
    clock: str = "none"
    block_tokens: int | None = None
    columns: tuple[str, ...] = ()
    used: dict[str, str] = field(default_factory=dict)
    personal: tuple[str, ...] = ()
    assumptions: list[Assumption] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    rows_read: int = 0
    rows_used: int = 0
    failed_rows: int = 0
    out_of_order_rows: int = 0
    max_backstep_ns: int = 0
    classes: list[str] = field(default_factory=list)

    def assume(self, what: str, taken: str, because: str) -> None:
        self.assumptions.append(Assumption(what, taken, because))

    def ask(self, answer: str, detail: str, *choices: tuple[str, str]) -> None:
        self.questions.append(Question(answer, detail, choices))

    def require_answers(self) -> None:
        """Raises ImportRefused(unanswered) while a question is open."""
        if self.questions:
            raise ImportRefused("unanswered", " ".join(question.detail for question in self.questions))

    def as_dict(self) -> dict[str, object]:
        """The reading as plain JSON, with counts of dropped and kept rows by rule."""
        return {
            "format": self.format,
            "title": self.title,
            "kind": self.kind,
            "packing": self.packing,
            "clock": self.clock,
            "block_tokens": self.block_tokens,
            "columns": list(self.columns),
            "used": dict(self.used),
            "personal": list(self.personal),
            "assumptions": [asdict(each) for each in self.assumptions],
            "questions": [
                {"answer": each.answer, "detail": each.detail, "choices": dict(each.choices)} for each in self.questions
            ],
            "rows": {
                "read": self.rows_read,
                "used": self.rows_used,
                "failed": self.failed_rows,
                "dropped": dict(self.problems.dropped),
                "kept_with_notes": dict(self.problems.kept),
                "out_of_order": self.out_of_order_rows,
                "max_backstep_s": self.max_backstep_ns / 1e9,
            },
            "problems": [asdict(each) for each in self.problems],
        }
