"""What the trees of two workers differ in, so that a file holds once what all have in common.

`digests` describes a tree in little space; `difference` compares another tree with that; `patched` makes the other tree
of the first one and their difference. A difference is None where nothing differs, ``{"value": ...}`` where all does,
and otherwise ``{"members": {...}}`` with the differences of members, by key or number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import torch

from ..distributed import JSON
from ..ndarray import NDArray
from ..ndarray.serialization import array_to_bytes
from ..ops.storage_types import DENSE

__all__ = ["Difference", "difference", "digests", "patched", "shared_part"]

Difference: TypeAlias = "dict[str, object] | None"


def digests(tree: object) -> JSON:
    """Return a tree with digests in place of its arrays, numbers and texts.

    >>> digests({"epoch": 3, "weights": [np.zeros(2)]})
    ['dict', {"'epoch'": 'int 3', "'weights'": ['list', {'0': 'ndarray ...'}]}]
    """
    members = _members(tree)
    if members is None:
        return _digest(tree)
    return [_kind(tree), {repr(key): digests(each) for key, each in members.items()}]


def difference(tree: object, other: JSON) -> Difference:
    """Return what of a tree differs from the one that `digests` described.

    >>> difference({"epoch": 3, "loss": 0.5}, digests({"epoch": 3, "loss": 0.25}))
    {'members': {'loss': {'value': 0.5}}}
    """
    members = _members(tree)
    if members is None or not isinstance(other, list):
        return None if members is None and _digest(tree) == other else {"value": tree}
    kind, others = other
    if _kind(tree) != kind or [repr(key) for key in members] != list(cast(dict[str, JSON], others)):
        return {"value": tree}
    found = {
        key: each
        for key, member in members.items()
        if (each := difference(member, cast(dict[str, JSON], others)[repr(key)])) is not None
    }
    return {"members": found} if found else None


def patched(tree: object, change: Difference) -> object:
    """Return the tree that has this difference.

    >>> patched({"epoch": 3, "loss": 0.25}, {"members": {"loss": {"value": 0.5}}})
    {'epoch': 3, 'loss': 0.5}
    """
    if change is None:
        return tree
    if "members" not in change:
        return change["value"]
    changes = cast(dict["str | int", Difference], change["members"])
    members = {key: patched(each, changes.get(key)) for key, each in (_members(tree) or {}).items()}
    return _of_members(tree, members)


def shared_part(tree: object, changes: Sequence[Difference]) -> object:
    """Return a tree without what all of these differences replace.

    >>> shared_part(
    ...     {"epoch": 3, "loss": 0.25}, [{"members": {"loss": {"value": loss}}} for loss in (0.5, 0.75)]
    ... )
    {'epoch': 3, 'loss': None}
    """
    if not changes or any(change is None for change in changes):
        return tree
    given = cast(Sequence[dict[str, object]], changes)
    if all("members" not in change for change in given):
        return None
    if any("members" not in change for change in given):
        return tree
    of_members = [cast(dict["str | int", Difference], change["members"]) for change in given]
    members = {
        key: shared_part(each, [changes.get(key) for changes in of_members])
        for key, each in (_members(tree) or {}).items()
    }
    return _of_members(tree, members)


def _members(tree: object) -> dict[str | int, object] | None:
    """Return the members of a dict, a list or a tuple; None for what has none, and for a list of numbers."""
    if isinstance(tree, Mapping):
        return dict(tree)
    if not isinstance(tree, (list, tuple)):
        return None
    # The state of a random generator is hundreds of numbers, which differ together.
    is_plain = all(isinstance(each, (int, float, str)) for each in tree)
    return None if is_plain else dict(enumerate(tree))


def _of_members(tree: object, members: Mapping[str | int, object]) -> object:
    if isinstance(tree, Mapping):
        return dict(members)
    return tuple(members.values()) if isinstance(tree, tuple) else list(members.values())


def _kind(tree: object) -> str:
    return "dict" if isinstance(tree, Mapping) else "tuple" if isinstance(tree, tuple) else "list"


def _digest(leaf: object) -> str:
    kind = type(leaf).__name__
    if isinstance(leaf, NDArray):
        leaf = leaf.tensor if leaf.stype == DENSE else array_to_bytes(leaf)
    if isinstance(leaf, np.ndarray):
        return f"{kind} {leaf.dtype} {list(leaf.shape)} {_hash(leaf.tobytes())}"
    if isinstance(leaf, torch.Tensor):
        content = leaf.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()
        return f"{kind} {leaf.dtype} {list(leaf.shape)} {_hash(content.data)}"
    if isinstance(leaf, (bytes, bytearray)):
        return f"{kind} {_hash(leaf)}"
    if isinstance(leaf, (list, tuple)):
        return f"{kind} {_hash(repr(leaf).encode())}"
    return f"{kind} {leaf!r}"


def _hash(content: bytes | bytearray | memoryview) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
