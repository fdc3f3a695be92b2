"""The command `python -m benchmarks.kinds`: networks of many kinds, small ones mostly, beside PyTorch and MXNet.

`python -m benchmarks` times seven networks thoroughly. This goes wide instead: most layers that programs use are in one
of its networks, each of which is written twice (`kinds_networks.py`), has the same parameters in both, and is first
checked to give the same. A training step is forward, backward and SGD with momentum, inference ends in a softmax, in
both. The engines take turns in one process, with PyTorch's own number of threads; PyTorch has images in both of its
layouts, and the ratio is to the better one. ``--engines`` adds those that compile: rebind by inductor, whose steps in
training are those of `fit`, and `torch.compile` over the network and its loss, in the layout that suits images. MXNet
itself (``--mxnet``), in a process of its own, takes its turns too.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
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
from torch.nn import functional as F

import rebind as mx

from .command import Names, set_threads, wide
from .engines import EngineError, Options, WorkerProcess, find_mxnet
from .kinds_networks import KINDS, Kind
from .kinds_table import EAGER, ENGINES, MODES, PEERS, failures, ratio_to_best
from .kinds_worker import BATCH
from .networks import LEARNING_RATE, MOMENTUM
from .report import commit, describe_machine, digits
from .runner import SETTLE_SECONDS

__all__ = ["CLOSE", "Twins", "main"]

Step = Callable[[], None]
#: Takes a number of steps, and returns how many milliseconds each took.
Timer = Callable[[int], float]

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
    mxnet
        A process of `kinds_worker`, which gets the network too.
    """

    def __init__(self, kind: Kind, training: bool, mxnet: WorkerProcess | None = None) -> None:
        torch.manual_seed(0)
        symbol, self.model = kind.build()
        generator = np.random.default_rng(0)
        shape, classes = kind.shape, kind.classes
        whole = kind.words is not None
        data = generator.integers(0, kind.words, shape) if whole else generator.random(shape)
        self._data = torch.from_numpy(data.astype(np.float32))
        self._label = torch.from_numpy(generator.integers(0, classes, shape[0]))
        self.training, self.has_images = training, len(shape) == 4
        self._symbol = symbol
        names = [name for name in symbol.list_arguments() if name != "data"]
        values = kind.parameters(self.model)
        self._parameters = {
            name: mx.nd.array(value.detach().numpy()) for name, value in zip(names, values, strict=True)
        }
        self._statistics = _statistics(symbol, shape)
        self._batch = mx.io.DataBatch(
            [mx.nd.array(self._data.numpy())], [mx.nd.array(self._label.numpy())] if training else None
        )
        self._mxnet = mxnet

    def engines(self) -> dict[str, Callable[[], Timer]]:
        """Return for each engine of `ENGINES` that the network has what gets it ready."""

        def timer(make: Callable[[], Step]) -> Callable[[], Timer]:
            return lambda: functools.partial(_milliseconds, make())

        found = {
            "rebind": timer(self._ours),
            "rebind-inductor": timer(self._ours_compiled),
            "torch": timer(self._theirs),
            "torch-channels-last": timer(functools.partial(self._theirs, torch.channels_last)),
            "torch-compile": timer(self._theirs_compiled),
            "mxnet": self._of_mxnet,
        }
        if not self.has_images:
            del found["torch-channels-last"]
        return found

    def differences(self, engines: Sequence[str]) -> dict[str, float]:
        """Return by how much the outputs of one forward run of each engine differ from PyTorch's at most."""
        with torch.no_grad():
            wanted: Tensor = copy.deepcopy(self.model).train(self.training)(self._data).softmax(1)
        found: dict[str, Tensor] = {}
        for name, backend in (("rebind", None), ("rebind-inductor", "inductor")):
            if name in engines:
                module = self._module(backend)
                module.forward(self._batch, is_train=self.training)
                found[name] = module.get_outputs()[0].tensor
        if "mxnet" in engines:
            process = self._in_mxnet
            file = f"{process.folder}/output.npy"
            process.ask(do="output", file=file)
            found["mxnet"] = torch.from_numpy(np.load(file))
        return {name: float((each - wanted).abs().max()) for name, each in found.items()}

    def _of_mxnet(self) -> Timer:
        process = self._in_mxnet

        def timer(count: int) -> float:
            time.sleep(SETTLE_SECONDS)
            seconds = float(process.ask(do="run", steps=count)["seconds"])
            time.sleep(SETTLE_SECONDS)  # its threads go on looking for work for a while
            return 1e3 * seconds / count

        return timer

    @functools.cached_property
    def _in_mxnet(self) -> WorkerProcess:
        """The process of MXNet, which has the network bound."""
        assert self._mxnet is not None, "the engine 'mxnet' needs its process"
        network, arrays = f"{self._mxnet.folder}/net.json", f"{self._mxnet.folder}/net.params"
        self._net.save(network)
        values = {f"arg:{name}": value for name, value in self._parameters.items()}
        values |= {f"aux:{name}": value for name, value in self._statistics.items()}
        labels = mx.nd.array(self._label.numpy())
        mx.nd.save(arrays, values | dict(zip(BATCH, (self._batch.data[0], labels), strict=True)))
        self._mxnet.ask(do="prepare", network=network, arrays=arrays, training=self.training)
        return self._mxnet

    @property
    def _net(self) -> Any:
        return mx.sym.SoftmaxOutput(self._symbol, name="softmax")

    def _module(self, backend: str | None) -> Any:
        module = mx.mod.Module(self._net, backend=backend)
        shape = self._batch.data[0].shape
        labels = [("softmax_label", shape[:1])] if self.training else None
        module.bind([("data", shape)], labels, for_training=self.training)
        module.init_params(mx.init.Zero(), arg_params=self._parameters, aux_params=self._statistics)
        if self.training:
            settings = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
            module.init_optimizer(optimizer="sgd", optimizer_params=settings)
        return module

    def _ours(self, backend: str | None = None) -> Step:
        module, batch = self._module(backend), self._batch

        def train() -> None:
            module.forward_backward(batch)
            module.update()

        def infer() -> None:
            module.forward(batch, is_train=False)
            module.get_outputs()[0].wait_to_read()

        return train if self.training else infer

    def _ours_compiled(self) -> Step:
        if not self.training:
            return self._ours("inductor")
        module, batch = self._module("inductor"), self._batch

        def train() -> None:
            if not module.forward_backward_update(batch):
                raise RuntimeError("forward, backward and update were not one call")

        return train

    def _theirs_compiled(self) -> Step:
        return self._theirs(
            torch.channels_last if self.has_images else torch.contiguous_format, torch.compile
        )

    def _theirs(
        self,
        memory_format: torch.memory_format = torch.contiguous_format,
        compiler: Callable[[nn.Module], nn.Module] = lambda model: model,
    ) -> Step:
        """Return a step in PyTorch with images in an order of memory, and a network that `compiler` returns."""
        model = copy.deepcopy(self.model).train(self.training)
        data, label = self._data, self._label
        if self.has_images:
            model, data = (
                model.to(memory_format=memory_format),  # type: ignore[call-overload]  # it takes that alone, too
                data.to(memory_format=memory_format),
            )
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        run = compiler(_WithLoss(model) if self.training else _WithSoftmax(model))

        def train() -> None:
            optimizer.zero_grad()
            run(data, label).backward()
            optimizer.step()

        def infer() -> None:
            with torch.inference_mode():
                run(data)

        return train if self.training else infer


class _WithSoftmax(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, data: Tensor) -> Tensor:
        return self.model(data).softmax(1)


class _WithLoss(_WithSoftmax):
    def forward(self, data: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(self.model(data), label)


def _statistics(symbol: Any, data: tuple[int, ...]) -> dict[str, Any]:
    _, _, shapes = symbol.infer_shape(data=data)
    named = zip(symbol.list_auxiliary_states(), shapes, strict=True)
    return {name: (mx.nd.ones if name.endswith("var") else mx.nd.zeros)(shape) for name, shape in named}


def _milliseconds(step: Callable[[], None], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    return 1e3 * (time.perf_counter() - start) / count


def _measure(
    twins: Twins, engines: Sequence[str], rounds: int
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the milliseconds of a step in each round by engine, and of each peer that fails, the error."""
    # PyTorch counts how often it compiles the same Python code, and gives up at eight.
    torch.compiler.reset()
    timers: dict[str, Timer] = {}
    failed: dict[str, str] = {}
    fastest = float("inf")
    for name, make in twins.engines().items():
        if name not in engines:
            continue
        try:
            timer = make()
            timer(5)
        except Exception as error:
            if name in PEERS:
                raise
            lines = str(error).splitlines()
            # What MXNet says of an error ends in it.
            is_worker = isinstance(error, EngineError)
            failed[name] = lines[-1] if is_worker else f"{type(error).__name__}: {lines[0]}"
            continue
        timers[name] = timer
        fastest = min(fastest, timer(3))
    count = max(2, int(_ROUND / (1e-3 * fastest)))
    found: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            found[name].append(timer(count))
    return found, failed


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what the command line says, with the engines in the order of the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.kinds", description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", type=Names(KINDS), default=list(KINDS), metavar="LIST", help="networks")
    parser.add_argument(
        "--engines", type=Names(ENGINES), default=["rebind", *EAGER], metavar="LIST",
        help=f"of {', '.join(ENGINES)} (default: those that do not compile)",
    )  # fmt: skip
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="time MXNet too, in its own environment (or set REBIND_ORACLE)"
    )
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help="rounds (default: 25)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    given = parser.parse_args(arguments)
    if given.mxnet:
        given.engines = [*given.engines, "mxnet"]
    given.engines = [name for name in ENGINES if name in given.engines]
    given.mxnet = find_mxnet(given.mxnet)
    if "mxnet" in given.engines and given.mxnet is None:
        parser.error(
            "the engine mxnet needs --mxnet PYTHON or REBIND_ORACLE: the Python of an environment with MXNet"
        )
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    given = _read(arguments)
    threads = set_threads(given.threads)
    if "mxnet" not in given.engines:
        return _compare(given, threads)
    with contextlib.closing(WorkerProcess("kinds_worker", "mxnet", Options(threads, given.mxnet))) as mxnet:
        return _compare(given, threads, mxnet)


def _compare(given: argparse.Namespace, threads: int, mxnet: WorkerProcess | None = None) -> int:
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    machine, engines = describe_machine(), given.engines
    ours = [name for name in PEERS if name in engines and {*PEERS[name]} & {*engines}]
    ratios = (f"{ENGINES[name]} / best" for name in ours)
    table = Table("network", "", *(ENGINES[name] for name in engines), *ratios, title="ms a step")
    kinds: dict[str, dict[str, Any]] = {}
    for name in given.kinds:
        kinds[name] = {"what": KINDS[name].what, "failures": {}}
        for mode in MODES:
            print(f"{name}, {mode}", file=sys.stderr)
            twins = Twins(KINDS[name], mode == "training", mxnet)
            for engine, difference in twins.differences(engines).items():
                if difference > CLOSE:
                    says = f"{name}, {mode}: the outputs of {engine} and PyTorch differ by {difference:.1e}"
                    print(says, file=sys.stderr)
                    return 1
            found, kinds[name]["failures"][mode] = _measure(twins, engines, given.rounds)
            kinds[name][mode] = found
            shown = (digits(statistics.median(found[each])) if each in found else "–" for each in engines)
            table.add_row(name, mode, *shown, *(f"{ratio_to_best(found, each):.2f}" for each in ours))
    console = Console()
    wide(console).print(table)
    for failure in failures(kinds):
        console.print(failure, highlight=False, soft_wrap=True)
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {threads} threads; medians of {given.rounds} rounds in "
        "turn, PyTorch in the same process, ratios within a round.",
        highlight=False,
        soft_wrap=True,
    )
    if given.json is not None:
        content = {
            "started": started, "commit": commit(), "machine": machine, "torch": torch.__version__, "threads": threads,
            "rounds": given.rounds, "kinds": kinds,
        }  # fmt: skip
        given.json.write_text(json.dumps(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
