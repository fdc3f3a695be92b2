"""The command `python -m benchmarks.kinds`: networks of many kinds, small ones mostly, beside PyTorch's eager mode.

`python -m benchmarks` times seven networks thoroughly. This goes wide instead: most layers that programs use are in one
of its networks, each of which is written twice (`kinds_networks.py`), has the same parameters in both, and is first
checked to give the same. A training step is forward, backward and SGD with momentum, inference ends in a softmax, in
both. The engines take turns in one process, with PyTorch's own number of threads; PyTorch has images in both of its
layouts, and the ratio is to the better one.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import rebind as mx

from .command import Names, set_threads, wide
from .kinds_networks import KINDS, Kind
from .kinds_table import ENGINES, ratio_to_best
from .networks import LEARNING_RATE, MOMENTUM
from .report import describe_machine, digits

__all__ = ["CLOSE", "Twins", "main"]

#: By how much outputs, which are probabilities, may differ.
CLOSE = 1e-3
#: Seconds that a round of an engine takes, about.
_ROUND = 0.02


class Twins:
    """A network in rebind and in PyTorch, with the same parameters.

    Parameters
    ----------
    kind
        The network.
    training
        Whether a step trains it.
    """

    def __init__(self, kind: Kind, training: bool) -> None:
        torch.manual_seed(0)
        symbol, self.model = kind.build()
        generator = np.random.default_rng(0)
        shape, classes = kind.shape, kind.classes
        whole = kind.words is not None
        data = generator.integers(0, kind.words, shape) if whole else generator.random(shape)
        self._data = torch.from_numpy(data.astype(np.float32))
        self._label = torch.from_numpy(generator.integers(0, classes, shape[0]))
        self.training = training
        self.module = mx.mod.Module(mx.sym.SoftmaxOutput(symbol, name="softmax"))
        self.module.bind(
            [("data", shape)], [("softmax_label", shape[:1])] if training else None, for_training=training
        )
        names = [name for name in symbol.list_arguments() if name != "data"]
        values = kind.parameters(self.model)
        arrays = {
            name: mx.nd.array(value.detach().numpy()) for name, value in zip(names, values, strict=True)
        }
        self.module.init_params(mx.init.Zero(), arg_params=arrays, aux_params=_statistics(symbol, shape))
        if training:
            settings = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
            self.module.init_optimizer(optimizer="sgd", optimizer_params=settings)
        self._batch = mx.io.DataBatch(
            [mx.nd.array(self._data.numpy())], [mx.nd.array(self._label.numpy())] if training else None
        )

    def ours(self) -> None:
        """Take a step."""
        if self.training:
            self.module.forward_backward(self._batch)
            self.module.update()
        else:
            self.module.forward(self._batch, is_train=False)
            self.module.get_outputs()[0].wait_to_read()

    def difference(self) -> float:
        """Return by how much the outputs of one forward run differ at most."""
        self.module.forward(self._batch, is_train=self.training)
        with torch.no_grad():
            scores = copy.deepcopy(self.model).train(self.training)(self._data)
        found: Tensor = self.module.get_outputs()[0].tensor - scores.softmax(1)
        return float(found.abs().max())

    def theirs(self, memory_format: torch.memory_format) -> Callable[[], None]:
        """Return a step in PyTorch with images in an order of memory."""
        model = copy.deepcopy(self.model).train(self.training)
        data, label = self._data, self._label
        if data.dim() == 4:
            model, data = (
                model.to(memory_format=memory_format),  # type: ignore[call-overload]  # it takes that alone, too
                data.to(memory_format=memory_format),
            )
        if not self.training:

            def infer() -> None:
                with torch.inference_mode():
                    model(data).softmax(1)

            return infer
        loss = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

        def train() -> None:
            optimizer.zero_grad()
            loss(model(data), label).backward()
            optimizer.step()

        return train


def _statistics(symbol: Any, data: tuple[int, ...]) -> dict[str, Any]:
    _, _, shapes = symbol.infer_shape(data=data)
    named = zip(symbol.list_auxiliary_states(), shapes, strict=True)
    return {name: (mx.nd.ones if name.endswith("var") else mx.nd.zeros)(shape) for name, shape in named}


def _milliseconds(step: Callable[[], None], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    return 1e3 * (time.perf_counter() - start) / count


def _measure(twins: Twins, rounds: int) -> dict[str, list[float]]:
    engines = {"rebind": twins.ours, "torch": twins.theirs(torch.contiguous_format)}
    if len(twins.module.data_shapes[0].shape) == 4:
        engines["torch-channels-last"] = twins.theirs(torch.channels_last)
    for step in engines.values():
        _milliseconds(step, 5)
    count = max(2, int(_ROUND / (1e-3 * _milliseconds(twins.ours, 3))))
    found: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, step in engines.items():
            found[name].append(_milliseconds(step, count))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.kinds", description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", type=Names(KINDS), default=list(KINDS), metavar="LIST", help="networks")
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help="rounds (default: 25)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    given = parser.parse_args(arguments)
    threads = set_threads(given.threads)
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    machine = describe_machine()
    table = Table("network", "", *ENGINES.values(), "rebind / best", title="ms a step")
    kinds: dict[str, dict[str, Any]] = {}
    for name in given.kinds:
        kinds[name] = {"what": KINDS[name].what}
        for mode in "training", "inference":
            twins = Twins(KINDS[name], mode == "training")
            if (difference := twins.difference()) > CLOSE:
                print(f"{name}, {mode}: the outputs differ by {difference:.1e}", file=sys.stderr)
                return 1
            found = kinds[name][mode] = _measure(twins, given.rounds)
            shown = (digits(statistics.median(found[each])) if each in found else "–" for each in ENGINES)
            table.add_row(name, mode, *shown, f"{ratio_to_best(found):.2f}")
    console = Console()
    wide(console).print(table)
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {threads} threads; medians of {given.rounds} rounds in "
        "turn in one process, ratios within a round.",
        highlight=False,
        soft_wrap=True,
    )
    if given.json is not None:
        content = {
            "started": started, "machine": machine, "torch": torch.__version__, "threads": threads,
            "rounds": given.rounds, "kinds": kinds,
        }  # fmt: skip
        given.json.write_text(json.dumps(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
