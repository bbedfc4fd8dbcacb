"""Versions that decide a result."""

from __future__ import annotations

from costmodel import catalog_version

ENGINE_VERSION = "0.1.0"
"""Raised whenever the same scenario, seed and catalog may give another report."""


def result_version() -> str:
    """Engine and catalog version: two equal scenarios with equal result versions have equal reports."""
    return f"{ENGINE_VERSION}+{catalog_version()}"


def approved_digest(version: str) -> str | None:
    """Which approved prices a result's version names; empty for the shipped ones alone, None where it names none."""
    _, plus, catalog = version.partition("+")
    return catalog.partition(".")[2] if plus else None


def warm_up() -> None:
    """Compile the simulator's kernels, or load them from their cache, so that the first plan does not wait."""
    from simulator import warm_up as compile_kernels  # loads numba, which only workers and commands should

    compile_kernels()
