"""Record what MXNet calls of a custom operator when it is composed, inferred, bound and run, with which arguments."""

from __future__ import annotations

from .custom_life import LIVES
from .golden import DATA, write_manifest
from .oracle import mx, origin


def generate_custom_life() -> None:
    """Record all stages."""
    manifest = {"origin": origin(), "lives": {name: life(mx) for name, life in LIVES.items()}}
    write_manifest(DATA / "custom_life.json", manifest)


if __name__ == "__main__":
    generate_custom_life()
