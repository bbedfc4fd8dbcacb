"""Writes clients/python/staircase_client/kinds.py: what the API answers, as types, from its OpenAPI document.

    python scripts/client_kinds.py

A test holds the file to what this prints.
"""

import json
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "planner" / "api" / "openapi.json"
OUT = ROOT / "clients" / "python" / "staircase_client" / "kinds.py"
AS_CLASSES = {"Report", "Estimate", "EstimateCells", "RunDetail", "RunSummary", "RunPage"}
"""What the client wraps in classes of its own, or hands on as it is."""
WRAPPED = {"verdict", "recommended", "candidates"}
"""Sections that `Report` has properties of its own for."""
HEAD = '''"""What the API answers, as types. Made by scripts/client_kinds.py from the OpenAPI document; not edited."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


'''
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}
_REF = re.compile(r'"#/components/schemas/(\w+)"')


def text_of(document: dict[str, Any]) -> str:
    """The module."""
    schemas = document["components"]["schemas"]
    parts = [_kind(name, schemas[name]) for name in sorted(_answered(document))]
    return HEAD + "\n\n".join([*parts, _sections(schemas["Report"])])


def _sections(report: dict[str, Any]) -> str:
    """A property for each section of a report that the client does not wrap itself."""
    about = "The sections of a report, as the documentation names them; None where an older server has none."
    text = f'class ReportSections:\n    """{about}"""\n\n    raw: dict[str, Any]\n'
    for name, part in report["properties"].items():
        if name not in WRAPPED:
            text += f'\n    @property\n    def {name}(self) -> Any:\n        """{part["description"]}"""\n'
            text += f'        return self.raw.get("{name}")\n'
    return text


def _answered(document: dict[str, Any]) -> set[str]:
    """The names of all that answers hold."""
    schemas = document["components"]["schemas"]
    waiting = set(_REF.findall(json.dumps(list(_answers(document)))))
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_REF.findall(json.dumps(schemas[name]))) - found
    pages = {name for name in found if name.endswith("Page")}
    return {name for name in found - pages - AS_CLASSES if schemas[name].get("properties")}


def _answers(document: dict[str, Any]) -> Iterator[Any]:
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    yield from (content["schema"] for content in answer.get("content", {}).values())


def _kind(name: str, schema: dict[str, Any]) -> str:
    fields = {field: _type(part) for field, part in schema["properties"].items()}
    text = (schema.get("description") or name).strip()
    if any(keyword.iskeyword(field) for field in fields):
        lines = "".join(f'        "{field}": {kind},\n' for field, kind in fields.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n)\n"""{text}"""\n'
    lines = "".join(f"    {field}: {kind}\n" for field, kind in fields.items())
    return f'class {name}(TypedDict):\n    """{text}"""\n\n{lines}'


def _type(part: dict[str, Any]) -> str:
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return "dict[str, Any]" if name in AS_CLASSES else name
    if "anyOf" in part or "oneOf" in part:
        kinds = dict.fromkeys(_type(option) for option in part.get("anyOf") or part["oneOf"])
        return " | ".join([kind for kind in kinds if kind != "None"] + ["None"] * ("None" in kinds))
    if "allOf" in part:
        return _type(part["allOf"][0])
    if "enum" in part:
        return f"Literal[{', '.join(json.dumps(value) for value in part['enum'])}]"
    if "const" in part:
        return f"Literal[{json.dumps(part['const'])}]"
    kind = part.get("type")
    if isinstance(kind, list):
        return " | ".join("None" if one == "null" else _PLAIN[one] for one in kind)
    if kind == "null":
        return "None"
    if kind == "array":
        return f"list[{_type(part.get('items', {}))}]"
    return _PLAIN.get(str(kind), "Any")


if __name__ == "__main__":
    sys.exit(0 if OUT.write_text(text_of(json.loads(DOCUMENT.read_text())), encoding="utf-8") else 1)
