"""Mistakes in calls of a module, in sentences: data, labels and values that do not fit the network."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Sequence

from ..checks import warn_user
from ..errors import (
    ArgumentError,
    NameLookupError,
    ParameterError,
    ShapeError,
    shown,
)
from ..executor import DataParallelExecutorGroup, SharedArgumentError
from ..io import DataDesc
from ..symbol import Symbol
from .parameters import Parameters, Trained
from .settings import Binding, InitialValues

__all__ = [
    "check_arrays", "check_shared", "data_error", "described_values", "explained_labels", "fitting_weights",
    "no_batch", "not_a_symbol", "warn_bound", "warn_no_labels", "warn_without_gradients",
]  # fmt: skip


def not_a_symbol(given: object) -> ArgumentError:
    """Return the error for a module of something that is no symbol.

    >>> print(not_a_symbol("resnet-8"))
    Module: symbol must be a Symbol; got 'resnet-8'. For the network in a file: mx.sym.load('resnet-8-symbol.json'),...
    >>> print(not_a_symbol([1]))
    Module: symbol must be a Symbol; got list. Several outputs are one symbol: mx.sym.Group([a, b]).
    """
    if isinstance(given, str):
        more = (
            f" For the network in a file: mx.sym.load('{given}-symbol.json'), or Module.load(prefix, epoch) with "
            "its parameters."
        )
        return ArgumentError(f"Module: symbol must be a Symbol; got {given!r}.{more}")
    more = (
        " Several outputs are one symbol: mx.sym.Group([a, b])." if isinstance(given, (list, tuple)) else ""
    )
    return ArgumentError(f"Module: symbol must be a Symbol; got {type(given).__name__}.{more}".rstrip())


def no_batch(given: object) -> ArgumentError:
    """Return the error for what is no batch: an array, or what a dict or a list of numbers yields.

    >>> print(no_batch("data"))
    Module.forward: a batch must have data, a list of arrays; got str. Arrays, or a dict of them by input, go into ...
    """
    return ArgumentError(
        f"Module.forward: a batch must have data, a list of arrays; got {type(given).__name__}. Arrays, or a dict of "
        "them by input, go into an io.NDArrayIter; those of one batch into io.DataBatch([array])."
    )


def warn_no_labels(names: Sequence[str]) -> None:
    """Warn of training on a batch without labels; a program may have written them into the bound arrays itself.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_no_labels(["softmax_label"])
    >>> print(caught[0].message)
    Module.backward: the batch must have labels, 'softmax_label'; got none, so the values that the bound arrays hold ...
    """
    warn_user(
        f"Module.backward: the batch must have labels, {', '.join(map(repr, names))}; got none, so the values that "
        "the bound arrays hold are used: those of an earlier batch, unless the program wrote others. Give "
        "DataBatch(data, label), or predict with forward(is_train=False)."
    )


def check_arrays(kind: str, arrays: Sequence[object], names: Sequence[str]) -> None:
    """Check that a batch holds arrays.

    >>> check_arrays("data", [None], ["x"])
    Traceback (most recent call last):
    rebind.errors.ArgumentError: Module.forward: data[0] of the batch, 'x', must be an array; got None
    """
    for i, (array, name) in enumerate(zip(arrays, names, strict=False)):
        if isinstance(array, tuple) and len(array) == 2:  # as an iterator's `data` has them
            raise ArgumentError(
                f"Module.forward: {kind}[{i}] must be an array; got a pair, as an iterator holds them. Give a batch of "
                "it: next(iterator)."
            )
        if not hasattr(array, "shape"):
            raise ArgumentError(
                f"Module.forward: {kind}[{i}] of the batch, {name!r}, must be an array; got {shown(array)}"
            )


def data_error(
    error: SharedArgumentError, bound: Sequence[DataDesc], given: Sequence[DataDesc]
) -> ShapeError:
    """Return the error for data that do not fit the weights; not, as binding has it, weights that do not fit the data.

    >>> import rebind as mx
    >>> from rebind.executor import ArraySpec
    >>> import torch
    >>> error = SharedArgumentError("w", ArraySpec((3, 6), torch.float32, mx.cpu()), mx.nd.ones((3, 4)))
    >>> print(data_error(error, [DataDesc("x", (8, 4))], [DataDesc("x", (8, 6))]))
    Module: the data must fit the weights, which are for 'x' (8, 4); got 'x' (8, 6), for which 'w' would have shape ...
    """
    return ShapeError(
        f"{_unfit(bound, given)}, for which {error.name!r} would have shape {error.wanted} instead of {error.found}."
        f"{_transposed(bound, given)}"
    )


@contextlib.contextmanager
def fitting_weights(bound: Sequence[DataDesc], given: Sequence[DataDesc]) -> Iterator[None]:
    """Where weights do not fit arrays in new shapes, name the data; see `data_error`.

    >>> with fitting_weights([DataDesc("x", (8, 4))], [DataDesc("x", (8, 6))]):
    ...     raise ShapeError("w must have shape (3, 6); got (3, 4)")
    Traceback (most recent call last):
    rebind.errors.ShapeError: Module: the data must fit the weights, which are for 'x' (8, 4); got 'x' (8, 6). w ...
    """
    try:
        yield
    except ShapeError as error:
        raise ShapeError(f"{_unfit(bound, given)}. {error}.{_transposed(bound, given)}") from None


def _unfit(bound: Sequence[DataDesc], given: Sequence[DataDesc]) -> str:
    usual, new = (
        ", ".join(f"{desc.name!r} {tuple(desc.shape)}" for desc in descs) for descs in (bound, given)
    )
    which = f", which are for {usual}" if usual else ""
    return f"Module: the data must fit the weights{which}; got {new}"


def _transposed(bound: Sequence[DataDesc], given: Sequence[DataDesc]) -> str:
    """Return a hint where images have their channels last, and the network takes them first, or the other way."""
    for old, new in zip(bound, given, strict=False):
        shape = tuple(new.shape[1:])
        if len(shape) == 3 and shape != tuple(old.shape[1:]):
            # (N, H, W, C) to (N, C, H, W), or back.
            for axes in (0, 3, 1, 2), (0, 2, 3, 1):
                if tuple(new.shape[axis] for axis in axes[1:]) == tuple(old.shape[1:]):
                    return f" Are the channels on another axis? x.transpose{axes} has the right shape."
    return ""


def warn_bound(group: DataParallelExecutorGroup, asked: Binding) -> None:
    """Warn that a second `bind` changes nothing; with the shapes, where they are others."""
    have = [*group.data_shapes, *(group.label_shapes or ())]
    wanted = [*asked.data, *(asked.labels or ())]
    shapes = f"; it is bound to {have}, and was asked for {wanted}" if have != wanted else ""
    warn_user(
        f"Module.bind: already bound, so this call changes nothing{shapes}. Set force_rebind=True to bind again."
    )


def check_shared(parameters: Parameters, owner: Parameters) -> None:
    """Check that a module can use the parameters of another one.

    >>> import rebind as mx
    >>> check_shared(Parameters(["w", "b"], [], [mx.cpu()]), Parameters(["w"], [], [mx.cpu()]))
    Traceback (most recent call last):
    rebind.errors.ParameterError: Module.bind: shared_module must have all parameters of this one; it lacks 'b'
    """
    if missing := parameters.missing_from(owner):
        raise ParameterError(
            f"Module.bind: shared_module must have all parameters of this one; it lacks "
            f"{', '.join(map(repr, missing))}"
        )
    if owner.devices != parameters.devices:
        raise ParameterError(
            f"Module.bind: shared_module must be on the same devices, {parameters.devices}; "
            f"got {owner.devices}"
        )


def warn_without_gradients(trained: Sequence[Trained]) -> None:
    """Warn, where `backward` has not run, unless the program has written gradients itself.

    Networks of stochastic depth count on it: a layer that is left out is updated all the same.

    >>> import warnings, rebind as mx
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_without_gradients([Trained("w", [mx.nd.ones((1,))], [mx.nd.zeros((1,))])])
    >>> str(caught[0].message).partition(":")[0]
    'Module.update'
    """
    gradients = [gradient for each in trained for gradient in each.gradients]
    # Zeros everywhere: nobody has written anything since binding.
    if gradients and not any(gradient.storage.to_dense().any() for gradient in gradients):
        warn_user(
            "Module.update: backward() must run first; it has not run since bind(), so the gradients are zeros. Weight "
            "decay and momentum still change the weights, as in MXNet. Call forward_backward() before update()."
        )


@contextlib.contextmanager
def explained_labels(symbol: Symbol, parameters: Sequence[str], label_names: Sequence[str]) -> Iterator[None]:
    """Where an initializer has no rule for a name, look whether that is a label; see `check_labels_named`.

    >>> import rebind as mx
    >>> with explained_labels(mx.sym.var("x"), [], []):
    ...     pass
    """
    try:
        yield
    except NameLookupError:
        check_labels_named(symbol, parameters, label_names)
        raise


def check_labels_named(symbol: Symbol, parameters: Sequence[str], label_names: Sequence[str]) -> None:
    """Check that no label of a loss counts as a parameter.

    >>> import rebind as mx
    >>> check_labels_named(mx.sym.SoftmaxOutput(mx.sym.var("x"), name="sm"), ["sm_label"], ["softmax_label"])
    Traceback (most recent call last):
    rebind.errors.ParameterError: Module.init_params: 'sm_label' is the label of 'sm', and label_names must hold it; ...
    """
    for node in symbol.graph.nodes:
        for input_name, entry in zip(node.input_names, node.inputs, strict=False):
            name = entry.node.name
            if input_name == "label" and entry.node.is_variable and name in parameters:
                raise ParameterError(
                    f"Module.init_params: {name!r} is the label of {node.name!r}, and label_names must hold it; got "
                    f"{list(label_names)}. Give Module(..., label_names=[{name!r}]), and the iterator the same: "
                    f"NDArrayIter(..., label_name={name!r})."
                )


def described_values(parameters: Parameters, values: InitialValues) -> str:
    """Return in one line which parameters were given no values, and which values are of no parameter.

    >>> import rebind as mx
    >>> values = InitialValues(arg_params={"fc1_weigth": mx.nd.ones((1,))}, allow_missing=True)
    >>> described_values(Parameters(["fc1_weight"], [], [mx.cpu()]), values)
    "not given, so initialized: 'fc1_weight'; given, but not used: 'fc1_weigth' (near 'fc1_weight')"
    """
    pairs = ((parameters.names, values.arg_params), (parameters.aux_names, values.aux_params))
    filled = [name for own, given in pairs if given is not None for name in own if name not in given]
    known = {*parameters.names, *parameters.aux_names}
    unused = [name for _, given in pairs for name in given or () if name not in known]
    if not filled and values.allow_extra:
        return ""
    near = {name: difflib.get_close_matches(name, filled, n=1, cutoff=0.8) for name in unused}
    texts = [f"{name!r} (near {near[name][0]!r})" if near[name] else repr(name) for name in unused]
    found = []
    if filled:
        found.append(f"not given, so initialized: {_listed(list(map(repr, filled)))}")
    if unused:
        found.append(f"given, but not used: {_listed(texts)}")
    return "; ".join(found)


def _listed(texts: Sequence[str], most: int = 8) -> str:
    """Return texts with commas; of many the first, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
