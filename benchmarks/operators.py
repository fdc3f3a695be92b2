"""The command `python -m benchmarks.operators`: single calls of `mx.nd.X(...)` beside the same work in PyTorch.

On small arrays a call costs what stands around the computation: arguments, parameters, checks. The difference to
PyTorch's own call, in microseconds, is that cost. On large arrays both should take the same time.
"""

from __future__ import annotations

import argparse
import gc
import json
import operator
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import Tensor

import rebind as mx

from .calls_table import medians
from .command import Names, set_threads, wide
from .report import commit, describe_machine
from .runner import SETTLE_SECONDS, Effort

Shapes = tuple[tuple[int, ...], ...]
SIZES = ("small", "large")


@dataclass(frozen=True)
class Row:
    """One call: the operator with its parameters, PyTorch's peer of it, and the shapes of the two sizes."""

    family: str
    operator: str
    peer: Callable[..., Any]
    small: Shapes
    large: Shapes
    parameters: dict[str, Any] = field(default_factory=dict)
    integers: tuple[int, ...] = ()  # which inputs hold whole numbers below 2
    positive: bool = False
    random: bool = False  # results are compared in shape and type only
    sized: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # parameters that are sizes: of which input, axis
    call: Callable[..., Any] | None = None  # of arrays; `operator` is its text then

    @property
    def name(self) -> str:
        """The call as text."""
        if self.call is not None:
            return self.operator
        return f"{self.operator}({', '.join(f'{key}={value}' for key, value in self.parameters.items())})"

    def tensors(self, size: str) -> list[Tensor]:
        """Make the inputs."""
        generator = torch.Generator().manual_seed(0)
        made = []
        for index, shape in enumerate(getattr(self, size)):
            values = torch.rand(shape, generator=generator)
            if index in self.integers:
                values = (values * 2).floor()
            elif self.positive:
                values = values + 0.5
            else:
                values = values * 4 - 2
            made.append(values)
        return made


# ---- the rows ------------------------------------------------------------------------------------------------

VECTOR: Shapes = ((2, 3),)
MATRIX: Shapes = ((1000, 1000),)
IMAGES: Shapes = ((32, 64, 56, 56),)
SMALL_IMAGES: Shapes = ((1, 2, 4, 4),)


def _two(shapes: Shapes) -> Shapes:
    return shapes * 2


def _unary() -> list[Row]:
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": torch.relu, "sigmoid": torch.sigmoid, "exp": torch.exp, "tanh": torch.tanh, "square": torch.square,
        "abs": torch.abs, "negative": torch.neg, "sign": torch.sign, "floor": torch.floor, "erf": torch.erf,
    }  # fmt: skip
    positive = {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "gammaln": torch.lgamma}
    return [
        *(Row("unary", name, peer, VECTOR, MATRIX) for name, peer in functions.items()),
        *(Row("unary", name, peer, VECTOR, MATRIX, positive=True) for name, peer in positive.items()),
        Row(
            "unary",
            "clip",
            lambda x: torch.clamp(x, -1.0, 1.0),
            VECTOR,
            MATRIX,
            {"a_min": -1.0, "a_max": 1.0},
        ),
        Row("unary", "Cast", lambda x: x.to(torch.float64), VECTOR, MATRIX, {"dtype": "float64"}),
    ]


def _binary() -> list[Row]:
    both: dict[str, Callable[..., Tensor]] = {
        "elemwise_add": torch.add, "elemwise_mul": torch.mul, "elemwise_div": torch.div, "_maximum": torch.maximum,
        "_hypot": torch.hypot,
    }  # fmt: skip
    spread: dict[str, Callable[..., Tensor]] = {
        "broadcast_add": torch.add, "broadcast_mul": torch.mul, "broadcast_maximum": torch.maximum,
    }  # fmt: skip
    scalars: dict[str, Callable[[Tensor], Tensor]] = {
        "_plus_scalar": lambda x: x + 2.0, "_mul_scalar": lambda x: x * 2.0, "_rdiv_scalar": lambda x: 2.0 / x,
        "_power_scalar": lambda x: x**2.0, "_greater_scalar": lambda x: (x > 2.0).to(x.dtype),
    }  # fmt: skip
    return [
        *(Row("binary", name, peer, _two(VECTOR), _two(MATRIX)) for name, peer in both.items()),
        Row("binary", "_greater", lambda x, y: (x > y).to(x.dtype), _two(VECTOR), _two(MATRIX)),
        Row("binary", "add_n", lambda x, y, z: x + y + z, VECTOR * 3, MATRIX * 3),
        Row(
            "binary",
            "where",
            lambda c, x, y: torch.where(c != 0, x, y),
            VECTOR * 3,
            MATRIX * 3,
            integers=(0,),
        ),
        *(
            Row("broadcast", name, peer, ((2, 3), (2, 1)), ((1000, 1000), (1000, 1)))
            for name, peer in spread.items()
        ),
        *(Row("scalar", name, peer, VECTOR, MATRIX, {"scalar": 2.0}) for name, peer in scalars.items()),
    ]


def _reductions() -> list[Row]:
    axis = {"axis": 1}
    return [
        Row("reduce", "sum", lambda x: torch.sum(x).view(1), VECTOR, MATRIX),
        Row("reduce", "sum", lambda x: torch.sum(x, 1), VECTOR, MATRIX, axis),
        Row("reduce", "mean", lambda x: torch.mean(x, 1), VECTOR, MATRIX, axis),
        Row("reduce", "max", lambda x: torch.amax(x, 1), VECTOR, MATRIX, axis),
        Row("reduce", "prod", lambda x: torch.prod(x, 1), VECTOR, MATRIX, axis),
        Row("reduce", "norm", lambda x: torch.linalg.vector_norm(x, 2, 1), VECTOR, MATRIX, axis),
        Row("reduce", "argmax", lambda x: torch.argmax(x, 1).to(x.dtype), VECTOR, MATRIX, axis),
        Row("reduce", "cumsum", lambda x: torch.cumsum(x, 1), VECTOR, MATRIX, axis),
    ]


def _shapes() -> list[Row]:
    """Rearrangements: MXNet's results are arrays of their own, so the peers copy too."""
    cut = {"begin": (0, 1), "end": (2, 3)}
    return [
        Row("reshape", "Reshape", lambda x: x.reshape(-1).clone(), VECTOR, MATRIX, {"shape": (-1,)}),
        Row("reshape", "Flatten", lambda x: x.flatten(1).clone(), SMALL_IMAGES, IMAGES),
        Row("reshape", "expand_dims", lambda x: x.unsqueeze(1).clone(), VECTOR, MATRIX, {"axis": 1}),
        Row("reshape", "transpose", lambda x: x.t().contiguous(), VECTOR, MATRIX),
        Row("reshape", "SwapAxis", lambda x: x.transpose(0, 1).contiguous(), VECTOR, MATRIX, {"dim1": 0, "dim2": 1}),
        Row("reshape", "broadcast_to", lambda x: x.expand(2, 3).clone(), ((2, 1),), ((2, 1),), {"shape": (2, 3)}),
        Row("reshape", "tile", lambda x: x.repeat(2, 2), VECTOR, MATRIX, {"reps": (2, 2)}),
        Row("reshape", "repeat", lambda x: x.repeat_interleave(2, 0), VECTOR, MATRIX, {"repeats": 2, "axis": 0}),
        Row("reshape", "reverse", lambda x: x.flip(0), VECTOR, MATRIX, {"axis": 0}),
        Row(
            "reshape", "Pad", lambda x: F.pad(x, (1, 1, 1, 1)), SMALL_IMAGES, IMAGES,
            {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)},
        ),
        Row("slicing", "slice", lambda x: x[0:2, 1:3].clone(), VECTOR, MATRIX, cut),
        Row(
            "slicing", "slice_axis", lambda x: x.narrow(1, 0, 2).clone(), VECTOR, MATRIX,
            {"axis": 1, "begin": 0, "end": 2},
        ),
        Row("joining", "Concat", lambda x, y: torch.cat((x, y), 1), _two(VECTOR), _two(MATRIX), {"dim": 1}),
        Row("joining", "stack", lambda x, y: torch.stack((x, y), 1), _two(VECTOR), _two(MATRIX), {"axis": 1}),
        Row(
            "joining", "SliceChannel", lambda x: [part.clone() for part in x.split(x.shape[1] // 2, 1)],
            ((2, 4),), MATRIX, {"num_outputs": 2},
        ),
    ]  # fmt: skip


def _indexing() -> list[Row]:
    index = ((2, 3), (2,)), ((1000, 1000), (1000,))
    return [
        Row("indexing", "take", lambda x, i: x[i.long().clamp(0, x.shape[0] - 1)], *index, integers=(1,)),
        Row(
            "indexing", "pick", lambda x, i: x.gather(1, i.long().clamp(0, x.shape[1] - 1).unsqueeze(1)).squeeze(1),
            *index, integers=(1,),
        ),
        Row(
            "indexing", "one_hot", lambda i: F.one_hot(i.long(), 3).to(torch.float32), ((4,),), ((100000,),),
            {"depth": 3}, integers=(0,),
        ),
        Row(
            "indexing", "gather_nd", lambda x, i: x[i.long().unbind(0)], ((2, 3), (2, 2)), ((1000, 1000), (2, 1000)),
            integers=(1,),
        ),
        Row(
            "indexing", "Embedding", lambda i, w: F.embedding(i.long(), w), ((4,), (10, 3)), ((1000,), (10000, 128)),
            integers=(0,), sized={"input_dim": (1, 0), "output_dim": (1, 1)},
        ),
        Row("ordering", "sort", lambda x: torch.sort(x).values, VECTOR, MATRIX),
        Row(
            "ordering", "topk", lambda x: torch.topk(x, 2).values, VECTOR, MATRIX, {"k": 2, "ret_typ": "value"},
        ),
        Row("ordering", "argsort", lambda x: torch.argsort(x, stable=True).to(torch.float32), VECTOR, MATRIX),
    ]  # fmt: skip


def _layers() -> list[Row]:
    images = ((1, 2, 5, 5), (3, 2, 3, 3), (3,)), ((16, 32, 28, 28), (32, 32, 3, 3), (32,))
    statistics = ((1, 2, 4, 4), *((2,),) * 4), ((32, 64, 28, 28), *((64,),) * 4)
    pooled = {"kernel": (2, 2), "stride": (2, 2)}
    return [
        Row(
            "layers", "FullyConnected", F.linear, ((2, 3), (4, 3), (4,)), ((256, 1024), (512, 1024), (512,)),
            sized={"num_hidden": (1, 0)},
        ),
        Row(
            "layers", "Convolution", lambda x, w, b: F.conv2d(x, w, b, padding=1), *images,
            {"kernel": (3, 3), "pad": (1, 1)}, sized={"num_filter": (1, 0)},
        ),
        Row("layers", "Activation", torch.relu, SMALL_IMAGES, IMAGES, {"act_type": "relu"}),
        Row(
            "layers", "LeakyReLU", lambda x: F.leaky_relu(x, 0.25), SMALL_IMAGES, IMAGES,
        ),
        Row(
            "layers", "BatchNorm",
            lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b, False, 0.0, 1e-3), *statistics, {"fix_gamma": False},
            positive=True,
        ),
        Row(
            "layers", "LayerNorm", lambda x, g, b: F.layer_norm(x, g.shape, g, b), ((2, 3), (3,), (3,)),
            ((1000, 1000), (1000,), (1000,)),
        ),
        Row(
            "layers", "Pooling", lambda x: F.max_pool2d(x, 2, 2), SMALL_IMAGES, IMAGES, {**pooled, "pool_type": "max"},
        ),
        Row(
            "layers", "Pooling", lambda x: F.avg_pool2d(x, 2, 2), SMALL_IMAGES, IMAGES, {**pooled, "pool_type": "avg"},
        ),
        Row("layers", "Dropout", lambda x: x.clone(), VECTOR, MATRIX),
        Row("layers", "softmax", lambda x: torch.softmax(x, -1), VECTOR, MATRIX),
        Row("layers", "log_softmax", lambda x: torch.log_softmax(x, -1), VECTOR, MATRIX),
        Row(
            "layers", "L2Normalization", lambda x: x * x.square().sum(1, keepdim=True).add(1e-10).rsqrt(),
            VECTOR, MATRIX,
        ),
        Row(
            "layers", "SequenceMask",
            lambda x, n: x.masked_fill((torch.arange(x.shape[0]).unsqueeze(1) >= n.unsqueeze(0)), 0.0),
            ((3, 2), (2,)), ((1000, 1000), (1000,)), {"use_sequence_length": True}, integers=(1,),
        ),
        Row(
            "losses", "SoftmaxOutput", lambda x, y: torch.softmax(x, 1), ((2, 3), (2,)), ((1000, 1000), (1000,)),
            integers=(1,),
        ),
        Row("losses", "LinearRegressionOutput", lambda x, y: x.clone(), _two(VECTOR), _two(MATRIX)),
        Row("losses", "smooth_l1", lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"), VECTOR, MATRIX),
        Row("losses", "MakeLoss", lambda x: x.clone(), VECTOR, MATRIX),
        Row(
            "losses", "softmax_cross_entropy",
            lambda x, y: F.cross_entropy(x, y.long(), reduction="sum").view(1), ((2, 3), (2,)), ((1000, 100), (1000,)),
            integers=(1,),
        ),
    ]  # fmt: skip


def _products_and_draws() -> list[Row]:
    square = ((3, 3),), ((400, 400),)
    drawn = {"shape": (2, 3)}
    return [
        Row("products", "dot", torch.mm, ((2, 3), (3, 2)), ((500, 500), (500, 500))),
        Row("products", "batch_dot", torch.bmm, ((2, 2, 3), (2, 3, 2)), ((32, 100, 100), (32, 100, 100))),
        Row("linalg", "_linalg_gemm2", torch.matmul, ((2, 3), (3, 2)), ((500, 500), (500, 500))),
        Row("linalg", "_linalg_syrk", lambda a: a @ a.mT, ((2, 3),), ((400, 400),)),
        Row("linalg", "_linalg_inverse", torch.linalg.inv, *square),
        Row("linalg", "_linalg_det", lambda a: torch.linalg.det(a).view(1), *square),
        Row("linalg", "_linalg_extractdiag", lambda a: torch.diagonal(a).clone(), *square),
        Row("sampling", "_random_uniform", lambda: torch.rand(2, 3), (), (), drawn, random=True),
        Row("sampling", "_random_normal", lambda: torch.randn(2, 3), (), (), drawn, random=True),
        Row(
            "sampling",
            "_sample_normal",
            torch.normal,
            _two(((3,),)),
            _two(((100000,),)),
            positive=True,
            random=True,
        ),
        Row("creation", "_zeros", lambda: torch.zeros(2, 3), (), (), drawn),
        Row("creation", "_arange", lambda: torch.arange(0.0, 6.0), (), (), {"start": 0.0, "stop": 6.0}),
    ]


def _python() -> list[Row]:
    """Calls as programs write them: Python's operators, brackets, arrays by name, results into arrays."""
    nd = mx.nd
    layer = (2, 3), (4, 3), (4,)
    large_layer = (256, 1024), (512, 1024), (512,)

    def row(
        text: str, call: Callable[..., Any], peer: Callable[..., Any], small: Shapes, large: Shapes
    ) -> Row:
        return Row("python", text, peer, small, large, call=call)

    return [
        row("x + y", operator.add, operator.add, _two(VECTOR), _two(MATRIX)),
        row("x * 2.0", lambda x: x * 2.0, lambda x: x * 2.0, VECTOR, MATRIX),
        row("x - 1", lambda x: x - 1, lambda x: x - 1, VECTOR, MATRIX),
        row("1 / x", lambda x: 1 / x, lambda x: 1 / x, VECTOR, MATRIX),
        row("x > 0", lambda x: x > 0, lambda x: (x > 0).to(x.dtype), VECTOR, MATRIX),
        row("x += y", operator.iadd, operator.iadd, _two(VECTOR), _two(MATRIX)),
        row("x *= 1", lambda x: operator.imul(x, 1), lambda x: operator.imul(x, 1), VECTOR, MATRIX),
        row("x[:] = y", _set_all, _set_all, _two(VECTOR), _two(MATRIX)),
        row("x[:] = 1", lambda x: _set_all(x, 1), lambda x: x.fill_(1), VECTOR, MATRIX),
        row("x[0]", lambda x: x[0], lambda x: x[0], VECTOR, MATRIX),
        row("x[0:1]", lambda x: x[0:1], lambda x: x[0:1], VECTOR, MATRIX),
        row("x.copy()", lambda x: x.copy(), torch.clone, VECTOR, MATRIX),
        row("x.sum(axis=1)", lambda x: x.sum(axis=1), lambda x: x.sum(1), VECTOR, MATRIX),
        row("x.reshape((-1, 1))", lambda x: x.reshape((-1, 1)), lambda x: x.reshape(-1, 1), VECTOR, MATRIX),
        row("x.T", lambda x: x.T, lambda x: x.t().contiguous(), VECTOR, MATRIX),
        row(
            "FullyConnected(data=x, weight=w, bias=b, num_hidden=...)",
            lambda x, w, b: nd.FullyConnected(data=x, weight=w, bias=b, num_hidden=w.shape[0]), F.linear,
            layer, large_layer,
        ),
        row(
            "elemwise_add(x, y, out=x)", lambda x, y: nd.elemwise_add(x, y, out=x),
            lambda x, y: torch.add(x, y, out=x), _two(VECTOR), _two(MATRIX),
        ),
        row(
            "sgd_update(x, y, lr=0.0, out=x)", lambda x, y: nd.sgd_update(x, y, lr=0.0, out=x),
            lambda x, y: x.add_(y, alpha=-0.0), _two(VECTOR), _two(MATRIX),
        ),
    ]  # fmt: skip


def _set_all(x: Any, value: Any) -> Any:
    x[:] = value
    return x


ROWS = [
    *_unary(), *_binary(), *_reductions(), *_shapes(), *_indexing(), *_layers(), *_products_and_draws(), *_python(),
]  # fmt: skip


# ---- calls ---------------------------------------------------------------------------------------------------


def calls(row: Row, size: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return the call through `mx.nd` and that of PyTorch, on arrays that are made here."""
    tensors, peer = row.tensors(size), row.peer
    arrays = [mx.nd.NDArray(tensor) for tensor in tensors]
    if (call := row.call) is not None:
        copies = [tensor.clone() for tensor in tensors]  # what is written is each engine's own
        return lambda: call(*arrays), lambda: peer(*copies)
    function = getattr(mx.nd._internal, row.operator)
    sizes = {name: tensors[index].shape[axis] for name, (index, axis) in row.sized.items()}
    parameters = {**row.parameters, **sizes}
    return lambda: function(*arrays, **parameters), lambda: peer(*tensors)


def difference(row: Row, size: str) -> str:
    """Say in what the two calls differ; nothing when they agree."""
    ours, theirs = (call() for call in calls(row, size))
    found = [each.tensor for each in (ours if isinstance(ours, list) else [ours])]
    expected = list(theirs) if isinstance(theirs, (list, tuple)) else [theirs]
    for index, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a.shape != b.shape or a.dtype is not b.dtype:
            return f"output {index}: {a.dtype} {tuple(a.shape)}, PyTorch {b.dtype} {tuple(b.shape)}"
        if not row.random and not torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"output {index} is off by {(a - b).abs().max().item():.1e}"
    return ""


# ---- time ----------------------------------------------------------------------------------------------------

SMALL_EFFORT = Effort(rounds=25, round_seconds=0.002, warm_up_seconds=0.002)
LARGE_EFFORT = Effort(rounds=7, round_seconds=0.01, warm_up_seconds=0.0)


@dataclass(frozen=True)
class Times:
    """Microseconds of a call: medians over the rounds, and that of the rounds' differences."""

    rebind: float
    torch: float
    extra: float
    samples: Mapping[str, Sequence[float]]  # of each round


def measure(row: Row, size: str, rounds: int | None = None) -> Times:
    """Time both calls in turn; what else the machine does hits both.

    Recording is switched on in torch, as it is in programs, which give it nothing to record.
    """
    effort = SMALL_EFFORT if size == "small" else LARGE_EFFORT
    pair = calls(row, size)
    counts = [_count(call, effort) for call in pair]
    samples: list[list[float]] = [[], []]
    gc.collect()
    for round_ in range(rounds or effort.rounds):
        if size == "large":
            time.sleep(SETTLE_SECONDS / 4)
        for index in (0, 1) if round_ % 2 else (1, 0):
            samples[index].append(1e6 * _run(pair[index], counts[index]) / counts[index])
    by_engine = dict(zip(("rebind", "torch"), samples, strict=True))
    return Times(*medians(by_engine), by_engine)


def _count(call: Callable[[], Any], effort: Effort) -> int:
    """Run for a while, and answer how many calls make one round."""
    count, seconds = 1, _run(call, 2)
    while seconds < effort.warm_up_seconds:
        count *= 2
        seconds = _run(call, count)
    # The quickest of a few: if the machine hesitated, rounds would have few calls.
    seconds = min(seconds, _run(call, count), _run(call, count))
    return max(1, round(effort.round_seconds * count / max(seconds, 1e-7)))


def _run(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


# ---- the command ---------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    given = _parser().parse_args(arguments)
    threads = set_threads(given.threads)
    console = Console()
    rows = [row for row in ROWS if row.family in given.families and row.operator in given.operators]
    if given.check:
        return _check(console, rows)
    machine, started = describe_machine(), datetime.now(timezone.utc).isoformat(timespec="seconds")
    found: dict[str, dict[str, Times]] = {}
    with console.status("") as status:
        for row in rows:
            status.update(row.name)
            found[row.name] = {size: measure(row, size, given.rounds) for size in given.sizes}
    wide(console).print(_table(rows, found, given.sizes))
    if "small" in given.sizes:
        extras = [times["small"].extra for times in found.values()]
        console.print(
            f"small arrays: median {statistics.median(extras):.1f} µs over PyTorch's call, largest {max(extras):.1f}",
            highlight=False,
        )
    console.print(
        f"{machine['processor']}, {machine['cores']} cores; Python {machine['python']}; torch {torch.__version__}; "
        f"{threads} threads. Medians; the difference is taken within each round.",
        highlight=False,
        soft_wrap=True,
    )
    if given.json:
        content = {
            row.name: {
                "family": row.family,
                **{
                    size: {
                        engine: [round(each, 3) for each in samples]
                        for engine, samples in times.samples.items()
                    }
                    for size, times in found[row.name].items()
                },
            }
            for row in rows
        }
        about = {
            "started": started,
            "commit": commit(),
            "torch": torch.__version__,
            "machine": machine,
            "threads": threads,
        }
        given.json.write_text(json.dumps({**about, "rows": content}) + "\n")
    return 0


def _check(console: Console, rows: Sequence[Row]) -> int:
    failed = False
    for row in rows:
        for size in SIZES:
            complaint = difference(row, size)
            failed = failed or bool(complaint)
            if complaint:
                console.print(f"{row.name}, {size}: DIFFERS: {complaint}", highlight=False)
    console.print(f"{len(rows)} calls compared: {'some differ' if failed else 'all agree'}", highlight=False)
    return 1 if failed else 0


def _table(rows: Sequence[Row], found: dict[str, dict[str, Times]], sizes: Sequence[str]) -> Table:
    table = Table(title="µs per call", title_justify="left")
    table.add_column("family")
    table.add_column("call")
    for size in sizes:
        table.add_column(f"{size}: rebind", justify="right")
        table.add_column("PyTorch", justify="right")
        table.add_column("over" if size == "small" else "ratio", justify="right")
    for row in rows:
        cells = []
        for size in sizes:
            times = found[row.name][size]
            last = f"{times.extra:+.1f}" if size == "small" else f"{times.rebind / times.torch:.2f}"
            cells += [f"{times.rebind:.1f}", f"{times.torch:.1f}", last]
        table.add_row(row.family, row.name, *cells)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__)
    operators = list(dict.fromkeys(row.operator for row in ROWS))
    families = list(dict.fromkeys(row.family for row in ROWS))
    parser.add_argument(
        "--operators",
        type=Names(operators),
        default=operators,
        metavar="A,B",
        help="some of them, by MXNet's name",
    )
    parser.add_argument(
        "--families",
        type=Names(families),
        default=families,
        metavar="A,B",
        help=f"some of {', '.join(families)}",
    )
    parser.add_argument(
        "--sizes",
        type=Names(SIZES),
        default=list(SIZES),
        metavar="A,B",
        help="small, large, or both (default)",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds for each row and size")
    parser.add_argument("--check", action="store_true", help="compare results instead of times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: PyTorch's own choice)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
