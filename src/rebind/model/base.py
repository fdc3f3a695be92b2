"""`NetworkModel`: a network with its parameters, in memory and in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .. import checkpoint
from ..checks import DICT, NUMBER, check_kind, or_none, warn_user
from ..device import Device, as_devices
from ..errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError
from ..initializer import InitDesc, Uniform
from ..initializer.base import Filler, as_initializer
from ..logs import log
from ..lr_scheduler import LRScheduler
from ..module.settings import InitializerSpec
from ..ndarray import NDArray, zeros
from ..optimizer import Optimizer
from ..protocols import ArrayDict
from ..shapes import Shape
from ..symbol import Symbol, load_json
from .following import TrainingState

__all__ = ["NetworkModel"]

Model = TypeVar("Model", bound="NetworkModel")
Number = TypeVar("Number", int, "int | None")


class NetworkModel:
    """The half of `FeedForward` that holds the network and its values; see there for the constructor's parameters."""

    def __init__(
        self,
        symbol: Symbol,
        ctx: Device | Sequence[Device] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: str | Optimizer = "sgd",
        initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: object,
    ) -> None:
        if not isinstance(symbol, Symbol):
            raise ArgumentError(
                f"FeedForward: symbol must be a Symbol; got {symbol!r}. For a function that makes one for each bucket "
                "use module.BucketingModule."
            )
        self.symbol = symbol
        self.ctx = _devices(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = _at_least_one("epoch_size", epoch_size)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = _at_least_one("numpy_batch_size", numpy_batch_size)
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = kwargs
        check_kind("FeedForward", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
        # Dicts of its own: the caller's stay whole when extra names are dropped.
        self.arg_params: ArrayDict | None = None if arg_params is None else dict(arg_params)
        self.aux_params: ArrayDict | None = None if aux_params is None else dict(aux_params)
        if allow_extra_params:
            self._drop_extra(self.arg_params, symbol.list_arguments())
            self._drop_extra(self.aux_params, symbol.list_auxiliary_states())
        # Each fit makes an optimizer of its own, whose schedule begins where this one is now.
        schedule = kwargs.get("lr_scheduler")
        self._schedule_start = schedule.state_dict() if isinstance(schedule, LRScheduler) else None

    @staticmethod
    def _drop_extra(params: ArrayDict | None, names: Sequence[str]) -> None:
        for name in set(params or ()) - set(names):
            del params[name]  # type: ignore[union-attr]

    def __repr__(self) -> str:
        params = "no parameters yet" if self.arg_params is None else f"{len(self.arg_params)} parameters"
        return f"<FeedForward {', '.join(self.symbol.list_outputs())} on {self.ctx}: {params}>"

    # Parameters.

    def init_model(
        self, initializer: InitializerSpec = None, overwrite: bool = False, **input_shapes: Sequence[int]
    ) -> tuple[list[str], list[str], list[str]]:
        """Give a first value to parameters and auxiliary states that have none.

        Parameters
        ----------
        initializer
            Fills them; by default the model's own. A variable's own initializer (``var(init=...)``) takes precedence.
        overwrite
            Fill those that have a value, too.
        **input_shapes
            The shapes of the inputs, labels too; all other arguments are parameters.

        Returns
        -------
        tuple
            The names of the arguments, of the parameters and of the auxiliary states.

        Notes
        -----
        An array of the wrong shape is initialized again, with a warning; one that the network does not have is dropped.

        Examples
        --------
        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> model = mx.model.FeedForward(net)
        >>> arguments, parameters, states = model.init_model(data=(8, 3))
        >>> parameters, model.arg_params["fc_weight"].shape
        (['fc_weight', 'fc_bias'], (2, 3))
        """
        return self.give_values(
            initializer, overwrite, {name: tuple(shape) for name, shape in input_shapes.items()}
        )

    def give_values(
        self, initializer: InitializerSpec, overwrite: bool, inputs: Mapping[str, Shape]
    ) -> tuple[list[str], list[str], list[str]]:
        """Do as `init_model`, with the shapes of the inputs in a dict.

        >>> import rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"))
        >>> _ = model.give_values(mx.init.One(), overwrite=False, inputs={"data": (8, 3)})
        >>> model.arg_params["fc_weight"].shape
        (2, 3)
        """
        arg_names, aux_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        for name in inputs:
            if name not in arg_names:
                raise NameLookupError(
                    f"FeedForward.init_model: inputs must be arguments of the network; got {name!r}. "
                    f"Arguments: {', '.join(arg_names)}."
                )
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**inputs)
        if arg_shapes is None or aux_shapes is None:
            raise ShapeError(
                f"FeedForward.init_model: all shapes must follow from those of the inputs; got {inputs}"
            )
        params = {
            name: shape
            for name, shape in zip(arg_names, arg_shapes, strict=True)
            if name not in inputs and shape is not None
        }
        aux = {name: shape for name, shape in zip(aux_names, aux_shapes, strict=True) if shape is not None}
        fill = as_initializer(
            self.initializer if initializer is None else initializer, "FeedForward: initializer"
        )
        self.arg_params, self.aux_params = (
            self._first_values(shapes, {} if overwrite or have is None else have, fill, inputs)
            for shapes, have in ((params, self.arg_params), (aux, self.aux_params))
        )
        return arg_names, list(params), aux_names

    def _first_values(
        self,
        shapes: Mapping[str, Shape],
        have: Mapping[str, NDArray],
        fill: Filler | None,
        inputs: Mapping[str, Shape],
    ) -> ArrayDict:
        """Return the existing arrays that fit, and new ones instead of the others."""
        attributes = self.symbol.attr_dict()
        found = {}
        for name, shape in shapes.items():
            value = have.get(name)
            # The caller's values stay as they are; the model gets a new one.
            if value is not None and value.shape != shape:
                given = ", ".join(f"{each!r} {size}" for each, size in inputs.items())
                warn_user(
                    f"FeedForward: {name!r} has shape {value.shape}, the network needs {shape} for inputs of the "
                    f"shapes {given}; it is initialized again, and its trained values are lost. Was the model trained "
                    "on inputs of another width?"
                )
                value = None
            if value is None:
                value = zeros(shape)
                if fill is not None:
                    fill(InitDesc(name, attributes.get(name)), value)
            found[name] = value
        return found

    def rewind_schedule(self) -> None:
        """Let the learning-rate schedule begin where it was when the model was made.

        >>> import rebind as mx
        >>> schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
        >>> model = mx.model.FeedForward(mx.sym.var("data"), lr_scheduler=schedule)
        >>> schedule(3), schedule.base_lr
        (0.25, 0.25)
        >>> model.rewind_schedule()
        >>> schedule.base_lr
        1.0
        """
        schedule = self.kwargs.get("lr_scheduler")
        if self._schedule_start is not None and isinstance(schedule, LRScheduler):
            schedule.load_state_dict(self._schedule_start)

    def _need_params(self, who: str) -> tuple[ArrayDict, ArrayDict]:
        if self.arg_params is None:
            raise StateError(
                f"FeedForward.{who}() needs weights; call fit(), init_model() or load_checkpoint() first, or make the "
                "model with FeedForward.load()"
            )
        return self.arg_params, self.aux_params or {}

    # Files.

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write ``prefix-symbol.json`` and ``prefix-0010.params``; each file whole or not at all.

        Parameters
        ----------
        prefix
            Where the files go, and how their names begin.
        epoch
            The number in the name; by default `num_epoch`.
        remove_amp_cast
            Whether to leave out the casts that mixed precision put in.

        Examples
        --------
        >>> import os, tempfile, rebind as mx
        >>> model = mx.model.FeedForward(
        ...     mx.sym.var("data") * mx.sym.var("w"), arg_params={"w": mx.nd.ones((1,))}
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/net", epoch=10)
        ...     sorted(os.listdir(folder))
        ['net-0010.params', 'net-symbol.json']
        """
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise ParameterError("FeedForward.save: needs epoch, the number in the file's name")
        params = self._need_params("save")
        checkpoint.save_checkpoint(prefix, epoch, self.symbol, *params, remove_amp_cast=remove_amp_cast)

    @classmethod
    def load(
        cls: type[Model], prefix: str, epoch: int, ctx: Device | Sequence[Device] | None = None, **kwargs: Any
    ) -> Model:
        """Return a model from the files that `save` wrote; `fit` continues with the epoch after that.

        Parameters
        ----------
        prefix, epoch
            Name the files.
        ctx
            A device or a list of devices.
        **kwargs
            For the constructor.

        Examples
        --------
        >>> import tempfile, rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.model.save_checkpoint(f"{folder}/net", 10, mx.sym.var("w"), {"w": mx.nd.ones((1,))}, {})
        ...     model = mx.model.FeedForward.load(f"{folder}/net", 10)
        >>> list(model.arg_params), model.begin_epoch
        (['w'], 10)
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        return cls(
            symbol,
            ctx=ctx,
            arg_params=arg_params,
            aux_params=aux_params,
            **{"begin_epoch": epoch, **kwargs},  # the caller's own begin_epoch wins
        )

    def save_checkpoint(self, prefix: str, state: TrainingState | int) -> None:
        """Write the model's files; `state` is the one that callbacks get, or the number of finished epochs."""
        self.save(prefix, int(state.curr_epoch if isinstance(state, TrainingState) else state))

    def load_checkpoint(
        self: Model, prefix: str, epoch: int, overwrite: bool = True, allow_different_arch: bool = False
    ) -> Model:
        """Load the parameters from a checkpoint's files, and return the model. `begin_epoch` does not change.

        Parameters
        ----------
        prefix, epoch
            Name the files.
        overwrite
            With False, a model that has parameters is left as it is.
        allow_different_arch
            Whether the checkpoint may hold another network, which then replaces the model's.

        Examples
        --------
        >>> import tempfile, rebind as mx
        >>> model = mx.model.FeedForward(mx.sym.var("w"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.model.save_checkpoint(f"{folder}/net", 10, model.symbol, {"w": mx.nd.array([3])}, {})
        ...     model.load_checkpoint(f"{folder}/net", 10).arg_params["w"].item()
        3.0
        """
        if self.arg_params is not None and not overwrite:
            log().warning(
                "FeedForward.load_checkpoint: the model has weights already, so nothing is loaded; "
                "leave out overwrite=False to load those of %s",
                checkpoint.params_path(prefix, epoch),
            )
            return self
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        # Both as they are read from a file, so that what is not written to one makes no difference.
        if symbol.tojson() != load_json(self.symbol.tojson()).tojson():
            if not allow_different_arch:
                raise ParameterError(
                    f"FeedForward.load_checkpoint: {checkpoint.symbol_path(prefix)} must hold this model's network; it "
                    "holds another one. Set allow_different_arch=True to load that too."
                )
            self.symbol = symbol
        self.arg_params, self.aux_params = arg_params, aux_params
        if self.allow_extra_params:
            self._drop_extra(self.arg_params, self.symbol.list_arguments())
            self._drop_extra(self.aux_params, self.symbol.list_auxiliary_states())
        return self


def _devices(ctx: Device | Sequence[Device] | None) -> list[Device]:
    return as_devices(ctx, "FeedForward: ctx")


def _at_least_one(name: str, value: Number) -> Number:
    check_kind("FeedForward", or_none(NUMBER), **{name: value})
    if value is not None and value < 1:
        raise ParameterError(f"FeedForward: {name} must be >= 1; got {value!r}")
    return value
