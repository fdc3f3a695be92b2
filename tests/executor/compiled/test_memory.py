"""What runs of compiled code hold in memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
from tests.newer_torch import uses_private_names
from torch import fx

import rebind as mx
from rebind.graph.passes import DEFAULT, register_backend

pytestmark = pytest.mark.usefixtures("own_backends")

#: Takes the results of a step.
Note: TypeAlias = Callable[[list[Any]], None]

_SHAPE = (1024, 1024)


class Watching:
    """A compiler whose code notes, as it runs, which of some tensors are still in memory."""

    def __init__(self) -> None:
        self.of: list[weakref.ref[torch.Tensor]] = []
        self.alive: list[list[bool]] = []

    def __call__(self, graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        def run(*given: torch.Tensor) -> object:
            self.alive.append([each() is not None for each in self.of])
            return graph(*given)

        return run


def network() -> Any:
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2048, no_bias=True, name="layer")
    return mx.sym.MakeLoss(layer, name="loss")


def steps_of_an_executor(note: Note) -> None:
    executor = network().simple_bind(mx.cpu(), backend="watching", data=_SHAPE)
    executor.copy_params_from({"data": mx.nd.ones(_SHAPE), "layer_weight": mx.nd.ones((2048, 1024))})
    for _ in range(4):
        executor.forward_before_backward()
        executor.backward()
        note([executor.outputs[0], executor.grad_dict["layer_weight"], executor.grad_dict["data"]])


def steps_of_a_module(note: Note) -> None:
    batches = mx.io.NDArrayIter(mx.nd.ones(_SHAPE), batch_size=_SHAPE[0])
    module = mx.mod.Module(network(), label_names=None, backend="watching")
    module.bind(batches.provide_data)
    module.init_params(mx.init.One())
    module.init_optimizer()
    batch = next(batches)
    for _ in range(4):
        module.forward_backward(batch)
        module.update()
        note([module.get_outputs()[0], module._exec_group.grad_arrays[0][0]])


def steps_of_fit(note: Note) -> None:
    batches = mx.io.NDArrayIter(mx.nd.ones((4096, 1024)), batch_size=_SHAPE[0])
    module = mx.mod.Module(network(), label_names=None, backend="watching")

    def after_batch(_: object) -> None:
        note([module.get_outputs()[0], module._exec_group.grad_arrays[0][0]])

    module.fit(
        batches, num_epoch=1, eval_metric="loss", initializer=mx.init.One(), batch_end_callback=after_batch
    )


def steps_of_predictions(note: Note) -> None:
    batches = mx.io.NDArrayIter(mx.nd.ones(_SHAPE), batch_size=_SHAPE[0])
    module = mx.mod.Module(network(), label_names=None, backend="watching")
    module.bind(batches.provide_data, for_training=False)
    module.init_params(mx.init.One())
    batch = next(batches)
    for _ in range(4):
        module.forward(batch, is_train=False)
        note(module.get_outputs())


@uses_private_names
@pytest.mark.parametrize(
    "steps", [steps_of_an_executor, steps_of_a_module, steps_of_fit, steps_of_predictions]
)
def test_large_results_of_the_last_step_are_freed_before_the_next(steps: Callable[[Note], None]) -> None:
    watching, sums = Watching(), []

    def note(results: list[Any]) -> None:
        sums.append([float(each.asnumpy().sum()) for each in results])
        watching.of = [weakref.ref(each.tensor) for each in results]

    register_backend("watching", DEFAULT, compiler=watching)
    steps(note)
    assert len(sums) == 4 and all(map(all, sums))  # none was left empty
    assert len(watching.alive) >= 4 and not any(map(any, watching.alive))
