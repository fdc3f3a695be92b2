"""What every engine gives to the runner: a `Driver`; and the one for the symbolic API.

`ModuleDriver` drives `mx.mod.Module` as a user's training loop does. It is the same code for rebind and for
the real MXNet, and imports neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .networks import LEARNING_RATE, MOMENTUM, Row, initial_value, make_batch


@dataclass(frozen=True)
class Setting:
    """What an engine is to do.

    Attributes
    ----------
    row
        The work.
    threads
        How many threads it takes, if the user says so.
    file
        The network as a file, for an engine that reads one.
    device
        ``'cpu'`` or ``'cuda'``.
    """

    row: Row
    threads: int | None = None
    file: str = ""
    device: str = "cpu"


class Driver(Protocol):
    """One network of one engine, ready to run steps on one batch that stays the same."""

    def run(self, steps: int) -> None:
        """Do `steps` steps and return when their results exist."""

    def results(self) -> dict[str, np.ndarray]:
        """The newest output (`"output"`) and all parameters and statistics under MXNet's names."""


class ModuleDriver:
    """A row through `Module`: `forward_backward` and `update` in training, `forward` in inference."""

    kvstore = "local"

    def __init__(
        self,
        mx: Any,
        row: Row,
        workers: int = 1,
        backend: str | None = None,
        device: str = "cpu",
        low_precision: str = "",  # the type of products, of ``mx.contrib.amp``; "": float32, as it is without
    ) -> None:
        self._mx = mx
        self._context = mx.cpu() if device == "cpu" else mx.gpu()
        self._options = {} if backend is None else {"backend": backend}  # MXNet has no such parameter
        self._training = row.training
        data, label = make_batch(row)
        symbol = row.network(mx)
        if low_precision:
            symbol = mx.contrib.amp.convert_symbol(symbol, low_precision)
        module = self.make_module(mx, symbol)
        module.bind(
            data_shapes=[("data", row.data_shape)],
            label_shapes=[("softmax_label", row.label_shape)] if row.training else None,
            for_training=row.training,
        )
        arguments, auxiliary = _initial_parameters(mx, symbol, row)
        module.init_params(initializer=None, arg_params=arguments, aux_params=auxiliary)
        if row.training:
            module.init_optimizer(
                kvstore=self.kvstore,
                optimizer="sgd",
                optimizer_params={
                    "learning_rate": LEARNING_RATE,
                    "momentum": MOMENTUM,
                    "rescale_grad": 1.0 / row.predictions / workers,
                },
            )
        self._module = module
        self._batch = mx.io.DataBatch(
            data=[mx.nd.array(data, ctx=self._context)],
            label=[mx.nd.array(label, ctx=self._context)] if row.training else None,
        )

    def make_module(self, mx: Any, symbol: Any) -> Any:
        """The module that is driven."""
        return mx.mod.Module(symbol, context=self._context, **self._options)

    def run(self, steps: int) -> None:
        module, batch = self._module, self._batch
        if self._training:
            for _ in range(steps):
                module.forward_backward(batch)
                module.update()
            self._mx.nd.waitall()  # MXNet may overlap the steps of a round, as it does in a user's loop
        else:
            for _ in range(steps):
                module.forward(batch, is_train=False)
                module.get_outputs()[0].wait_to_read()

    def results(self) -> dict[str, np.ndarray]:
        arguments, auxiliary = self._module.get_params()
        values = {name: array.asnumpy() for name, array in {**arguments, **auxiliary}.items()}
        return {**values, "output": self._module.get_outputs()[0].asnumpy()}


class WholeStepDriver(ModuleDriver):
    """A row in training through rebind's `Module`, with whole steps in one call."""

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if not self._module.forward_backward_update(self._batch):
                raise RuntimeError("forward, backward and update were not one call")
        self._mx.nd.waitall()


class DistributedDriver(ModuleDriver):
    """A row in training over the workers of a job, with the gradients sent as `Module.fit` sends them."""

    kvstore = "dist_sync"

    def run(self, steps: int) -> None:
        self._module.sends_gradients = True
        super().run(steps)


class SVRGDriver(ModuleDriver):
    """A row in training through rebind's `SVRGModule`.

    The batch is all its data, so that the full gradient is that of the batch, and a step has the result of a plain one.
    """

    def __init__(self, mx: Any, row: Row) -> None:
        super().__init__(mx, row)
        self._module.update_full_grads([self._batch])

    def make_module(self, mx: Any, symbol: Any) -> Any:
        from rebind.contrib.svrg_optimization import SVRGModule

        return SVRGModule(symbol, context=mx.cpu(), update_freq=1)


def _initial_parameters(mx: Any, symbol: Any, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    shapes = {"data": row.data_shape, "softmax_label": row.label_shape}
    argument_shapes, _, auxiliary_shapes = symbol.infer_shape(**shapes)
    arguments = {
        name: mx.nd.array(initial_value(name, shape))
        for name, shape in zip(symbol.list_arguments(), argument_shapes, strict=True)
        if name not in shapes
    }
    auxiliary = {
        name: mx.nd.array(initial_value(name, shape))
        for name, shape in zip(symbol.list_auxiliary_states(), auxiliary_shapes, strict=True)
    }
    return arguments, auxiliary
