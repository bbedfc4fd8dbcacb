"""What the field's terms mean, shown on hover and focus."""

from typing import Final

GLOSSARY: Final[dict[str, tuple[str, str]]] = {
    "ttft": (
        "Time to first token",
        "From the request reaching the server to its first output token. Includes the wait in the queue.",
    ),
    "tpot": (
        "Time per output token",
        "(End to end − TTFT) ÷ (output tokens − 1). Requests with one output token have none.",
    ),
    "itl": ("Inter-token latency", "Gap between two tokens of one answer, each gap counted."),
    "e2e": ("End to end", "From the request reaching the server to its last token."),
    "goodput": (
        "Goodput",
        "Share of requests that meet every target at once. In req/s: the rate of such requests.",
    ),
    "slo": ("Service level objective", "A latency that a stated share of requests must stay under."),
    "tp": ("Tensor parallel", "Every layer is split over this many GPUs, which exchange results twice a layer."),
    "pp": ("Pipeline parallel", "The layers are split into this many stages, one after the other."),
    "ep": ("Expert parallel", "The experts of a mixture model are spread over this many GPUs."),
    "spare": (
        "Spare replicas",
        "Replicas beyond what the load needs. Paid, but not counted on for the targets. With prefill and decode pools "
        "each pool has its own, as an engine of one does not stand in for the other.",
    ),
    "capacity": ("Capacity", "The highest load of one replica at which every target is still met."),
    "disaggregation": (
        "Prefill and decode pools",
        "Engines that compute prompts only, and others that produce the outputs: the KV of a prompt is sent from one "
        "to the other, so that long prompts do not slow the tokens of other requests.",
    ),
    "saturation": ("Saturation", "The load of one replica beyond which its queue grows without end."),
    "kv": (
        "KV cache",
        "Keys and values of every token still in use, held in GPU memory in blocks of a fixed number of tokens.",
    ),
    "preemption": (
        "Preemption",
        "A running request loses its KV blocks to make room and computes them again later.",
    ),
    "prefix": (
        "Prefix cache hits",
        "Share of input tokens whose KV blocks were still in memory. Whole blocks only; one token is always computed.",
    ),
    "little": (
        "Little's law",
        "Requests in the system = arrival rate × time in the system. A check of the simulation.",
    ),
    "utilisation": (
        "Utilisation",
        "Load over the load at which the targets are still met. A result of the plan, never an input.",
    ),
    "blended": (
        "Blended price",
        "Cost of a month over all its tokens, input and output together, at this mix.",
    ),
    "interval": (
        "Interval",
        "From fast to slow steps: of ten held-out measurements, eight lay between the two. A cost interval also spans "
        "the middle half of the listed GPU prices; a price of your own counts as it stands.",
    ),
    "seats": ("Seats", "Sequences that one replica may serve at once (max_num_seqs)."),
    "breakeven": ("Break-even", "The load at which self-hosting and the API cost the same."),
}
