"""Record which auxiliary states a step updates, and what they are then."""

from __future__ import annotations

import contextlib
from typing import Any

from .auxiliary_states import CALLED, MODULES, NETWORKS, called, cases, has, module_states, run
from .golden import DATA, write_manifest
from .oracle import mx, origin, settle


def generate_auxiliary_states() -> None:
    """Record every case; those that a network does not have are left out."""
    symbols = {name: make(mx) for name, make in NETWORKS.items()}
    executors: dict[str, Any] = {}
    for name, network, wanted, request, calls in cases():
        if not has(symbols[network], wanted):
            continue
        with contextlib.suppress(mx.MXNetError):  # of layers that do not take a gradient of zeros
            executors[name] = run(mx, symbols[network], wanted, request, calls, settle)
    modules = {
        f"{count} {'+'.join(trained)}": module_states(mx, count, trained, settle)
        for count, trained in MODULES
    }
    calls_of = {repr(case): called(mx, *case, settle) for case in CALLED}
    manifest = {"origin": origin(), "executors": executors, "modules": modules, "called": calls_of}
    write_manifest(DATA / "auxiliary_states.json", manifest)
