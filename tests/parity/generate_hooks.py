"""Record what MXNet calls of a program's own schedules, initializers, metrics and callbacks, with which arguments."""

from __future__ import annotations

from .golden import DATA, write_manifest
from .hooks import called_back, filled, fillings, initialized, measured, scheduled
from .oracle import mx, origin


def generate_hooks() -> None:
    """Record all of them."""
    manifest = {
        "origin": origin(),
        "initialized": initialized(mx),
        "filled": {f"{name}, {form}": filled(mx, name, form) for name, form in fillings()},
        "scheduled": {name: scheduled(mx, name) for name in ("sgd", "adam")},
        "measured": {str(devices): measured(mx, devices) for devices in (1, 2)},
        "called_back": called_back(mx),
    }
    write_manifest(DATA / "hooks.json", manifest)


if __name__ == "__main__":
    generate_hooks()
