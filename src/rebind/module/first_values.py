"""The first values of parameters: given by the user, drawn by an initializer, or those that are there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import torch

from ..checks import warn_user
from ..errors import ArgumentError, ParameterError, ShapeError, near_names
from ..initializer import InitDesc
from ..initializer.base import Filler, as_initializer
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import DenseStorage
from .settings import InitialValues

__all__ = ["first_values", "warn_prefixes"]


def warn_prefixes(names: Iterable[str], given: Mapping[str, NDArray] | None) -> None:
    """Warn of values by the names that they have in files, which are no names of parameters.

    >>> import warnings, rebind as mx
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_prefixes(["fc_weight"], {"arg:fc_weight": mx.nd.ones((1,))})
    >>> print(caught[0].message)
    Module: parameters must be given by their names, without the prefix that they have in a file; got ...
    """
    known = set(names)
    if found := [name for name in given or () if name[:4] in ("arg:", "aux:") and name[4:] in known]:
        warn_user(
            f"Module: parameters must be given by their names, without the prefix that they have in a file; got "
            f"{found[0]!r} for {found[0][4:]!r}. Read the file with module.load_params(fname), or remove "
            f"{found[0][:4]!r}."
        )


def first_values(
    names: Sequence[str],
    arrays: Sequence[Sequence[NDArray]],
    given: Mapping[str, NDArray] | None,
    *,
    values: InitialValues,
    attributes: Mapping[str, Mapping[str, str]],
    known: Collection[str],
    keep: bool,
) -> dict[str, NDArray]:
    """Return a value for each name, on the CPU where it is new.

    Parameters
    ----------
    names, arrays
        The parameters, and their arrays on each device.
    given
        The values that the user gives, by name.
    values
        What else says where they come from.
    attributes
        The attributes of the network's variables, which may name an initializer of their own.
    known
        All names of the network: others among `given` may be a slip of one that is missing.
    keep
        Whether a parameter that nothing fills stays as it is.

    Examples
    --------
    >>> import rebind as mx
    >>> values = InitialValues(initializer=mx.init.One())
    >>> names, arrays = ["w_weight"], [[mx.nd.zeros((2,))]]
    >>> found = first_values(names, arrays, None, values=values, attributes={}, known=names, keep=False)
    >>> found["w_weight"].asnumpy().tolist()
    [1.0, 1.0]
    """
    fill = as_initializer(values.initializer, "init_params: initializer")

    def value_of(name: str, like: NDArray) -> NDArray:
        if given is not None and name in given:
            return _fitting(name, given[name], like)
        if given is not None and not values.allow_missing:
            near = near_names(name, [each for each in given if each not in known])
            raise ParameterError(
                f"Module.init_params: {name!r} is not among the given parameters{near} "
                "Set allow_missing=True to let the initializer fill it."
            )
        if fill is None and keep:  # set_params() over existing values
            return like
        return _filled(like, fill, InitDesc(name, attributes.get(name)))

    likes = {name: each[0] for name, each in zip(names, arrays, strict=True)}
    required = [name for name in names if given is not None and (name in given or not values.allow_missing)]
    # In the order of their names, as in MXNet: an initializer of a program's own may draw random numbers.
    filled = sorted({*names} - {*required})
    found = {name: value_of(name, likes[name]) for name in (*required, *filled)}
    return {name: found[name] for name in names}


def _filled(like: NDArray, fill: Filler | None, desc: InitDesc) -> NDArray:
    # On the CPU: a seed then gives the same values whatever the devices are.
    value: NDArray = wrap(DenseStorage.zeros(like.shape, like.storage.dtype, torch.device("cpu")))
    if fill is not None:
        fill(desc, value)
    if isinstance(like.storage, RowSparseStorage):  # updates find their rows quickest where all are stored
        return wrap(RowSparseStorage.with_all_rows(value.tensor))
    return wrap(like.storage.from_storage(value.storage))


def _fitting(name: str, value: object, like: NDArray) -> NDArray:
    if not isinstance(value, NDArray):
        raise ArgumentError(f"Module.init_params: {name!r} must be an NDArray; got {type(value).__name__}")
    if value.shape != like.shape:
        raise ShapeError(
            f"Module.init_params: {name!r} must have shape {like.shape}; got {value.shape}. The shape follows from the "
            "network and the data that it is bound to: are these of another width than those that it was trained on?"
        )
    return value
