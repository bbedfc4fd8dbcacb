"""Rows of SkyPilot's and gpuhunt's catalogs as offers: which accelerator, at whom, where, for how much each hour."""

from __future__ import annotations

import ast
import csv
import io
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import Any

from costmodel import load_catalog
from planner.planning.price_feeds.feeds import Feed, FeedInvalid

MOST_BYTES = 64 << 20
"""Of a list once unpacked; the largest published one has some 10 MiB."""
MOST_ROWS = 500_000
MOST_USD_PER_GPU_HOUR = Decimal(200)
"""Beyond it stands a placeholder (700.0 in some lists), not a price."""
SKYPILOT_COLUMNS = frozenset({"InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"})
GPUHUNT_COLUMNS = frozenset({"instance_name", "location", "price", "gpu_count", "gpu_name", "spot"})


@dataclass(frozen=True, slots=True)
class GpuOffer:
    """What one GPU of an instance rents for in one region, US dollars an hour."""

    accelerator_id: str
    provider: str
    instance: str
    gpus_per_instance: int
    region: str
    on_demand_usd_per_gpu_hour: Decimal | None
    spot_usd_per_gpu_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class ReadOffers:
    """What a list offers, whose prices it holds, and how many of its rows were left out, by reason."""

    offers: tuple[GpuOffer, ...]
    providers: frozenset[str]
    rows: int
    left_out: Mapping[str, int]


def read_offers(data: bytes, feed: Feed) -> ReadOffers:
    """Offers of a list in `feed.format`: SkyPilot's `vms.csv`, or gpuhunt's `catalog.zip` or one CSV out of it.

    FeedInvalid: it is not in that format.
    """
    left_out: Counter[str] = Counter()
    offers: list[GpuOffer] = []
    providers: set[str] = set()
    rows = 0
    for provider, text in _tables(data, feed):
        providers.add(provider)
        for row in _rows(text, SKYPILOT_COLUMNS if feed.format == "skypilot" else GPUHUNT_COLUMNS):
            rows += 1
            if rows > MOST_ROWS:
                raise FeedInvalid(f"it has more than {MOST_ROWS:,} rows")
            try:
                read = _skypilot if feed.format == "skypilot" else _gpuhunt
                offers.append(read(row, provider))
            except _LeftOut as reason:
                left_out[str(reason)] += 1
    if not rows:
        raise FeedInvalid("it has no rows")
    return ReadOffers(tuple(offers), frozenset(providers | {offer.provider for offer in offers}), rows, dict(left_out))


class _LeftOut(Exception):  # noqa: N818 - a row, not an error
    """Why a row is no offer that can be compared."""


def _tables(data: bytes, feed: Feed) -> Iterator[tuple[str, str]]:
    """(provider, CSV text) of each table of the list."""
    if not data.startswith(b"PK"):
        if not feed.provider:
            raise FeedInvalid("a bare CSV does not say whose prices it has: name the provider, as in gpuhunt:aws")
        yield _provider(feed.provider), _text(data)
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            tables = [entry for entry in archive.infolist() if entry.filename.endswith(".csv")]
            if not tables:
                raise FeedInvalid("the ZIP holds no CSV")
            if sum(entry.file_size for entry in tables) > MOST_BYTES:
                raise FeedInvalid(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
            for entry in tables:
                named = entry.filename.rpartition("/")[2].removesuffix(".csv").casefold()
                with archive.open(entry) as member:  # no further than announced, whatever the header says
                    yield _provider(feed.provider or named), _text(member.read(MOST_BYTES + 1))
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as broken:
        raise FeedInvalid("the ZIP is damaged") from broken


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise FeedInvalid(f"it has more than {MOST_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FeedInvalid("it is not UTF-8 text") from None


def _rows(text: str, needed: frozenset[str]) -> Iterable[Mapping[str, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = needed - set(reader.fieldnames or ())
        if missing:
            raise FeedInvalid(f"it lacks the columns {', '.join(sorted(missing))}")
        for row in reader:
            yield {name: value or "" for name, value in row.items() if isinstance(value, str | None) and name}
    except csv.Error as wrong:
        raise FeedInvalid(f"it is no CSV table: {wrong}") from None


def _skypilot(row: Mapping[str, str], provider: str) -> GpuOffer:
    """One row of vms.csv: prices of the whole instance. Google's rows of an accelerator alone have no instance."""
    if not row["AcceleratorName"]:
        raise _LeftOut("no accelerator")
    if not row["InstanceType"]:
        raise _LeftOut("price of the accelerator without its host")
    count = _count(row["AcceleratorCount"])
    instance = row["InstanceType"].removeprefix("Standard_")
    # RunPod's two clouds are two offers, and the catalog keeps them apart
    for mark in ("secure", "community"):
        if instance.casefold().endswith(f"_{mark}"):
            provider = f"{provider}-{mark}"
    return GpuOffer(
        _accelerator(row["AcceleratorName"], provider, f"{instance} {_inside(row.get('GpuInfo', ''))}", None),
        provider,
        instance,
        count,
        row["Region"],
        _per_gpu(row["Price"], count),
        _per_gpu(row.get("SpotPrice", ""), count),
    )


def _gpuhunt(row: Mapping[str, str], provider: str) -> GpuOffer:
    """One row of a provider's CSV: either an on-demand or a spot price of the whole instance."""
    if not row["gpu_name"]:
        raise _LeftOut("no accelerator")
    count = _count(row["gpu_count"])
    memory = _decimal(row.get("gpu_memory", ""))
    price = _per_gpu(row["price"], count)
    spot = row["spot"].strip().casefold() == "true"
    return GpuOffer(
        _accelerator(row["gpu_name"], provider, row["instance_name"], memory),
        provider,
        row["instance_name"].removeprefix("Standard_"),
        count,
        row["location"],
        None if spot else price,
        price if spot else None,
    )


def _inside(gpu_info: str) -> str:
    """What SkyPilot's description of the card calls it ('H100 SXM5'); a Python literal in these lists."""
    try:
        described: Any = ast.literal_eval(gpu_info) if len(gpu_info) < 2_000 else {}
        return str(described["Gpus"][0]["Name"])
    except (ValueError, SyntaxError, KeyError, IndexError, TypeError, RecursionError, MemoryError):
        return ""


def _count(text: str) -> int:
    value = _decimal(text)
    if value is None or value <= 0:
        raise _LeftOut("no number of accelerators")
    if value != value.to_integral_value():
        raise _LeftOut("a part of an accelerator")
    return int(value)


def _per_gpu(text: str, count: int) -> Decimal | None:
    value = _decimal(text)
    if value is None or value == 0:
        return None
    each = value / count
    if not 0 < each <= MOST_USD_PER_GPU_HOUR:
        raise _LeftOut("a placeholder instead of a price")
    return round(each, 6).normalize()


def _decimal(text: str) -> Decimal | None:
    try:
        value = Decimal(text.strip()) if text.strip() else None
    except InvalidOperation:
        return None
    return value if value is not None and value.is_finite() else None


def _accelerator(name: str, provider: str, instance: str, memory_gb: Decimal | None) -> str:
    """The catalog's id of a list's accelerator. _LeftOut: unknown, or it may be several products."""
    names, plain = _names(), _bare(name)
    family = re.fullmatch(r"(h100|a100|v100)(80gb|40gb|16gb)?", plain)
    if family is None:
        known = names["accelerators"].get(plain)
        if known is None:
            raise _LeftOut("an accelerator that the catalog does not have")
        return str(known)
    gb = int(family[2].removesuffix("gb")) if family[2] else (None if memory_gb is None else int(memory_gb))
    seller = provider.partition("-")[0]
    for rule in names["instances"]:
        if rule["gpu"] != family[1] or rule["provider"] not in ("*", provider, seller):
            continue
        if "memory_gb" in rule and gb != rule["memory_gb"]:
            continue
        if re.search(rule["pattern"], instance, re.IGNORECASE):
            return str(rule["id"])
    raise _LeftOut("which form of the accelerator is not said")


def _provider(name: str) -> str:
    return str(_names()["providers"].get(_bare(name), name.casefold()))


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


@cache
def _names() -> dict[str, Any]:
    folder = files("planner.planning.price_feeds")
    names = tomllib.loads((folder / "names.toml").read_text(encoding="utf-8"))
    known = load_catalog().accelerators
    stated = [*names["accelerators"].values(), *(rule["id"] for rule in names["instances"])]
    assert all(each in known for each in stated), "names.toml names an accelerator that the catalog lacks"
    return names
