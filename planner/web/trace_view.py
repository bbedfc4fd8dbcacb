"""How a file of recorded traffic is shown: what it was taken for, what is odd about it, what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.reports.numbers import number, percent, requests_per_s, significant
from planner.reports.parts import Cell, Column, Fact, Row, Table
from planner.web.pictures import (
    Picture,
    clients_picture,
    lengths_picture,
    pairs_picture,
    rate_picture,
    reuse_picture,
    scales_picture,
    turns_picture,
    week_picture,
)
from planner.web.trace_facts import DAY_S, Told, duration, trace_facts

KINDS = {
    "requests": "single requests",
    "usage": "totals of usage, not single requests",
    "rates": "request rates over time, not single requests",
    "lengths": "pairs of lengths without times",
    "length_tables": "tables of lengths, not single requests",
    "measurement": "the result of a load test",
}
PACKINGS = {"gzip": ", packed with gzip"}
CHOICES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


@dataclass(frozen=True, slots=True)
class Question:
    """Two readings are legal. choices: values of the answer with what each would mean."""

    answer: str
    detail: str
    choices: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TraceView:
    """A file as it was read. usable: its requests can become a trace."""

    kind: str
    title: str
    usable: bool
    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    questions: tuple[Question, ...]
    problems: Table | None
    sample: Table | None
    pictures: tuple[Picture, ...]
    fitted: tuple[Fact, ...]
    lost: tuple[str, ...]
    compared: Table | None


def trace_view(told: Told) -> TraceView:
    """Of what `inspect_source` told, or of a stored trace's reading and profile."""
    reading, profile = told.get("reading") or {}, told.get("profile")
    kind = str(told.get("kind", "requests"))
    questions = tuple(_question(each) for each in reading.get("questions", ()))
    return TraceView(
        kind=KINDS.get(kind, kind),
        title=reading.get("title", "") + PACKINGS.get(reading.get("packing", ""), ""),
        usable=kind == "requests" and not questions,
        facts=tuple(trace_facts(told)),
        assumptions=tuple(_because(each) for each in reading.get("assumptions", ())),
        warnings=tuple(_warnings(reading, profile)),
        questions=questions,
        problems=_problems(reading),
        sample=_sample(profile),
        pictures=tuple(_pictures(profile)),
        fitted=tuple(_fitted(profile)),
        compared=_compared(profile),
        lost=tuple((profile or {}).get("fitted", {}).get("lost", ())) if profile and profile.get("fitted") else (),
    )


def _question(told: Told) -> Question:
    choices = tuple(
        (value, f"{CHOICES[value]}: {meaning}" if value in CHOICES else meaning)
        for value, meaning in told["choices"].items()
    )
    return Question(told["answer"], told["detail"], choices)


def _because(assumption: Mapping[str, str]) -> str:
    return f"{assumption['what']}: {assumption['taken']}, because {assumption['because']}"


def _warnings(reading: Told, profile: Told | None) -> Iterator[str]:
    """What a careful reader would ask about."""
    rows = reading.get("rows", {})
    dropped = sum(rows.get("dropped", {}).values())
    if dropped:
        yield f"{number(dropped)} of {number(rows['read'])} rows are left out; the reasons stand below."
    if rows.get("failed"):
        yield f"{number(rows['failed'])} requests failed: they arrive, and are not replayed."
    if rows.get("out_of_order"):
        back = significant(rows["max_backstep_s"])
        yield f"{number(rows['out_of_order'])} rows are out of order and were sorted; the clock goes back by {back} s."
    if reading.get("personal"):
        yield f"Columns that may name people are not kept: {', '.join(reading['personal'])}."
    if profile and profile["span_s"] < DAY_S:
        lasts = duration(profile["span_s"])
        yield (
            f"The recording lasts {lasts}: less than a day, so it is taken as the busiest hour, and the week around it "
            "comes from the shape that you choose."
        )
    if profile and (profile.get("gaps") or {}).get("is_quantised"):
        rounded = significant(profile["gaps"]["resolution_s"])
        yield f"Times are rounded to {rounded} s, so bursts within that are not seen."


def _problems(reading: Told) -> Table | None:
    found = reading.get("problems") or ()
    rows = tuple(
        Row((Cell(number(each["row"])), Cell("used" if each["kept"] else "left out"), Cell(each["detail"])))
        for each in found
    )
    columns = (Column("Line"), Column("Row is"), Column("Because", wide=True))
    return (
        Table("Rows with something odd about them, the first ten of each kind", columns, rows, small=True)
        if rows
        else None
    )


def _sample(profile: Told | None) -> Table | None:
    rows = (profile or {}).get("preview") or ()
    columns = (
        Column("Line"),
        Column("Arrival", "s", numeric=True),
        Column("Prompt", "tokens", numeric=True),
        Column("Output", "tokens", numeric=True),
        Column("State"),
    )
    cells = (
        (
            Cell(number(each["row"])),
            Cell(number(each["arrival_s"], 3)),
            Cell(number(each["prompt_tokens"])),
            Cell(number(each["output_tokens"])),
            Cell("failed" if each["failed"] else "served"),
        )
        for each in rows
    )
    return (
        Table("The first requests as they were read", columns, tuple(Row(each) for each in cells), small=True)
        if rows
        else None
    )


def _pictures(profile: Told | None) -> Iterator[Picture]:
    told = (profile or {}).get("pictures") or {}
    week = ((profile or {}).get("rates") or {}).get("week_rps")
    if week:
        yield week_picture([rate or 0.0 for rate in week], "The week, mean of what was seen")
    if told.get("rate") and len(told["rate"]["rps"]) > 1:
        yield rate_picture(told["rate"])
    for title, key in (("Prompts", "prompt_tokens"), ("Outputs", "output_tokens")):
        if told.get(key):
            yield lengths_picture(title, told[key])
    if told.get("output_by_prompt"):
        yield pairs_picture(told["output_by_prompt"])
    bursts = scales_picture(((profile or {}).get("rates") or {}).get("dispersion_by_scale_s") or {})
    if bursts:
        yield bursts
    if told.get("turns"):
        yield turns_picture(told["turns"])
    if told.get("clients"):
        yield clients_picture(told["clients"])
    if (profile or {}).get("prefix"):
        yield reuse_picture((profile or {})["prefix"]["reusable_token_ratio_by_cache_tokens"])


COMPARED = {
    "dispersion_1_s": "Burstiness in 1 s",
    "dispersion_60_s": "Burstiness in 1 min",
    "peak_minute_to_mean": "Busiest minute ÷ mean",
    "prompt_tokens": "Prompt tokens",
    "output_tokens": "Output tokens",
}


def _compared(profile: Told | None) -> Table | None:
    """The replay beside the distributions that stand for it; traces kept before have no such figures."""
    told = ((profile or {}).get("fitted") or {}).get("compared") or ()
    rows = []
    for each in told:
        name, _, percentile = each["what"].rpartition("_p")
        label = f"{COMPARED[name]}, p{percentile}" if name in COMPARED else COMPARED[each["what"]]
        cells = (significant(each[side]) for side in ("recorded", "fitted"))
        rows.append(Row((Cell(label), *map(Cell, cells))))
    columns = (Column("Figure"), Column("Replay", numeric=True), Column("Distributions", numeric=True))
    return Table("The replay beside the distributions", columns, tuple(rows), small=True) if rows else None


def _fitted(profile: Told | None) -> Iterator[Fact]:
    fitted = (profile or {}).get("fitted")
    if not fitted:
        return
    traffic = fitted["traffic"]
    arrival = traffic["arrival"]
    cv = f", variation {significant(arrival['cv'])}" if "cv" in arrival else ""
    rate = "busiest hour" if fitted["is_peak_hour"] else "mean over the week"
    off = fitted["ks_distance"]["arrival"].get(arrival["kind"])
    note = f"off by at most {percent(off, 1)} of gaps" if off else "the stamps are too coarse to say how close"
    yield Fact("Arrivals", f"{arrival['kind'].capitalize()}{cv}", note=note)
    yield Fact("Rate", requests_per_s(arrival["mean_rps"]), "req/s", note=rate)
    for label, key in (("Prompts", "prompt_tokens"), ("Outputs", "output_tokens")):
        distance = fitted["ks_distance"][key]
        how = traffic[key]["kind"]
        yield Fact(
            label, how, note=f"off by at most {percent(distance[how], 1)} of requests" if distance.get(how) else ""
        )
