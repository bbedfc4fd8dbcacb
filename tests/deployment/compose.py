"""Reads docker-compose.yml and Dockerfile, and starts what they start on this machine, without Docker."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.processes import ROOT

APP_SERVICES = ("prepare", "web", "worker", "reaper")


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """`${NAME:-default}` and `$$` as Compose reads them."""
    text = re.sub(r"(?<!\$)\$\{(\w+):-([^}]*)\}", lambda m: variables.get(m[1]) or m[2], text)
    return text.replace("$$", "$")


def compose(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file with its defaults filled in."""
    text = (ROOT / "docker-compose.yml").read_text()
    document: dict[str, Any] = yaml.safe_load(interpolate(text, variables or {}))
    return document


def image_environment() -> dict[str, str]:
    """The ENV lines of the stage that runs."""
    last_stage = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    block = re.search(r"^ENV ((?:.*\\\n)*.*)$", last_stage, re.MULTILINE)
    assert block is not None
    return dict(re.findall(r"(\w+)=(\S+)", block[1]))


@dataclass(frozen=True)
class Machine:
    """What stands for the containers' world: other folders, and other addresses of the services."""

    folders: dict[str, str]
    addresses: dict[str, str]

    def here(self, text: str) -> str:
        for there, path in (self.addresses | self.folders).items():
            text = text.replace(there, path)
        return text

    def variables(self, service: Mapping[str, Any]) -> dict[str, str]:
        """The service's environment as its container would have it, on top of PATH."""
        given = image_environment() | {name: str(value) for name, value in service["environment"].items()}
        mine = {name: self.here(value) for name, value in given.items()}
        bin_folder = str(Path(sys.executable).parent)
        path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
        return mine | {"PATH": path, "HOSTNAME": os.uname().nodename}

    def arguments(self, command: list[str]) -> list[str]:
        """The command as arguments of Python."""
        first, *rest = (self.here(word) for word in command)
        return rest if first == "python" else ["-m", first, *rest]
