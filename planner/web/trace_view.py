"""How a file of recorded traffic is shown: what it was taken for, what is odd about it, what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.reports.numbers import number, percent, requests_per_s, significant
from planner.reports.parts import Cell, Column, Fact, Row, Table
from planner.web.pictures import Picture, lengths_picture, rate_picture, week_picture

Told = Mapping[str, Any]
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
LENGTHS = {"empirical": "as observed"}
CLOCKS = {"wall": "dates and times", "offset": "seconds from a start", "none": "none"}
H_S, DAY_S = 3600, 86_400


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
        facts=tuple(_facts(reading, profile)),
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


def duration(seconds: float) -> str:
    """ "58 minutes", "3.2 hours", "14 days"."""
    for limit, size, unit in ((2 * DAY_S, DAY_S, "days"), (2 * H_S, H_S, "hours"), (120, 60, "minutes")):
        if seconds >= limit:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds)} seconds"


def _question(told: Told) -> Question:
    choices = tuple(
        (value, f"{CHOICES[value]}: {meaning}" if value in CHOICES else meaning)
        for value, meaning in told["choices"].items()
    )
    return Question(told["answer"], told["detail"], choices)


def _because(assumption: Mapping[str, str]) -> str:
    return f"{assumption['what']}: {assumption['taken']}, because {assumption['because']}"


def _facts(reading: Told, profile: Told | None) -> Iterator[Fact]:
    rows = reading.get("rows", {})
    if rows.get("read"):
        yield Fact("Rows used", f"{number(rows['used'])} of {number(rows['read'])}")
    if reading.get("clock"):
        yield Fact("Times", CLOCKS.get(reading["clock"], str(reading["clock"])))
    if not profile:
        return
    yield Fact("Recorded over", duration(profile["span_s"]))
    rates, gaps, lengths = profile.get("rates"), profile.get("gaps"), profile.get("lengths")
    if rates:
        yield Fact("Mean rate", requests_per_s(rates["mean_rps"]), "req/s")
        peaks = (("Busiest minute ÷ mean", "peak_minute_to_mean"), ("Busiest hour ÷ mean", "peak_hour_to_mean"))
        for label, key in peaks:
            if rates.get(key):
                yield Fact(label, significant(rates[key]))
        yield from _burstiness(rates)
    if gaps and gaps.get("cv") is not None and not gaps.get("is_quantised"):
        yield Fact("Variation of the gaps", significant(gaps["cv"]), note="1 is random, above 1 comes in bursts")
    for label, key in (("Prompt tokens", "prompt_tokens"), ("Output tokens", "output_tokens")):
        if lengths:
            told = lengths[key]
            yield Fact(
                f"{label}, mean", number(told["mean"]), note=f"p95 {number(told['p95'])}, max {number(told['max'])}"
            )
    if lengths and lengths.get("correlation_of_logs") is not None:
        correlation = significant(lengths["correlation_of_logs"], 2)
        yield Fact("Correlation of prompt and output", correlation, note="of their logarithms; 0 is none, 1 is full")
    if lengths and lengths.get("cached_token_ratio") is not None:
        yield Fact("Cached prompt tokens", percent(lengths["cached_token_ratio"]))
    yield from _shared(profile)


def _burstiness(rates: Told) -> Iterator[Fact]:
    """How much more than by chance the counts of windows differ, at several scales; and growth."""
    scales = (("1", "1 s"), ("60", "1 min"), ("3600", "1 h"))
    told = [(name, rates["dispersion_by_scale_s"].get(scale)) for scale, name in scales]
    known = [f"{significant(value)} in {name}" for name, value in told if value is not None]
    if known:
        yield Fact("Burstiness", " · ".join(known), note="variance ÷ mean of the counts; 1 is random")
    if rates.get("growth_per_week") is not None:
        yield Fact("Growth", percent(rates["growth_per_week"], 1), "a week")


def _shared(profile: Told) -> Iterator[Fact]:
    """Conversations, clients, and what of the prompts came before."""
    talks, clients, prefix = (profile.get(name) for name in ("conversations", "clients", "prefix"))
    if talks:
        turns = f"{significant(talks['turns_mean'])} turns on average"
        again = talks.get("next_turn_p50_s")
        later = f", the next after {duration(again)}" if again is not None else ""
        yield Fact("Conversations", number(talks["conversations"]), note=turns + later)
    if clients:
        shares = f"the largest sends {percent(clients['largest_share'])}, the busiest tenth "
        yield Fact("Clients", number(clients["clients"]), note=shares + percent(clients["top_tenth_share"]))
    if prefix:
        by_size = prefix["reusable_token_ratio_by_cache_tokens"]
        sizes = (("262144", "256 Ki"), ("4194304", "4 Mi"))
        caches = ", ".join(f"{percent(by_size[key])} with {name} tokens" for key, name in sizes if key in by_size)
        label = "Prompt tokens that came before"
        yield Fact(label, percent(by_size["unbounded"]), note=f"in a cache without limit; {caches}")


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
