"""What programs import from `mxnet.module.base_module` for modules of their own."""

from __future__ import annotations

from collections.abc import Iterable

from ..checks import warn_user
from ..errors import ParameterError
from ..io import DataDesc
from ..symbol import Symbol
from .descs import Shapes, check_names, read_descs

__all__ = ["_check_input_names", "_check_names_match", "_parse_data_desc"]


def _check_input_names(symbol: Symbol, names: Iterable[str], typename: str, throw: bool) -> None:
    """Raise an error (or, without `throw`, warn) for names that are no arguments of the symbol."""
    check_names(names, symbol.list_arguments(), f"Module({typename}_names)", must=throw)


def _check_names_match(
    data_names: Iterable[str], data_shapes: Iterable[DataDesc], name: str, throw: bool
) -> None:
    """Raise an error (or, without `throw`, warn) when the names of `data_shapes` are not `data_names`."""
    given = [desc.name for desc in data_shapes]
    if sorted(given) != sorted(data_names):
        text = f"{name}_shapes: names must be {name}_names, {list(data_names)}; got {given}"
        if throw:
            raise ParameterError(text)
        warn_user(text)


def _parse_data_desc(
    data_names: Iterable[str], label_names: Iterable[str], data_shapes: Shapes, label_shapes: Shapes | None
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Return both lists of shapes as `DataDesc` records, None for labels that are absent.

    Other names than `data_names` are an error; other labels than `label_names` a warning.
    """
    data = read_descs(data_shapes, "data_shapes")
    _check_names_match(data_names, data, "data", True)
    if label_shapes is None:
        _check_names_match(label_names, [], "label", False)
        return data, None
    # Only a warning: a module predicts without labels.
    labels = read_descs(label_shapes, "label_shapes")
    _check_names_match(label_names, labels, "label", False)
    return data, labels
