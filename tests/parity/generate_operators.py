"""Record the operator cases: outputs in both modes, gradients for a random head gradient, states.

ORACLE_PYTHON -m tests.parity.generate_operators [GROUP ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from .cases import CASES, GROUPS
from .cases.case import Case
from .golden import OPERATORS, Arrays, Pack, write_manifest
from .oracle import mx, origin, settle, to_mxnet, to_numpy

#: Gradient arrays hold this before ``backward``: what still holds it afterwards was not written.
UNTOUCHED = 1234.5


#: Set for a process whose MXNet shall use oneDNN.
ONEDNN = "REBIND_ORACLE_ONEDNN"


class Unrecorded(Exception):
    """MXNet does not do what a case of the table says that it does."""


def draw_arguments(case: Case, symbol: Any, random: np.random.RandomState) -> tuple[Arrays, Arrays]:
    """Draw the given inputs, then parameters and states with the shapes and types that MXNet infers."""
    given = {name: spec.draw(random) for name, spec in case.inputs.items()}
    shapes, _, auxiliary_shapes = symbol.infer_shape(**{name: value.shape for name, value in given.items()})
    types, _, auxiliary_types = symbol.infer_type(**{name: value.dtype for name, value in given.items()})
    arguments = {}
    for name, shape, dtype in zip(symbol.list_arguments(), shapes, types):
        if name in given:
            arguments[name] = given[name]
        else:
            low, high = (0.5, 1.5) if name.endswith("gamma") else (-1.0, 1.0)
            arguments[name] = random.uniform(low, high, shape).astype(dtype)
    states = {
        name: random.uniform(0.5, 1.5, shape).astype(dtype)
        for name, shape, dtype in zip(symbol.list_auxiliary_states(), auxiliary_shapes, auxiliary_types)
    }
    return arguments, states


def run(executor: Any, training: bool) -> list[np.ndarray]:
    """Run forward and copy the outputs."""
    executor.forward(is_train=training)
    return [output.asnumpy() for output in executor.outputs]


def record(name: str, case: Case, pack: Pack, modes: tuple[bool, bool] = (False, True)) -> dict[str, Any]:
    """Run one case and return its manifest entry; arrays go into ``pack``. A mode is whether it trains."""
    random = np.random.RandomState(zlib.crc32(case.description.encode()))
    symbol = case.symbol(mx)
    arguments, states = draw_arguments(case, symbol, random)
    asked = [key for key in arguments if key not in case.inputs or case.inputs[key].gradient]
    gradients = {
        key: mx.nd.full(arguments[key].shape, UNTOUCHED, dtype=arguments[key].dtype) for key in asked
    }
    requests = {key: "write" if key in gradients else "null" for key in arguments}
    executor = symbol.bind(mx.cpu(), to_mxnet(arguments), gradients, requests, to_mxnet(states))
    inference, training = (run(executor, mode) for mode in modes)
    entry: dict[str, Any] = {
        "description": case.description,
        "arguments": pack.add_all(arguments),
        "states": pack.add_all(states),
        "outputs": symbol.list_outputs(),
        "inference": [pack.add(value) for value in inference],
    }
    if any(not np.array_equal(one, other, equal_nan=True) for one, other in zip(inference, training)):
        entry["training"] = [pack.add(value) for value in training]
    if gradients:
        heads = [] if case.loss else [random.standard_normal(v.shape).astype(v.dtype) for v in training]
        executor.backward([mx.nd.array(head, dtype=head.dtype) for head in heads] or None)
        settle()
        results = to_numpy(gradients)
        for key, value in results.items():
            if value.size and np.all(value == np.array(UNTOUCHED, value.dtype)):
                raise Unrecorded(f"{name}: MXNet gives no gradient for {key}")
        entry["heads"] = [pack.add(head) for head in heads]
        entry["gradients"] = pack.add_all(results)
        entry["states_after"] = pack.add_all(to_numpy(executor.aux_dict))
    return entry


def generate_operators(groups: Iterable[str] = CASES) -> None:
    """Record every case of the groups."""
    for group in groups:
        if getattr(GROUPS[group], "ONEDNN", False) and not os.environ.get(ONEDNN):
            command = [sys.executable, "-m", "tests.parity.generate_operators", group]
            subprocess.run(command, check=True, env={**os.environ, ONEDNN: "1"})
            continue
        modes = (False, False) if getattr(GROUPS[group], "INFERENCE_ONLY", False) else (False, True)
        pack = Pack()
        entries, failures = {}, []
        for name, case in CASES[group].items():
            try:
                entries[name] = record(name, case, pack, modes)
            except (mx.MXNetError, Unrecorded, AttributeError, TypeError, ValueError) as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
        if failures:
            raise Unrecorded("\n".join(failures))
        pack.write(OPERATORS / f"{group}.npz")
        write_manifest(OPERATORS / f"{group}.json", {"origin": origin(), "cases": entries})


if __name__ == "__main__":
    generate_operators(sys.argv[1:] or CASES)
