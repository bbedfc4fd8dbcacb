"""What a saved scenario says that the form has no field for: an edit carries it over."""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
NOTHING: Document = {}


def put_kept(document: dict[str, Any], base: Document) -> None:
    """Puts into a form's document what the version before it states and no field holds: calibrations, kinds of
    requests, and own prices of the same hosted models."""
    if base.get("calibrations") is not None:
        document["calibrations"] = base["calibrations"]
    classes = (base.get("traffic") or {}).get("classes")
    if classes:
        traffic = document.setdefault("traffic", {})
        for name in ("prompt_tokens", "output_tokens", "prefix"):  # the classes have their own
            traffic.pop(name, None)
        traffic["classes"] = classes
        document.setdefault("slo", {})
    _put_prices(document, base)


def _put_prices(document: dict[str, Any], base: Document) -> None:
    """The own price of each hosted model; of one that is named twice, in the order of the rows."""
    before = list((base.get("api") or {}).get("alternatives") or ())
    rows = (document.get("api") or {}).get("alternatives") or ()
    for row in rows:
        same = next((each for each in before if _named(each) == _named(row)), None)
        if same is not None:
            before.remove(same)
            row.update({"price": same["price"]} if same.get("price") else {})


def _named(alternative: Document) -> tuple[Any, Any]:
    return alternative.get("provider"), alternative.get("model")
