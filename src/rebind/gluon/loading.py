"""Giving parameters the arrays of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..errors import NameLookupError, ParameterError, near_names, shown
from ..ndarray import NDArray, load
from .arrays import Devices, ParameterArrays

__all__ = ["load_arrays", "named_arrays", "without_kind"]


def without_kind(name: str) -> str:
    """Return a name without the ``arg:`` or ``aux:`` of a checkpoint.

    >>> without_kind("arg:fc_weight"), without_kind("fc_weight")
    ('fc_weight', 'fc_weight')
    """
    return name[4:] if name.startswith(("arg:", "aux:")) else name


def named_arrays(filename: str | os.PathLike) -> dict[str, NDArray]:
    """Return the arrays of a file by name."""
    found = load(filename)
    if not isinstance(found, dict):
        raise ParameterError(f"load: '{filename}' must hold arrays with names; they have none")
    return found


def load_arrays(
    params: Mapping[str, ParameterArrays],
    found: Mapping[str, NDArray],
    source: str,
    ctx: Devices,
    *,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """Give parameters the arrays of their names; check that neither has more than the other."""
    # Of a parameter that several names lead to, one is enough.
    given = {id(params[name]) for name in found if name in params}
    missing = [name for name in params if id(params[name]) not in given]
    if missing and not allow_missing:
        raise NameLookupError(
            f"load: {source} must have an array for each parameter; there is none for {shown(missing)}"
            f"{near_names(missing[0], found)} It has {shown(list(found))}. allow_missing=True leaves such as they are."
        )
    extra = [name for name in found if name not in params]
    if extra and not ignore_extra:
        raise NameLookupError(
            f"load: {source} has arrays for which there is no parameter: {shown(extra)}"
            f"{near_names(extra[0], params)} ignore_extra=True ignores such."
        )
    for name in params:
        if name in found:
            params[name].load_array(found[name], ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
