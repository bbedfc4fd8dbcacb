"""What a person says about where a measurement was made; planning judges it."""

from collections.abc import Sequence
from typing import Any

from django import forms

from planner import planning
from planner.runs.models import Run

_YES_NO = [("", "the engine's default"), ("true", "on"), ("false", "off")]
SETTINGS = (
    "pipeline_parallel", "replicas", "counted_over_s", "kv_dtype", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens", "gpu_memory_utilization", "enable_prefix_caching", "enable_chunked_prefill",
)  # fmt: skip
"""Folded: what is usually the engine's default."""


def _suggested(of: str) -> forms.TextInput:
    return forms.TextInput(attrs={"list": of, "autocomplete": "off"})


def plan_label(run: Run) -> str:
    """A report as a list offers it."""
    version = f", version {run.scenario_version.number}" if run.scenario_version else ""
    return f"{run.name}{version}, {run.created_at:%Y-%m-%d %H:%M}"


class DeploymentForm(forms.Form):
    """Blank where the file says nothing: nothing is guessed."""

    model = forms.CharField(label="Model", max_length=200, widget=_suggested("catalog-models"))
    gpu = forms.CharField(label="GPU", max_length=200, widget=_suggested("catalog-gpus"))
    tensor_parallel = forms.IntegerField(label="Tensor parallel", help_text="GPUs that one replica is split over.")
    engine = forms.ChoiceField(
        label="Engine",
        choices=[("", "choose"), ("vllm", "vLLM"), ("sglang", "SGLang"), ("tensorrt-llm", "TensorRT-LLM")],
    )
    engine_version = forms.CharField(label="Engine version", max_length=200, required=False)
    weight_dtype = forms.ChoiceField(
        label="Weights",
        required=False,
        choices=[
            ("", "as the checkpoint ships"),
            *((name, name) for name in ("bf16", "fp16", "fp8", "int8", "w4a16", "fp4")),
        ],
    )
    measured_on = forms.DateField(
        label="Measured on", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    plan = forms.ChoiceField(
        label="Plan that it followed", required=False, help_text="What it recommends stands for fields left empty."
    )
    replicas = forms.IntegerField(
        label="Replicas", required=False, help_text="That the file counts together. Empty: those of the plan, else one."
    )
    counted_over_s = forms.FloatField(
        label="Counted over, seconds", required=False, help_text="Of a text of /metrics without times."
    )
    pipeline_parallel = forms.IntegerField(label="Pipeline stages", required=False)
    kv_dtype = forms.ChoiceField(
        label="KV cache", required=False, choices=[("", "the engine's default"), ("bf16", "bf16"), ("fp8", "fp8")]
    )
    max_model_len = forms.IntegerField(label="Longest context", required=False)
    max_num_seqs = forms.IntegerField(label="Sequences in a step, at most", required=False)
    max_num_batched_tokens = forms.IntegerField(label="Tokens in a step, at most", required=False)
    gpu_memory_utilization = forms.FloatField(label="Memory share, 0 to 1", required=False)
    enable_prefix_caching = forms.ChoiceField(label="Prefix caching", required=False, choices=_YES_NO)
    enable_chunked_prefill = forms.ChoiceField(label="Chunked prefill", required=False, choices=_YES_NO)

    def __init__(self, *args: Any, plans: Sequence[Run] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["plan"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "none"), *((str(run.pk), plan_label(run)) for run in plans)]
        if self.data.get("plan"):
            for name in ("model", "gpu", "tensor_parallel", "engine"):
                self.fields[name].required = False

    @property
    def plain(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in SETTINGS]

    @property
    def folded(self) -> list[forms.BoundField]:
        return [self[name] for name in SETTINGS]

    @property
    def folded_open(self) -> bool:
        """Whether something in the fold is wrong."""
        return any(name in self.errors for name in SETTINGS)

    def said(self) -> dict[str, Any]:
        """What was sent, as planning takes it; blank fields left out."""
        found = {name: value for name, value in self.cleaned_data.items() if value not in (None, "") and name != "plan"}
        for name in ("enable_prefix_caching", "enable_chunked_prefill"):
            if name in found:
                found[name] = found[name] == "true"
        return {**found, "measured_on": found["measured_on"].isoformat()}

    def show_errors(self, invalid: planning.ScenarioInvalid) -> None:
        """Puts every fault beside its field, with what would be allowed."""
        for error in invalid.errors:
            name = error.pointer.lstrip("/").partition("/")[0]
            self.add_error(name if name in self.fields else None, error.detail)
