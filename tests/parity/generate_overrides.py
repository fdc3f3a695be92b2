"""Record what MXNet calls of a program's own optimizers and updaters, with which arguments, and the weights."""

from __future__ import annotations

from typing import Any

from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin
from .overrides import HOOKS, MIXED, PROGRAMS, RATES, SETTINGS, Program, cases, changed, make, mixed, recorded


def generate_overrides() -> None:
    """Record every optimizer with every setting, and every program."""
    pack = Pack()
    optimizers: dict[str, Any] = {}
    traces: dict[tuple[str, ...], int] = {}  # many optimizers have the same calls
    kinds = mx.optimizer.Optimizer.opt_registry
    for name, key in cases():
        setting, calls = SETTINGS[key], []
        program = Program(mx, setting, biases=name != "groupadagrad")
        hooks = [hook for hook in HOOKS if hasattr(kinds[name], hook)]
        optimizer = make(recorded(kinds[name], hooks, calls), name, setting)
        program.start(optimizer)
        weights = program.train()
        changes = {}
        for rate in RATES:
            program.start(make(changed(kinds[name], rate), name, setting))
            changes[rate] = pack.add(program.train())
        optimizers.setdefault(name, {})[key] = {
            "calls": traces.setdefault(tuple(calls), len(traces)),
            "weights": pack.add(weights),
            "changed": changes,
            "idx2name": sorted([index, value] for index, value in optimizer.idx2name.items()),
        }
    mixed_precision: dict[str, Any] = {}
    for name in MIXED:
        calls = []
        hooks = [hook for hook in HOOKS if hasattr(kinds[name], hook)]
        weights = mixed(mx, recorded(kinds[name], hooks, calls))
        mixed_precision[name] = {
            "calls": traces.setdefault(tuple(calls), len(traces)),
            "weights": pack.add(weights),
        }
    programs: dict[str, Any] = {}
    for key in (
        "one device",
        "two devices",
        "a store",
        "two devices, a store",
        "two devices, a store that sums",
    ):
        for name, start in PROGRAMS.items():
            program, calls = Program(mx, SETTINGS[key]), []
            start(program, calls)
            weights = program.train()
            programs.setdefault(name, {})[key] = {
                "calls": traces.setdefault(tuple(calls), len(traces)),
                "weights": pack.add(weights),
            }
    pack.write(DATA / "overrides.npz")
    manifest = {
        "origin": origin(),
        "traces": [*map(list, traces)],
        "optimizers": optimizers,
        "mixed": mixed_precision,
        "programs": programs,
    }
    write_manifest(DATA / "overrides.json", manifest)


if __name__ == "__main__":
    generate_overrides()
