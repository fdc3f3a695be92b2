"""The module that FeedForward predicts with, bound to one set of shapes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .. import dtypes
from ..device import Device
from ..errors import NameLookupError, ShapeError, StateError
from ..logs import log
from ..module import Module
from ..ndarray import NDArray
from ..protocols import DataSource
from ..symbol import Symbol
from .data import described

__all__ = ["Predictor"]

Params: TypeAlias = Mapping[str, NDArray]


class Predictor:
    """A network bound for prediction.

    Parameters
    ----------
    who
        For messages.
    symbol
        The network.
    device
        Where it computes.
    data
        An iterator, whose shapes it is bound to.
    given
        The parameters that have values; arguments named like labels that are not among them are inputs.
    verbosity
        1 logs how long binding took.

    Examples
    --------
    >>> import rebind as mx
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 3)), batch_size=2)
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> params = {"fc_weight": mx.nd.ones((1, 3)), "fc_bias": mx.nd.zeros((1,))}
    >>> predictor = Predictor("predict", net, mx.cpu(), data, params, verbosity=0)
    >>> predictor.set_params("predict", params, {}, allow_extra=False)
    >>> predictor.module.predict(data).shape
    (4, 1)
    """

    def __init__(
        self, who: str, symbol: Symbol, device: Device, data: DataSource, given: Params, verbosity: int
    ) -> None:
        started = time.perf_counter()
        self._symbol, self._key = symbol, _key(device, data, given)
        self.shapes = _shapes(data)
        arguments = symbol.list_arguments()
        descs, labels = described(data)
        inputs = {desc.name for desc in (*descs, *labels)}
        # A label that is no parameter must be an input, though the data may come without it.
        wanted = {name for name in arguments if name.endswith("label") and name not in given}
        names = {desc.name for desc in labels}
        self.param_names = [name for name in arguments if name not in inputs | wanted]
        self.aux_names: list[str] = symbol.list_auxiliary_states()
        self._arguments = arguments
        self.module = Module(
            symbol,
            data_names=[desc.name for desc in descs],
            label_names=[name for name in arguments if name in names | wanted],
            context=device,
        )
        _need(who, "parameters", self.param_names, given)
        # Labels are loaded only if all that the network takes are given: predictions need none.
        self.module.bind(descs, (labels or None) if names >= wanted else None, for_training=False)
        if verbosity:
            took = time.perf_counter() - started
            log().info("FeedForward.%s: bound to %s in %.3f s", who, _spelled(self.shapes), took)

    def fits(self, symbol: Symbol, device: Device, data: DataSource, given: Params) -> bool:
        """Return whether it would be bound in just this way.

        >>> import rebind as mx
        >>> small, large = (mx.io.NDArrayIter(mx.nd.ones((size, 3)), batch_size=size) for size in (2, 8))
        >>> net = 2 * mx.sym.var("data")
        >>> predictor = Predictor("predict", net, mx.cpu(), small, {}, verbosity=0)
        >>> predictor.fits(net, mx.cpu(), small, {}), predictor.fits(net, mx.cpu(), large, {})
        (True, False)
        """
        return self._symbol is symbol and self._key == _key(device, data, given)

    def check_shapes(self, who: str, data: DataSource) -> None:
        """Raise an error unless the shapes are those that it is bound to.

        >>> import rebind as mx
        >>> small, large = (mx.io.NDArrayIter(mx.nd.ones((size, 3)), batch_size=size) for size in (2, 8))
        >>> predictor = Predictor("predict", 2 * mx.sym.var("data"), mx.cpu(), small, {}, verbosity=0)
        >>> predictor.check_shapes("predict", large)
        Traceback (most recent call last):
        rebind.errors.ShapeError: FeedForward.predict: with overwrite=False the shapes must be those of ...
        """
        if _shapes(data) != self.shapes:
            raise ShapeError(
                f"FeedForward.{who}: with overwrite=False the shapes must be those of the bound predictor, "
                f"{_spelled(self.shapes)}; got {_spelled(_shapes(data))}. Leave out overwrite=False to bind again."
            )

    def set_params(self, who: str, arg_params: Params, aux_params: Params, *, allow_extra: bool) -> None:
        """Copy parameters and auxiliary states in: all that it has and, unless extra ones are allowed, no others."""
        for kind, names, known, have in (
            ("parameters", self.param_names, self._arguments, arg_params),
            ("auxiliary states", self.aux_names, self.aux_names, aux_params),
        ):
            _need(who, kind, names, have)
            extra = [name for name in have if name not in known]
            if extra and not allow_extra:
                raise NameLookupError(
                    f"FeedForward.{who}: the network has no {kind} {extra}. "
                    "Set allow_extra_params=True to ignore them."
                )
        self.module.set_params(
            {name: arg_params[name] for name in self.param_names},
            {name: aux_params[name] for name in self.aux_names},
        )


def _need(who: str, kind: str, names: Sequence[str], have: Params) -> None:
    missing = [name for name in names if name not in have]
    if missing:
        raise StateError(
            f"FeedForward.{who}: the network has {kind} without values, {missing}; call fit(), init_model() or "
            "load_checkpoint() first"
        )


def _shapes(data: DataSource) -> list[tuple]:
    return [(desc.name, tuple(desc.shape), dtypes.name(desc.dtype)) for desc in described(data)[0]]


def _key(device: Device, data: DataSource, given: Params) -> tuple:
    # Which parameters there are counts too: an argument named like a label is an input only without a value.
    labels = [(desc.name, tuple(desc.shape)) for desc in described(data)[1]]
    return device, _shapes(data), labels, set(given)


def _spelled(shapes: Sequence[tuple]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape, *_ in shapes)
