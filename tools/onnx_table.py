"""Write the table of operators in ONNX: ``python -m tools.onnx_table``.

The rows of ``docs/onnx.md`` are MXNet's operators. The calls of each that were recorded with MXNet's numbers
(``tests/parity``) are exported and run in onnxruntime. With ``--check`` nothing is written, and the exit code is 1
where the page differs; an error may be smaller than on the page, since processors round differently.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir
from tests.onnx.running import in_onnxruntime
from tests.onnx.test_recorded_operators import BY_OPERATOR, export
from tests.parity.coverage import LEFT_OUT, inventory
from tests.parity.test_operators import MANIFESTS, PACKS

import rebind as mx
from rebind.onnx import to_onnx
from rebind.onnx.export.translations import REASONS, TRANSLATIONS
from rebind.ops import find

PAGE = Path(__file__).parent.parent / "docs" / "onnx.md"
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"
_HEADER = "| MXNet | ONNX, or why not | largest error |\n| --- | --- | --- |\n"
#: An error is shown as the next of these.
_CLASSES = ("0", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2")
_NOT_MEASURED = "–"

S, C, N = mx.sym, mx.sym.contrib, mx.sym._internal
_IMAGE = (2, 4, 5, 6)
_LENGTHS = {"use_sequence_length": True}


def _while_loop(x: Any) -> Any:
    return C.while_loop(lambda x: S.sum(x) < 9, lambda x: ([], [x + 1]), [x], max_iterations=3)[1][0]


def _quantized_rnn(data: Any, *states: Any) -> Any:
    levels, parameters = C.quantize_asym(data), S.ones(shape=(120,))
    given = {"mode": "lstm", "state_size": 3, "num_layers": 1}
    return C.quantized_rnn(levels[0], parameters, *states, levels[1], levels[2], **given)


def _quantized_conv(*ends: Any) -> Any:
    data, weight = (
        S.var(name, dtype="int8", shape=shape) for name, shape in (("data", _IMAGE), ("weight", (2, 4, 3, 3)))
    )
    ranges = dict(zip(("min_data", "max_data", "min_weight", "max_weight"), ends, strict=True))
    return C.quantized_conv(data=data, weight=weight, **ranges, kernel=(3, 3), num_filter=2, no_bias=True)


#: Distributions, and how many parameters each has.
_BY_LOOPS = {"gamma": 2, "poisson": 1, "negative_binomial": 2, "generalized_negative_binomial": 2}

#: Calls of operators for which none is recorded, with the shapes of their inputs.
_EXAMPLES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "BatchNorm_v1": (S.BatchNorm_v1, (_IMAGE, (4,), (4,), (4,), (4,))),
    "Convolution_v1": (lambda *x: S.Convolution_v1(*x, kernel=(3, 3), num_filter=2), (_IMAGE, (2, 4, 3, 3), (2,))),
    "GroupNorm": (lambda *x: S.GroupNorm(*x, num_groups=2), (_IMAGE, (2,), (2,))),
    "InstanceNorm": (S.InstanceNorm, (_IMAGE, (4,), (4,))),
    "LRN": (lambda x: S.LRN(x, nsize=3), (_IMAGE,)),
    "Pooling_v1": (lambda x: S.Pooling_v1(x, kernel=(2, 2)), (_IMAGE,)),
    "RNN": (
        lambda *x: S.RNN(*x, mode="lstm", state_size=3, num_layers=1), ((2, 4, 5), (120,), (1, 4, 3), (1, 4, 3)),
    ),
    "SVMOutput": (S.SVMOutput, ((2, 3), (2,))),
    "SequenceLast": (lambda *x: S.SequenceLast(*x, **_LENGTHS), ((5, 2, 3), (2,))),
    "SequenceMask": (lambda *x: S.SequenceMask(*x, **_LENGTHS), ((5, 2, 3), (2,))),
    "SequenceReverse": (lambda *x: S.SequenceReverse(*x, **_LENGTHS), ((5, 2, 3), (2,))),
    "SoftmaxActivation": (S.SoftmaxActivation, ((2, 3),)),
    "_cond": (lambda x: C.cond(S.sum(x) > 0, lambda: x, lambda: -x), ((2,),)),
    "_contrib_BatchNormWithReLU": (C.BatchNormWithReLU, (_IMAGE, (4,), (4,), (4,), (4,))),
    "_contrib_ModulatedDeformableConvolution": (
        lambda *x: C.ModulatedDeformableConvolution(*x, kernel=(3, 3), num_filter=2),
        (_IMAGE, (2, 18, 3, 4), (2, 9, 3, 4), (2, 4, 3, 3), (2,)),
    ),
    "_contrib_allclose": (C.allclose, ((2, 3), (2, 3))),
    "_contrib_boolean_mask": (C.boolean_mask, ((2, 3), (2,))),
    "_contrib_count_sketch": (lambda *x: C.count_sketch(*x, out_dim=4), ((2, 3), (1, 3), (1, 3))),
    "_contrib_fft": (C.fft, ((2, 4),)),
    "_contrib_ifft": (C.ifft, ((2, 8),)),
    "_contrib_quantized_conv": (_quantized_conv, ((1,),) * 4),
    "_contrib_quantized_rnn": (_quantized_rnn, ((2, 4, 5), (1, 4, 3), (1, 4, 3))),
    "_copyto": (N._copyto, ((2,),)),
    "_foreach": (lambda x, h: C.foreach(lambda x, s: (x + s, s * x), x, h)[0], ((5, 2), (2,))),
    "_image_random_color_jitter": (
        lambda x: S.image.random_color_jitter(x, 0.1, 0.1, 0.1, 0.1), ((4, 5, 3),),
    ),
    "_image_random_flip_left_right": (S.image.random_flip_left_right, ((4, 5, 3),)),
    "_image_random_flip_top_bottom": (S.image.random_flip_top_bottom, ((4, 5, 3),)),
    "_onehot_encode": (N._onehot_encode, ((2,), (2, 3))),
    "_random_exponential": (lambda: S.random.exponential(shape=(2,)), ()),
    "_random_exponential_like": (S.random.exponential_like, ((2,),)),
    "_random_normal": (lambda: S.random.normal(shape=(2,)), ()),
    "_random_normal_like": (S.random.normal_like, ((2,),)),
    "_random_randint": (lambda: S.random.randint(0, 9, shape=(2,)), ()),
    "_random_uniform": (lambda: S.random.uniform(shape=(2,)), ()),
    "_random_uniform_like": (S.random.uniform_like, ((2,),)),
    "_sample_exponential": (N._sample_exponential, ((2,),)),
    "_sample_multinomial": (N._sample_multinomial, ((2, 3),)),
    "_sample_normal": (N._sample_normal, ((2,), (2,))),
    "_sample_uniform": (N._sample_uniform, ((2,), (2,))),
    "_scatter_set_nd": (lambda *x: N._scatter_set_nd(*x, shape=(3,)), ((3,), (2,), (1, 2))),
    "_shuffle": (N._shuffle, ((5,),)),
    "_square_sum": (N._square_sum, ((2, 3),)),
    "_while_loop": (_while_loop, ((2,),)),
    "_zeros_without_dtype": (lambda: N._zeros_without_dtype(shape=(2,)), ()),
    **{f"_random_{kind}": (partial(getattr(N, f"_random_{kind}"), shape=(2,)), ()) for kind in _BY_LOOPS},
    **{f"_random_{kind}_like": (getattr(N, f"_random_{kind}_like"), ((2,),)) for kind in _BY_LOOPS},
    **{f"_sample_{kind}": (getattr(N, f"_sample_{kind}"), ((2,),) * n) for kind, n in _BY_LOOPS.items()},
    "fill_element_0index": (N.fill_element_0index, ((2, 3), (2,), (2,))),
}  # fmt: skip


class Row(NamedTuple):
    """One operator: its names, what it becomes or why it does not, and its largest error over the recorded calls."""

    names: str
    target: str
    error: str

    def allows(self, other: Row) -> bool:
        """Return whether another row says the same, with an error that is not larger."""
        if _NOT_MEASURED in (self.error, other.error):
            return self == other
        largest = max(
            _CLASSES.index(self.error), _CLASSES.index("1e-6")
        )  # below is what processors round otherwise
        return self[:2] == other[:2] and _CLASSES.index(other.error) <= largest


def names_by_operator() -> dict[str, list[str]]:
    """Return MXNet's names by the first name of their operator; those that are left out by their own.

    >>> names_by_operator()["_copy"], names_by_operator()["_imdecode"]
    (['_copy', 'identity'], ['_imdecode'])
    """
    names: dict[str, list[str]] = {}
    for name in inventory():
        names.setdefault(name if name in LEFT_OUT else find(name).name, []).append(name)
    return {
        first: sorted(several, key=lambda name: (name != first, name)) for first, several in names.items()
    }


def reason(operator: str) -> str | None:
    """Return why an operator does not go out; None where it does."""
    return None if operator in TRANSLATIONS else LEFT_OUT.get(operator) or REASONS[operator]


def target(operator: str) -> str:
    """Return ONNX's operators of the first recorded call, those in the bodies of loops and branches included."""
    if operator in BY_OPERATOR:
        proto, _ = export(*BY_OPERATOR[operator][0])
        model = ir.from_proto(proto)
    elif operator in _EXAMPLES:
        call, shapes = _EXAMPLES[operator]
        inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
        model = to_onnx(call(*map(S.var, inputs)), {}, inputs)
    else:
        raise LookupError(f"{operator} has no recorded call: give it one in tools/onnx_table.py")
    return ", ".join(dict.fromkeys(node.op_type for node in model.graph.all_nodes())) or "an initializer"


def largest_error(operator: str) -> str:
    """Return the class of the largest error over the recorded calls, those in half precision apart."""
    errors = [_error(*row) for row in BY_OPERATOR.get(operator, ())]
    measured = [error for error in errors if error is not None]
    if not measured:
        return _NOT_MEASURED
    return next(text for text in _CLASSES if max(measured) <= float(text))


def _error(group: str, name: str) -> float | None:
    """Return the largest error of a call, relative to the largest number of each output; None for half precision."""
    entry, pack = MANIFESTS[group][name], PACKS[group]
    given = [pack.get(reference) for key in ("arguments", "states") for reference in entry[key].values()]
    expected = [pack.get(reference) for reference in entry["inference"]]
    if any(array.dtype == np.float16 for array in (*given, *expected)):
        return None
    found = in_onnxruntime(*export(group, name))
    return max(relative_error(np.asarray(one), other) for one, other in zip(found, expected, strict=True))


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference over the largest number; what is not finite is left to the tests.

    >>> relative_error(np.array([1.0, np.nan]), np.array([1.5, np.nan]))
    0.3333333333333333
    """
    finite = np.isfinite(expected)
    found, expected = (array.astype(np.float64)[finite] for array in (found, expected))
    if not np.any(found != expected):
        return 0.0
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), np.finfo(np.float32).eps))


def rows(*, errors: bool = True) -> list[Row]:
    """Return the rows, by the operators' names; without errors those are not measured."""
    found = []
    for operator, names in sorted(
        names_by_operator().items(), key=lambda item: item[1][0].lstrip("_").lower()
    ):
        why = reason(operator)
        error = largest_error(operator) if errors and why is None else _NOT_MEASURED
        found.append(Row(", ".join(f"`{name}`" for name in names), why or target(operator), error))
    return found


def read_rows() -> list[Row]:
    """Return the rows of the page."""
    lines = _split_page()[1].removeprefix(_HEADER).splitlines()
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines]


def write_page(table: Sequence[Row]) -> None:
    """Write the page with another table."""
    before, _, after = _split_page()
    text = "".join(f"| {' | '.join(row)} |\n" for row in table)
    PAGE.write_text(f"{before}{BEGIN}{_HEADER}{text}{END}{after}", encoding="utf-8")


def _split_page() -> tuple[str, str, str]:
    """Return the text before the table, the table, and the text after it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the page is another")
    table = rows()
    if not parser.parse_args().check:
        write_page(table)
        return 0
    there = read_rows()
    wrong = [str(row) for row, found in zip(there, table) if not row.allows(found)]
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong) or len(there) != len(table))


if __name__ == "__main__":
    sys.exit(main())
