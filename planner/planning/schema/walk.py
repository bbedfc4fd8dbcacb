"""Finds a field in the scenario's JSON schema by its dotted path, references and alternatives followed."""

from __future__ import annotations

from functools import cache
from typing import Any

from planner.planning.schema.scenario import Scenario

Node = dict[str, Any]


def schema_nodes(path: tuple[str, ...]) -> list[Node]:
    """The schema's nodes at a path such as ("api", "alternatives", "0", "model"); empty where it has no such field."""
    nodes = [_root()]
    for step in path:
        nodes = [below for node in nodes for option in node_options(node) for below in _below(option, step)]
    return nodes


def node_options(node: Node) -> list[Node]:
    """The alternatives of a node, references followed."""
    if "$ref" in node:
        return node_options(_root()["$defs"][node["$ref"].rsplit("/", 1)[1]])
    choices = [below for key in ("anyOf", "oneOf", "allOf") for below in node.get(key, ())]
    return [option for below in choices for option in node_options(below)] or [node]


@cache
def _root() -> Node:
    return Scenario.model_json_schema()


def _below(option: Node, step: str) -> list[Node]:
    if step.isdigit() and "items" in option:
        return [option["items"]]
    if step in option.get("properties", {}):
        return [option["properties"][step]]
    extra = option.get("additionalProperties")
    return [extra] if isinstance(extra, dict) else []
