"""Small price lists in the formats that are published."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

SKYPILOT_HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price,AvailabilityZone,GpuInfo"
)
GPUHUNT_HEADER = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags,cpu_arch,"
    "provider_data"
)


def skypilot(*rows: str) -> bytes:
    """A `vms.csv` of rows written as its README says."""
    return "\n".join((SKYPILOT_HEADER, *rows, "")).encode()


def gpuhunt(tables: Mapping[str, Sequence[str]]) -> bytes:
    """A `catalog.zip` of rows by provider."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for provider, rows in tables.items():
            archive.writestr(f"{provider}.csv", "\n".join((GPUHUNT_HEADER, *rows, "")))
    return data.getvalue()


def api_list(*models: tuple[str, str, Any]) -> bytes:
    """A `data.json` of genai-prices: (provider, model, prices)."""
    by_provider: dict[str, list[dict[str, Any]]] = {}
    for provider, model, prices in models:
        entry = {"id": model, "match": {"equals": model}, "prices": prices}
        by_provider.setdefault(provider, []).append(entry)
    providers = [
        {"id": name, "name": name.title(), "api_pattern": f"https://{name}", "models": entries}
        for name, entries in by_provider.items()
    ]
    return json.dumps(providers).encode()
