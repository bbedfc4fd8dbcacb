"""YAML of benchmark reports: mappings, lists and texts, and nothing else of the language.

The usual safe loader is not safe from files that someone sends: it needs minutes for numbers to the base 60 and for
deep lists, and ends in errors of all kinds at tags whose value is none. Numbers are read from their text where needed.
"""

from __future__ import annotations

import math
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Every scalar is a text, whatever its tag says; the one in C refuses more than a thousand levels."""
_WORDS = {"": None, "~": None, "null": None, ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}


class _Loader(_LOADER):  # type: ignore[misc]
    def construct_scalar(self, node: Any) -> Any:
        text = super().construct_scalar(node)
        return _WORDS.get(text.lower(), text)


def read_yaml(text: str) -> Any:
    """The first document; None where it cannot be read."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes no objects
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
