"""Which rows of row_sparse parameters a batch needs, as a program's own function names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ..checks import warn_user
from ..errors import ArgumentError, ParameterError, near_names, shown
from ..ndarray import NDArray
from .batches import AnyBatch
from .settings import RowIds, RowIdsOfParameter

__all__ = ["row_ids_of", "rows_of_each", "rows_to_pull", "warn_all_rows"]


class HasParameters(Protocol):
    """A module, as far as its parameters' names matter."""

    def parameter_names(self) -> list[str]: ...


def row_ids_of(row_id_fn: RowIds, batch: AnyBatch) -> Mapping[str, RowIdsOfParameter]:
    """Return what a ``sparse_row_id_fn`` names for a batch.

    >>> import rebind as mx
    >>> batch = mx.io.DataBatch([mx.nd.array([3, 1])])
    >>> list(row_ids_of(lambda batch: {"embed_weight": batch.data[0]}, batch))
    ['embed_weight']
    """
    found = row_id_fn(batch)  # type: ignore[arg-type]  # batches that are sliced already too
    if not isinstance(found, Mapping):
        raise ArgumentError(
            "Module.prepare: sparse_row_id_fn must return a dict from names of parameters to arrays of row ids; got "
            f"{shown(found)}"
        )
    return found


def rows_to_pull(
    row_ids: Mapping[str, RowIdsOfParameter], parameters: Mapping[str, Sequence[NDArray]]
) -> dict[str, RowIdsOfParameter]:
    """Return the row ids of row_sparse parameters; of dense ones, which are pulled whole, it warns.

    >>> import rebind as mx
    >>> weight = mx.nd.zeros((4, 1), stype="row_sparse")
    >>> list(rows_to_pull({"w": mx.nd.array([3])}, {"w": [weight], "bias": [mx.nd.zeros((1,))]}))
    ['w']
    """
    found: dict[str, RowIdsOfParameter] = {}
    for name, ids in row_ids.items():
        if name not in parameters:
            raise _unknown(name, parameters)
        if parameters[name][0].stype == "row_sparse":
            # A list of one array is for all devices.
            found[name] = ids[0] if isinstance(ids, (list, tuple)) and len(ids) == 1 else ids
        else:
            warn_user(
                f"Module.prepare: sparse_row_id_fn must name row_sparse parameters; got {name!r} of storage type "
                f"{parameters[name][0].stype!r}, of which all rows are pulled"
            )
    return found


def rows_of_each(
    row_ids: Mapping[str, RowIdsOfParameter], modules: Sequence[HasParameters]
) -> list[dict[str, RowIdsOfParameter]]:
    """Return for each module the row ids of its own parameters."""
    own = [set(module.parameter_names()) for module in modules]
    for name in row_ids:
        if not any(name in names for names in own):
            raise _unknown(name, set().union(*own))
    return [{name: ids for name, ids in row_ids.items() if name in names} for names in own]


def _unknown(name: str, known: Iterable[str]) -> ParameterError:
    return ParameterError(
        f"Module.prepare: sparse_row_id_fn must return names of parameters; got {name!r}{near_names(name, known)}"
    )


def warn_all_rows() -> None:
    """Warn of a ``sparse_row_id_fn`` where nothing is pulled."""
    warn_user(
        "Module.prepare: sparse_row_id_fn has no effect: it says which rows to pull from a store that updates the "
        "weights, and here each device updates its own and has all rows"
    )
