"""Forms for a team's own catalog entries, one per list, and for its default assumptions; planning judges them."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms

from planner import planning
from planner.datasets.models import EntryKind


class EntryForm(forms.Form):
    """What every entry has: where it is from, and since when."""

    source = forms.CharField(
        label="Source", max_length=120, help_text="Contract, quote, data sheet. Reports repeat it."
    )
    as_of = forms.DateField(
        label="As of",
        initial=date.today,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="A price counts from this day on.",
    )

    def value(self) -> dict[str, Any]:
        """What was sent, as planning takes it; blank fields left out."""
        outside = EntryForm.base_fields
        return {
            name: part for name, part in self.cleaned_data.items() if name not in outside and part not in (None, "")
        }

    def show_errors(self, invalid: planning.ScenarioInvalid) -> None:
        """Puts every fault beside its field."""
        for error in invalid.errors:
            name = error.pointer.lstrip("/").partition("/")[0]
            known = next((field for field in (name, "config") if field in self.fields), None)
            self.add_error(known, error.detail)


def _usd(label: str, *, required: bool = True, per: str = "$/GPU-h") -> forms.FloatField:
    return forms.FloatField(label=f"{label}, {per}", required=required)


class GpuPriceForm(EntryForm):
    gpu = forms.CharField(
        label="Accelerator", max_length=200, widget=forms.TextInput(attrs={"list": "own-gpus", "autocomplete": "off"})
    )
    usd_per_gpu_hour = _usd("Price")
    field_order = ["gpu", "usd_per_gpu_hour"]


class ApiPriceForm(EntryForm):
    provider = forms.CharField(label="Provider", max_length=200)
    model = forms.CharField(label="Model", max_length=200)
    input_usd_per_mtok = _usd("Input", per="$/M tokens")
    output_usd_per_mtok = _usd("Output", per="$/M tokens")
    cached_read_usd_per_mtok = _usd("Cached input", required=False, per="$/M tokens")
    field_order = [
        "provider",
        "model",
        "input_usd_per_mtok",
        "output_usd_per_mtok",
        "cached_read_usd_per_mtok",
    ]


class ModelForm(EntryForm):
    """By a pasted config.json, or by the number of parameters alone."""

    id = forms.CharField(label="Name", max_length=200)
    params_total_b = forms.FloatField(label="Parameters, billions", required=False, help_text="Or paste its config.")
    config = forms.CharField(
        label="config.json", required=False, max_length=200_000, widget=forms.Textarea(attrs={"rows": 6})
    )
    field_order = ["id", "params_total_b", "source", "as_of", "config"]

    def value(self) -> dict[str, Any]:
        """The config is read as the JSON that it is."""
        found = super().value()
        text = found.pop("config", None)
        if text is not None:
            try:
                found["hf_config"] = json.loads(text)
            except (ValueError, RecursionError):
                found["hf_config"] = text
        return found


class AcceleratorForm(EntryForm):
    id = forms.CharField(label="Name", max_length=200)
    memory_gib = forms.FloatField(label="Memory, GiB")
    memory_bandwidth_gb_per_s = forms.FloatField(label="Bandwidth, GB/s")
    bf16_dense_tflops = forms.FloatField(label="BF16, dense TFLOP/s")
    fp8_dense_tflops = forms.FloatField(label="FP8, dense TFLOP/s", required=False)
    interconnect_gb_per_s = forms.FloatField(label="GPU to GPU, GB/s")
    gpus_per_node = forms.IntegerField(label="GPUs per node", initial=8)
    usd_per_gpu_hour = _usd("Price")
    field_order = [
        "id",
        "memory_gib",
        "memory_bandwidth_gb_per_s",
        "bf16_dense_tflops",
        "fp8_dense_tflops",
        "interconnect_gb_per_s",
        "gpus_per_node",
        "usd_per_gpu_hour",
    ]


ENTRY_FORMS: Mapping[str, type[EntryForm]] = {
    EntryKind.GPU_PRICE.value: GpuPriceForm,
    EntryKind.API_PRICE.value: ApiPriceForm,
    EntryKind.MODEL.value: ModelForm,
    EntryKind.ACCELERATOR.value: AcceleratorForm,
}


class DefaultsForm(forms.Form):
    """What scenarios start from that say nothing else; blank: the program's own default."""

    spare_replicas = forms.IntegerField(label="Spare replicas", required=False)
    hours_per_month = forms.FloatField(label="Hours per month", required=False)
    engine = forms.ChoiceField(
        label="Engine",
        required=False,
        choices=[("", "newest vLLM"), ("vllm", "vLLM"), ("sglang", "SGLang"), ("tensorrt-llm", "TensorRT-LLM")],
    )

    @staticmethod
    def texts_of(defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The form's first values."""
        return {**defaults.get("billing", {}), "engine": defaults.get("engine", {}).get("name", "")}

    def defaults(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """The team's defaults as they are to be; engine settings of the same engine stay."""
        given = self.cleaned_data
        billing = {name: given[name] for name in ("spare_replicas", "hours_per_month") if given[name] not in (None, "")}
        engine = dict(before.get("engine", {}))
        if given["engine"] != engine.get("name", ""):
            engine = {"name": given["engine"]} if given["engine"] else {}
        return {name: part for name, part in (("billing", billing), ("engine", engine)) if part}

    def show_errors(self, invalid: planning.ScenarioInvalid) -> None:
        """Puts every fault beside its field."""
        for error in invalid.errors:
            name = error.pointer.rpartition("/")[2]
            self.add_error(
                name if name in self.fields else "engine" if "engine" in error.pointer else None, error.detail
            )
