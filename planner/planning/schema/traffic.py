"""What arrives: how often, in which weekly shape, and how long prompts and outputs are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import Loose, Part, Range, RateRps, Ratio, ShortText, Tokens
from planner.planning.schema.lengths import Lengths
from planner.planning.schema.slo import Slo

MAX_TRACE_ROWS = 200_000
MAX_TRACE_CHARACTERS = 8_000_000


class Poisson(Part):
    """Independent arrivals."""

    kind: Literal["poisson"]
    mean_rps: RateRps = Field(
        description="Requests per second, mean over the week; the peak hour has mean_rps × peak_to_mean."
    )


class Gamma(Part):
    """Bursty arrivals: gamma-distributed gaps."""

    kind: Literal["gamma"]
    mean_rps: RateRps = Field(
        description="Requests per second, mean over the week; the peak hour has mean_rps × peak_to_mean."
    )
    cv: Annotated[float, Range(0.05, 20, "")] = Field(
        description="Coefficient of variation of the gaps; 1 is Poisson, above 1 is burstier."
    )


class Constant(Part):
    """Evenly spaced arrivals."""

    kind: Literal["constant"]
    mean_rps: RateRps = Field(
        description="Requests per second, mean over the week; the peak hour has mean_rps × peak_to_mean."
    )


Arrival = Annotated[Poisson | Gamma | Constant, Field(discriminator="kind")]


class Shape(Part):
    """The week, hour by hour, around its mean."""

    kind: Literal["constant", "diurnal", "business_hours", "working_week"] = Field(
        "constant",
        description="Constant; diurnal: a daily wave; business_hours: weekdays only; working_week: quieter weekends.",
    )
    peak_to_mean: Annotated[float, Range(1, 20, "")] | None = Field(
        None, description="Rate of the busiest hour over the mean of the week; left out: what is usual for the shape."
    )


class NoPrefix(Part):
    """Prompts share nothing."""

    kind: Literal["none"]


class SharedPrefix(Part):
    """Requests of a group start with the same tokens (a system prompt)."""

    kind: Literal["shared"]
    groups: Annotated[int, Range(1, 100_000, "groups")] = Field(1, description="Different prefixes, equally likely.")
    tokens: Tokens = Field(description="Length of the shared prefix; part of prompt_tokens.")


Prefix = Annotated[NoPrefix | SharedPrefix, Field(discriminator="kind")]

TraceRow = Annotated[
    tuple[
        Annotated[float, Range(0, 1e9, "s")],
        Annotated[int, Range(0, 10_000_000, "tokens")],
        Annotated[int, Range(0, 10_000_000, "tokens")],
    ],
    Loose,
]


class Trace(Part):
    """Recorded requests, replayed. Shorter than a day, it is the peak hour at its own rate; shape gives the week."""

    builtin: ShortText | None = Field(None, description="A vendored trace: azure-conversation-2023.")
    csv: Annotated[str, Field(max_length=MAX_TRACE_CHARACTERS)] | None = Field(
        None,
        description="CSV: TIMESTAMP,ContextTokens,GeneratedTokens (Azure), or seconds, prompt and output tokens; also "
        "session (numbers of conversations) and blocks (runs of hashed blocks, 0 14-26).",
    )
    rows: Annotated[tuple[TraceRow, ...], Field(max_length=MAX_TRACE_ROWS), Loose] | None = Field(
        None, description="Rows [arrival in s, prompt tokens, output tokens]; output 0 marks a failed request."
    )
    block_tokens: Annotated[int, Range(1, 65_536, "tokens")] | None = Field(
        None, description="Tokens of a hashed block, where the CSV tells the content of prompts in them (hash_ids)."
    )
    prefixes: Literal["recorded", "conversations", "none"] | None = Field(
        None,
        description="What prompts share in the replay. Recorded: the hashed blocks of the trace, if it has any; "
        "conversations: a turn repeats its conversation up to there, if it is long enough; none: nothing. Left out: "
        "recorded.",
    )
    speed: Annotated[float, Range(0.01, 1_000, "times")] | None = Field(
        None, description="Times as fast as recorded: at 2, gaps and bursts last half as long. Left out: 1."
    )
    copies: Annotated[float, Range(0.01, 1_000, "times")] | None = Field(
        None,
        description="Times as many requests in the same time: more users alike, with content of their own; below 1, "
        "some of the conversations. Left out: 1.",
    )


class Users(Part):
    """People instead of requests per second; the chain from one to the other is shown in the report."""

    active_users: Annotated[float, Range(0, 1e9, "users", above=True)] | None = Field(
        None, description="Users active at one time, mean over the week."
    )
    total_users: Annotated[float, Range(0, 1e10, "users", above=True)] | None = Field(
        None, description="All users; needs active_ratio."
    )
    active_ratio: Ratio | None = Field(None, description="Share of total_users active at one time, mean over the week.")
    requests_per_user_hour: Annotated[float, Range(0, 36_000, "requests/h", above=True)] = Field(
        description="Requests one active user makes in an hour."
    )


class Batch(Part):
    """Requests that may wait: they fill the hours in which the fleet has replicas to spare before they buy any."""

    requests_per_day: Annotated[float, Range(0, 1e9, "requests/day", above=True)] = Field(
        description="Requests with a deadline, a day, every day."
    )
    deadline_hours: Annotated[int, Range(1, 168, "h")] = Field(
        24, description="Each is done so many hours after the one it came in; providers' batch APIs promise 24."
    )
    submitted_at_hour: Annotated[int, Range(0, 23, "o'clock")] | None = Field(
        None, description="Hour of the day in which all of them come; left out: evenly over the day."
    )
    prompt_tokens_mean: Annotated[float, Range(1, 10_000_000, "tokens")] | None = Field(
        None, description="Mean prompt; left out: as the other requests'. Their spread is taken over."
    )
    output_tokens_mean: Annotated[float, Range(1, 10_000_000, "tokens")] | None = Field(
        None, description="Mean output; left out: as the other requests'."
    )


class TrafficClass(Part):
    """Some of the requests: with lengths, priority and targets of their own, on the same fleet."""

    name: ShortText = Field(description="Shown beside its targets and its bill.")
    share_ratio: Ratio = Field(description="Share of all requests; those of the classes add up to 1.")
    prompt_tokens: Lengths = Field(description="Tokens of a whole prompt, template and shared prefix included.")
    output_tokens: Lengths = Field(description="Tokens generated per request, reasoning included.")
    prefix: Prefix = Field(NoPrefix(kind="none"), description="What prompts of this class have in common.")
    priority: Annotated[int, Range(0, 255, "")] = Field(
        0, description="Lower ones are let in first where classes differ (0 most urgent)."
    )
    slo: Slo | None = Field(None, description="Targets of this class, judged over its requests alone.")


class Traffic(Part):
    """What arrives. Exactly one of arrival, trace and users; lengths for all, or classes with their own."""

    arrival: Arrival | None = Field(None, description="Arrivals by rate.")
    trace: Trace | None = Field(None, description="Arrivals and lengths from a record.")
    users: Users | None = Field(None, description="Arrivals from users; they come as a Poisson stream.")
    shape: Shape = Field(Shape(), description="The week around the mean (or, with a trace, around the peak hour).")
    prompt_tokens: Lengths | None = Field(
        None, description="Tokens of a whole prompt, template and shared prefix included."
    )
    output_tokens: Lengths | None = Field(None, description="Tokens generated per request, reasoning included.")
    prefix: Prefix = Field(NoPrefix(kind="none"), description="What prompts have in common.")
    classes: Annotated[tuple[TrafficClass, ...], Field(max_length=8), Loose] = Field(
        (), description="Kinds of requests that share the fleet, in place of prompt_tokens, output_tokens and prefix."
    )
    batch: Batch | None = Field(None, description="Requests that may wait, beside those with latency targets.")
