"""Descriptions of inputs and labels: read, checked, and made for a batch that has none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..checks import LIST, Kind, check_kind, or_none, warn_user
from ..errors import ArgumentError, NameLookupError, near_names, shown
from ..io import DataDesc
from ..protocols import ShapeSpec
from ..shapes import HasShape

__all__ = ["Shapes", "as_names", "check_names", "described", "have_shapes", "read_descs"]

#: What `bind` takes: `DataDesc` records, or pairs of name and shape.
Shapes: TypeAlias = Sequence[DataDesc | ShapeSpec]

_DESCS = Kind(
    "a list of DataDesc records or pairs (name, shape)",
    lambda value: LIST.allows(value) and not hasattr(value, "provide_data") and not hasattr(value, "keys"),
)


def read_descs(shapes: Shapes | None, who: str) -> list[DataDesc]:
    """Return `DataDesc` records from records, or pairs of name and shape.

    >>> read_descs([("data", (4, 3))], "data_shapes")[0].layout
    'NCHW'
    """
    check_kind("bind", or_none(_DESCS), **{who: shapes})
    descs = []
    for item in shapes or ():
        if isinstance(item, DataDesc):
            descs.append(item)
        elif isinstance(item, (tuple, list)) and 2 <= len(item) <= 4:  # dtype and layout may follow
            descs.append(DataDesc(*item))
        else:
            raise ArgumentError(
                f"bind: {who} must hold DataDesc records or pairs (name, shape); got {item!r} in {shown(shapes)}"
            )
    return descs


def as_names(names: Sequence[str] | str | None) -> Sequence[str]:
    """Return a list of names; one name is a list of it.

    >>> as_names("data"), as_names(("a", "b")), as_names(None)
    (['data'], ('a', 'b'), ())
    """
    if names is None:
        return ()
    return [names] if isinstance(names, str) else names


def check_names(names: Iterable[str], known: Iterable[str], kind: str, *, must: bool) -> None:
    """Raise an error (or, without `must`, warn) for names that the symbol does not have.

    >>> check_names(["data"], ["data", "fc_weight"], "Module: data_names", must=True)
    """
    known = list(known)
    for name in names:
        if name not in known:
            # As in MXNet, what has the name of a parameter is left out.
            inputs = [each for each in known if not each.endswith(("_weight", "_bias", "_gamma", "_beta"))]
            listed = f" Inputs and labels: {', '.join(map(repr, inputs[:12]))}." if inputs else ""
            text = f"{kind}: the symbol has no argument {name!r}{near_names(name, known)}{listed}"
            if must:
                raise NameLookupError(text)
            warn_user(f"{text} It is given no labels.")


def have_shapes(arrays: Sequence[HasShape], descs: Sequence[DataDesc] | None) -> bool:
    """Return whether arrays have the described shapes.

    >>> import rebind as mx
    >>> have_shapes([mx.nd.ones((2, 3))], [DataDesc("data", (2, 3))])
    True
    """
    if descs is None:
        return False
    # A list inside: a generator costs twice as much, and each batch comes through here.
    return all([tuple(value.shape) == desc.shape for value, desc in zip(arrays, descs, strict=False)])


def described(arrays: Sequence[HasShape], like: Sequence[DataDesc], own: Shapes | None) -> list[DataDesc]:
    """Return descriptions of a batch's arrays: its `own` if it has some, else `like` with the arrays' shapes.

    >>> import rebind as mx
    >>> described([mx.nd.ones((2, 3))], [DataDesc("data", (8, 3))], None)[0].shape
    (2, 3)
    """
    if own:
        return read_descs(own, "provide_data and provide_label")
    return [
        DataDesc(desc.name, tuple(value.shape), desc.dtype, desc.layout)
        for desc, value in zip(like, arrays, strict=False)
    ]
