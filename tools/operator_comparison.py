"""How far each operator is from what MXNet 1.9.1 computed: the recorded calls of ``tests``, run again."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, field

import numpy as np
from tests.ops.nn import recorded as layers
from tests.parity import test_updates as updates
from tests.parity.cases import CASES
from tests.parity.test_operators import MANIFESTS, PACKS, WRONG_GRADIENTS, bind, to_rebind
from tests.parity.updates import Update
from tools.onnx_table import relative_error

import rebind as mx
from rebind.ops import find

__all__ = ["Comparison", "comparisons", "recorded_calls", "update_operator"]

#: Half precision has too few digits to say anything of the formula.
_PRECISE = ("float32", "float64")


@dataclass
class Comparison:
    """The recorded calls of an operator, and the largest differences in float32 and float64.

    They are relative to the largest number of an array, as everywhere in the tests; None where nothing is recorded.
    """

    calls: int = 0
    types: set[str] = field(default_factory=set)
    outputs: float | None = None
    gradients: float | None = None

    def add(self, what: str, found: np.ndarray, expected: np.ndarray) -> None:
        """Count an array: one of the `outputs` or `gradients`."""
        self.types.add(str(expected.dtype))
        if expected.dtype.name in _PRECISE:
            setattr(self, what, max(getattr(self, what) or 0.0, relative_error(found, expected)))
        elif expected.dtype != np.float16:
            difference = float(np.any(found != expected))
            setattr(self, what, max(getattr(self, what) or 0.0, difference))


@functools.cache
def recorded_calls() -> dict[str, list[tuple[str, str]]]:
    """Return group and name of the recorded calls of each operator, by its first name.

    >>> recorded_calls()["Flatten"][0]
    ('tensors', 'Flatten()')
    """
    calls: dict[str, list[tuple[str, str]]] = {}
    for group, cases in CASES.items():
        for name, case in cases.items():
            operator = case.symbol(mx).graph.nodes[-1].operator.name
            calls.setdefault(operator, []).append((group, name))
    return calls


def comparisons() -> dict[str, Comparison]:
    """Run all recorded calls, and return how each operator compares."""
    found: dict[str, Comparison] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some calls are outside of what is defined
        for operator, calls in recorded_calls().items():
            found[operator] = Comparison(len(calls))
            for group, name in calls:
                _compare_call(found[operator], group, name)
        for name, given, arrays in layers.CASES:
            comparison = found.setdefault(find(name).name, Comparison())
            comparison.calls += 1
            _compare_layer(comparison, arrays, layers.compute(name, given, arrays))
        for case in updates.CASES.values():
            comparison = found.setdefault(update_operator(case), Comparison())
            comparison.calls += 1
            _compare_update(comparison, case)
    return found


def _compare_call(comparison: Comparison, group: str, name: str) -> None:
    entry, pack = MANIFESTS[group][name], PACKS[group]
    executor = bind(CASES[group][name], entry, pack)
    for mode in ("inference", "training"):
        outputs = executor.forward(is_train=mode == "training")
        for output, reference in zip(outputs, entry.get(mode, entry["inference"]), strict=True):
            comparison.add("outputs", output.asnumpy(), pack.get(reference))
    if "gradients" in entry and name not in WRONG_GRADIENTS:
        executor.backward([to_rebind(pack.get(reference)) for reference in entry["heads"]] or None)
        for key, reference in entry["gradients"].items():
            comparison.add("gradients", executor.grad_dict[key].asnumpy(), pack.get(reference))


def _compare_layer(comparison: Comparison, recorded: layers.Arrays, found: layers.Arrays) -> None:
    for kind, what in (("infer", "outputs"), ("train", "outputs"), ("grad", "gradients")):
        for key, array in found[kind].items():
            comparison.add(what, array.detach().numpy(), recorded[kind][key])


def update_operator(case: Update) -> str:
    """Return the first name of a case's operator."""
    return find(f"_{case.operator.replace('.', '_')}" if "." in case.operator else case.operator).name


def _compare_update(comparison: Comparison, case: Update) -> None:
    """Run the steps of an update operator, over the weights where it writes over them."""
    entry, pack = updates.MANIFEST[case.name], updates.PACK
    arrays = {name: to_rebind(value) for name, value in pack.get_all(entry["before"]).items()}
    for step, (gradients, references) in enumerate(zip(entry["gradients"], entry["outputs"], strict=True)):
        for i, gradient in enumerate(gradients):
            arrays[f"grad_{i}"][:] = pack.get(gradient)
        outputs = updates.over_weights(case, arrays, case.settings(step))
        for output, reference in zip(outputs, references, strict=True):
            comparison.add("outputs", output.asnumpy(), pack.get(reference))
