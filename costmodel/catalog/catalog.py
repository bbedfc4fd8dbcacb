"""The vendored catalog: accelerators and models with their sources, under one digest of the data files."""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from costmodel.catalog.hardware import Accelerator
from costmodel.catalog.hardware_rows import accelerator_from_row
from costmodel.catalog.ids import resolve, without_format
from costmodel.deployment.problems import UnknownIdError
from costmodel.models.hf_config import model_from_hf_config
from costmodel.models.quantization import format_in_name, storage_format
from costmodel.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Where a model's config came from. `listed` entries are the primary ones; the rest are variants."""

    id: str
    file: str
    listed: bool
    confidence: str
    source: str
    as_of: str
    note: str


class ModelMapping(Mapping[str, ModelSpec]):
    """Ordered models by id; a config is read when its model is first asked for."""

    def __init__(self, entries: Mapping[str, ModelEntry], folder: Traversable) -> None:
        self.entries = entries
        self._folder = folder
        self._read: dict[str, ModelSpec] = {}

    def __getitem__(self, model_id: str) -> ModelSpec:
        if model_id not in self._read:
            self._read[model_id] = self._load(self.entries[model_id])
        return self._read[model_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def _load(self, entry: ModelEntry) -> ModelSpec:
        config = json.loads((self._folder / entry.file).read_text(encoding="utf-8"))
        spec = model_from_hf_config(config, entry.id, source=entry.source, confidence=entry.confidence)
        return replace(spec, notes=(*spec.notes, entry.note)) if entry.note else spec


@dataclass(frozen=True)
class Catalog:
    """Accelerators and models by id. `version` is a digest of every data file that costmodel ships."""

    accelerators: Mapping[str, Accelerator]
    models: ModelMapping
    aliases: Mapping[str, Mapping[str, str]]
    ambiguous: Mapping[str, tuple[str, ...]]
    version: str

    def accelerator(self, given: str) -> Accelerator:
        """The accelerator that `given` means ('h100 sxm 80gb'). Raises UnknownIdError with what it could mean."""
        known = resolve(
            given,
            kind="accelerator",
            ids=self.accelerators,
            aliases=self.aliases["accelerators"],
            ambiguous=self.ambiguous,
        )
        return self.accelerators[known]

    def model(self, given: str) -> ModelSpec:
        """The model that `given` means ('Llama-3.3-70B'). Raises UnknownIdError with what it could mean.

        A repository that only re-quantises a known model ('RedHatAI/...-FP8-dynamic') is that model in the format its
        name announces, by the usual recipe; a note says so.
        """
        try:
            return self._model(given)
        except UnknownIdError:
            base = without_format(given)
            announced = format_in_name(given[len(base) :])
            if base == given:
                raise
            spec = self._model(base)
        note = f"{given}: the shapes of {spec.id}"
        if announced is None:
            return replace(spec, notes=(*spec.notes, note))
        kept = "fp16" if spec.native_format.kept_dtype == "fp16" else "bf16"
        note += f" in {announced.upper()} by the usual recipe, as the name says"
        return replace(spec, native_format=storage_format(announced, kept), notes=(*spec.notes, note))

    def _model(self, given: str) -> ModelSpec:
        listed = [known for known, entry in self.models.entries.items() if entry.listed]
        aliases = self.aliases["models"]
        if given in self.models:
            return self.models[given]
        try:
            return self.models[resolve(given, kind="model", ids=listed, aliases=aliases)]
        except UnknownIdError as error:
            if error.code == "ambiguous_id":
                raise
            return self.models[resolve(given, kind="model", ids=self.models, aliases=aliases)]


@cache
def load_catalog() -> Catalog:
    """The shipped catalog, read once per process (a few milliseconds; model configs on demand)."""
    data = files("costmodel") / "data"
    names = tomllib.loads((data / "aliases.toml").read_text(encoding="utf-8"))
    rows = csv.DictReader((data / "accelerators.csv").read_text(encoding="utf-8").splitlines())
    accelerators = {row["id"]: accelerator_from_row(row) for row in rows}
    return Catalog(
        accelerators=accelerators,
        models=ModelMapping(_entries(data / "models" / "index.csv"), data / "models"),
        aliases={"accelerators": names["accelerators"], "models": names["models"]},
        ambiguous={name: tuple(ids) for name, ids in names["ambiguous_accelerators"].items()},
        version=_digest(data),
    )


def _entries(index: Traversable) -> dict[str, ModelEntry]:
    rows = csv.DictReader(index.read_text(encoding="utf-8").splitlines())
    return {
        row["id"]: ModelEntry(
            id=row["id"],
            file=row["file"],
            listed=row["listed"] == "1",
            confidence=row["config_confidence"],
            source=row["source"],
            as_of=row["as_of"],
            note=row["note"],
        )
        for row in rows
    }


def _digest(folder: Traversable) -> str:
    """First 12 hex digits of SHA-256 over names and contents of all data files, in order of their names."""
    digest = hashlib.sha256()
    for name, content in sorted(_contents(folder, "")):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def _contents(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _contents(item, f"{prefix}{item.name}/")
        elif item.name.endswith((".csv", ".toml", ".json")):
            yield prefix + item.name, item.read_bytes()
