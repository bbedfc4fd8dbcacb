"""The section of the form about traffic."""

from planner.web.forms.layout import Group, Item, Section


def _lengths(path: str, label: str) -> Group:
    return Group(
        (
            Item(f"{path}.kind", f"{label}, described by"),
            Item(f"{path}.mean", f"{label}, mean", kinds=("lognormal",)),
            Item(f"{path}.p95", f"{label}, p95", kinds=("lognormal",), optional=True),
            Item(f"{path}.p50", f"{label}, p50", kinds=("lognormal",), optional=True),
            Item(f"{path}.tokens", f"{label}, every request", kinds=("fixed",)),
            Item(f"{path}.values", f"{label}, observed", "list", kinds=("empirical",), optional=True, wide=True),
            Item(
                f"{path}.quantiles",
                f"{label}, or their distribution",
                "list",
                kinds=("empirical",),
                optional=True,
                wide=True,
                help="Pairs [share, tokens], rising from 0 to 1; between them on straight lines.",
            ),
        ),
        title=label,
        ways=("rate", "users"),
        kind=f"{path}.kind",
    )


TRAFFIC = Section(
    "traffic",
    "Traffic",
    (
        Group(
            (
                Item("traffic.arrival.kind", "Arrivals"),
                Item("traffic.arrival.mean_rps", "Mean over the week"),
                Item("traffic.arrival.cv", "Variation of the gaps", kinds=("gamma",)),
            ),
            title="How many requests",
            ways=("rate",),
            kind="traffic.arrival.kind",
        ),
        Group(
            (
                Item("traffic.users.total_users", "Users", help="Everyone with access."),
                Item(
                    "traffic.users.active_ratio",
                    "Share active at a time",
                    help="Mean over the week: 0.08 with a peak of 2.4 is a fifth of all in the busiest hour.",
                ),
                Item(
                    "traffic.users.requests_per_user_hour",
                    "Requests of an active user",
                    help="12 to 120 an hour is usual; an agent sends each of its steps.",
                ),
                Item(
                    "traffic.users.active_users",
                    "Or: users active at a time",
                    optional=True,
                    help="Instead of the first two lines.",
                ),
            ),
            title="How many requests",
            ways=("users",),
            chain=True,
        ),
        Group(
            (
                Item("traffic.trace", "Recorded requests", "trace", wide=True),
                Item(
                    "traffic.trace.prefixes",
                    "What prompts share",
                    optional=True,
                    unset="as recorded",
                    help="As recorded: the hashed blocks of the trace, if it has any. Conversations: a turn repeats "
                    "what was said before.",
                ),
                Item(
                    "traffic.trace.copies",
                    "Times as many requests",
                    optional=True,
                    help="More users alike in the same time; 0.5: half of them.",
                ),
                Item(
                    "traffic.trace.speed",
                    "Times as fast",
                    optional=True,
                    help="At 2, gaps and bursts last half as long.",
                ),
            ),
            title="Recorded requests",
            ways=("trace",),
        ),
        Group(
            (
                Item(
                    "traffic.shape.kind",
                    "Shape of the week",
                    help="How the load rises and falls over the 168 hours of a week.",
                ),
                Item("traffic.shape.peak_to_mean", "Peak ÷ mean", optional=True),
            ),
            title="The week",
        ),
        _lengths("traffic.prompt_tokens", "Prompt tokens"),
        _lengths("traffic.output_tokens", "Output tokens"),
        Group(
            (
                Item("traffic.prefix.kind", "What prompts share"),
                Item("traffic.prefix.tokens", "Shared prefix", kinds=("shared",)),
                Item("traffic.prefix.groups", "Different prefixes", kinds=("shared",)),
            ),
            title="Shared prefix",
            ways=("rate", "users"),
            kind="traffic.prefix.kind",
        ),
    ),
    way="way.traffic",
    options=(("rate", "A rate"), ("users", "Users"), ("trace", "A trace")),
    note="Several kinds of requests (classes) that a scenario has are kept, in place of lengths and prefix; they are "
    "changed over the API.",
)
