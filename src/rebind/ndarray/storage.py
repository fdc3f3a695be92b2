"""How the values of an array are held: `Storage`, its dense kind, and the registry of kinds.

A storage is one tensor or several (`members`): the first holds the values, the others are integers that say which
values they are. Arrays, executors, stores and optimizers use the few operations of `Storage`; all of them have a
definition by way of the dense form, so that a new kind defines how it is made from a dense tensor and how it is made
dense, and overrides what it does better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from .. import huge_pages
from ..errors import UnknownArgumentError
from ..grad_mode import grad_mode
from ..ops.nn.memory_order import FORMATS
from ..ops.storage_types import DENSE, add_storage_type, storage_name
from .row_copies import copy_rows
from .sending import send

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..device import Device

__all__ = [
    "CONTIGUOUS", "DenseStorage", "Storage", "convert", "has_storage_kind", "kind_or_dense", "register_storage",
    "storage_kind", "storage_kind_by_number",
]  # fmt: skip


#: The layout of a tensor whose values are in the order of its axes.
CONTIGUOUS = torch.contiguous_format


class Holder(Protocol):
    """An array, as far as storages know of it."""

    storage: Storage

    def __init__(self, tensor: Storage, device: Device | None = None) -> None: ...


class Storage(ABC):
    """The tensors behind an array.

    A kind of storage is a subclass with a name (`stype`), its number in files (`number`) and the names of its tensors
    (`members`, the values first), registered with `register_storage`. It is constructed from its members, or from
    whatever it likes if it overrides `from_members`.

    Attributes
    ----------
    shared
        Whether a view of the memory may exist: then new content is written into it, and the memory never exchanged.
    array_class
        The class of arrays with this storage; `NDArray` where a kind has none of its own.

    Examples
    --------
    An array that is stored negated:

    >>> class Negated(Storage):
    ...     stype, number = "negated", 90
    ...
    ...     def __init__(self, data):
    ...         super().__init__()
    ...         self.data = data
    ...
    ...     @property
    ...     def shape(self):
    ...         return tuple(self.data.shape)
    ...
    ...     @classmethod
    ...     def from_dense(cls, tensor):
    ...         return cls(-tensor)
    ...
    ...     def to_dense(self):
    ...         return -self.data
    >>> import rebind as mx
    >>> a = mx.nd.NDArray(Negated.from_dense(torch.ones(2)))
    >>> a[0] = 5
    >>> a.storage.tensors["data"].tolist(), a.asnumpy().tolist()
    ([-5.0, -1.0], [5.0, 1.0])

    Registered, it is also what ``mx.nd.zeros((2,), stype="negated")`` and ``x.tostype("negated")`` make.
    """

    __slots__ = ("shared",)

    stype: ClassVar[str]
    number: ClassVar[int]
    members: ClassVar[tuple[str, ...]] = ("data",)
    array_class: ClassVar[type[Holder]]

    shared: bool

    def __init__(self) -> None:
        self.shared = False

    # What each kind defines.

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The size of each axis of the array."""

    @classmethod
    @abstractmethod
    def from_dense(cls, tensor: Tensor) -> Self:
        """Return a storage with the values of a dense tensor; it may share its memory.

        >>> DenseStorage.from_dense(torch.ones(2)).tensors
        {'data': tensor([1., 1.])}
        """

    @abstractmethod
    def to_dense(self) -> Tensor:
        """Return the values as one dense tensor, which is for reading only."""

    # What is derived from that; a kind overrides what it does better.

    @classmethod
    def from_members(cls, shape: Sequence[int], members: Sequence[Tensor]) -> Self:
        """Return a storage around tensors in the order of `members`; for kinds whose shape follows from them.

        >>> DenseStorage.from_members((2,), [torch.ones(2)]).tensor
        tensor([1., 1.])
        """
        return cls(*members)

    @classmethod
    def from_storage(cls, source: Storage) -> Self:
        """Return `source` itself if it is of this kind, else its values in this kind, by way of dense.

        All conversions between kinds go through here.

        >>> dense = DenseStorage(torch.ones(2))
        >>> DenseStorage.from_storage(dense) is dense
        True
        """
        return source if isinstance(source, cls) else cls.from_dense(source.to_dense())

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Self:
        """Return a storage of zeros.

        >>> DenseStorage.zeros((2,), torch.int32, torch.device("cpu")).tensor
        tensor([0, 0], dtype=torch.int32)
        """
        return cls.from_dense(huge_pages.full(tuple(shape), 0, dtype, device))

    def zeros_like(
        self,
        shape: Sequence[int] | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
    ) -> Self:
        """Return zeros in the same kind, and in the same shape, type and device where nothing else is given.

        >>> DenseStorage(torch.ones(2)).zeros_like(dtype=torch.int32).tensor
        tensor([0, 0], dtype=torch.int32)
        """
        return self.zeros(
            self.shape if shape is None else shape,
            dtype or self.dtype,
            self.device if device is None else device,
        )

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, the values first.

        >>> DenseStorage(torch.ones(2)).tensors
        {'data': tensor([1., 1.])}
        """
        return {name: getattr(self, name) for name in self.members}

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self._values.dtype

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self._values.device

    @property
    def _values(self) -> Tensor:
        values: Tensor = getattr(self, self.members[0])
        return values

    @property
    def nbytes(self) -> int:
        """The memory of all tensors, in bytes.

        >>> DenseStorage(torch.ones(2)).nbytes
        8
        """
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def to(
        self, device: torch.device | None = None, dtype: torch.dtype | None = None, copy: bool = False
    ) -> Self:
        """Return the storage on another device or with another type; itself where nothing changes, unless `copy`.

        >>> DenseStorage(torch.ones(2)).to(dtype=torch.int32).tensor
        tensor([1, 1], dtype=torch.int32)
        """
        device = self.device if device is None else device
        dtype = self.dtype if dtype is None else dtype
        if not copy and device == self.device and dtype is self.dtype:
            return self
        # Only the values are cast: the other tensors are indices.
        values, *others = self.tensors.values()
        members = [
            values.detach().to(device, dtype, copy=copy),
            *[index.to(device, copy=copy) for index in others],
        ]
        return self._with_members(members)

    def _with_members(self, members: Sequence[Tensor]) -> Self:
        """Return a storage of the same shape around other tensors that fit together as these do."""
        return self.from_members(self.shape, members)

    def copy(self) -> Self:
        """Return a copy with memory of its own.

        >>> dense = DenseStorage(torch.ones(2))
        >>> dense.copy().tensor is dense.tensor
        False
        """
        return self.to(copy=True)

    def write(self, source: Storage) -> None:
        """Copy the values of `source`, converted to this kind, type and device."""
        converted = self.from_storage(source)
        self._adopt(
            converted.to(self.device, self.dtype, copy=converted is source)
        )  # a conversion has made a copy already

    def accumulate(self, source: Storage) -> None:
        """Add the values of `source`, in place."""
        added = source.to_dense().detach().to(self.device)
        # By way of dense values; a kind that can add its own does.
        self.write(DenseStorage(self.to_dense() + added))

    def divide(self, number: float) -> None:
        """Divide the values by a number, in place.

        >>> dense = DenseStorage(torch.ones(2))
        >>> dense.divide(2)
        >>> dense.tensor
        tensor([0.5000, 0.5000])
        """
        rows = self.row_indices
        if rows is None:
            rows = torch.arange(self.shape[0], device=self.device)
        self.write_rows(rows, self.rows(rows) / number)

    def exchange(self, source: Storage) -> bool:
        """Take over the tensors of `source` without a copy; return whether that was possible.

        It is not where a view of the old memory may exist, or where kind or type differ; use `write` then.
        Nobody else may write into `source` afterwards.

        >>> old, new = DenseStorage(torch.ones(2)), DenseStorage(torch.zeros(2))
        >>> old.exchange(new), old.tensor is new.tensor
        (True, True)
        """
        if self.shared or type(source) is not type(self) or source.dtype is not self.dtype:
            return False
        self._adopt(source)
        return True

    def _adopt(self, source: Self) -> None:
        for name in self.members:
            setattr(self, name, getattr(source, name))

    @property
    def row_indices(self) -> Tensor | None:
        """Which rows have values, where others are absent, and zero; None where all have."""
        return None

    def present_rows(self) -> tuple[Tensor, Tensor] | None:
        """Return which rows have values, each once, and these rows as a dense tensor; None where all have.

        >>> DenseStorage(torch.ones(2)).present_rows() is None
        True
        """
        indices = self.row_indices
        return None if indices is None else (indices, self.rows(indices))

    def write_rows(self, indices: Tensor, values: Tensor) -> None:
        """Write a dense tensor into the rows at `indices`, which are all different.

        >>> storage = DenseStorage(torch.zeros(3, 1))
        >>> storage.write_rows(torch.tensor([2]), torch.ones(1, 1))
        >>> storage.tensor.flatten()
        tensor([0., 0., 1.])
        """
        # By way of dense values; a kind that can write its own rows does.
        dense = self.to_dense().detach().index_copy(0, indices, values)
        self.write(DenseStorage(dense))

    def rows(self, indices: Tensor) -> Tensor:
        """Return the rows at `indices`, in their order, as a dense tensor.

        >>> DenseStorage(torch.eye(3)).rows(torch.tensor([2, 0]))
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
        """
        return self.to_dense().detach().index_select(0, indices.to(self.device))

    def row_range(self, begin: int, end: int) -> Storage:
        """Return the rows from `begin` up to `end`; they may share its memory.

        >>> DenseStorage(torch.eye(3)).row_range(1, 2).to_dense()
        tensor([[0., 1., 0.]])
        """
        return DenseStorage(self.to_dense()[begin:end])

    def retain(self, indices: Tensor) -> Self:
        """Return a storage of the same shape and kind with the rows at `indices`; all others are 0.

        >>> DenseStorage(torch.ones(3, 1)).retain(torch.tensor([2, 0])).tensor.flatten()
        tensor([1., 0., 1.])
        """
        dense = self.to_dense().detach()
        retained = torch.zeros_like(dense)
        where = indices.to(self.device)
        retained[where] = dense.index_select(0, where)
        return self.from_dense(retained)


class DenseStorage(Storage):
    """One tensor with every value of the array.

    Convolutions are quickest with the channels of their filters last in memory, and give gradients in that layout.
    Filters, gradients and the optimizer's states stay in it from step to step, as long as nothing else reads them:
    who asks for `tensor` finds them in the order of the axes.

    Attributes
    ----------
    memory
        The tensor as it is in memory.
    layout
        The order of its values there: PyTorch's contiguous format, or one with the channels last.

    Examples
    --------
    >>> storage = DenseStorage(torch.ones(2))
    >>> storage.accumulate(DenseStorage(torch.ones(2)))
    >>> storage.tensor, storage.nbytes
    (tensor([2., 2.]), 8)
    >>> filters = DenseStorage(torch.ones(2, 3, 4, 4))
    >>> filters.put_channels_last(), filters.layout, filters.memory.stride()
    (True, torch.channels_last, (48, 1, 12, 3))
    >>> filters.tensor.stride(), filters.layout
    ((48, 16, 4, 1), torch.contiguous_format)
    """

    __slots__ = ("layout", "memory")

    stype = DENSE
    number = 0
    members = ("tensor",)
    memory: Tensor
    layout: torch.memory_format

    def __init__(self, tensor: Tensor, shared: bool = False) -> None:
        self.memory = tensor
        self.layout = CONTIGUOUS
        self.shared = shared

    @property
    def tensor(self) -> Tensor:
        """The tensor, in the order of the axes."""
        return self.memory if self.layout is CONTIGUOUS else self.materialize()

    @tensor.setter
    def tensor(self, value: Tensor) -> None:
        self.memory, self.layout = value, CONTIGUOUS

    def materialize(self) -> Tensor:
        """Put the values in the order of the axes, and return them."""
        if self.layout is not CONTIGUOUS:
            self.tensor = self.memory.contiguous()
        return self.memory

    def put_channels_last(self) -> bool:
        """Put the channels (axis 1) last in memory; return whether they are.

        They are not where a view of the memory may exist, or a record of how the values were computed.

        >>> [
        ...     DenseStorage(torch.ones(2, 3, 4, 4), shared=shared).put_channels_last()
        ...     for shared in (False, True)
        ... ]
        [True, False]
        """
        layout = FORMATS.get(self.memory.dim())
        if layout is None:
            return False
        if self.layout is CONTIGUOUS and not self.shared and not self.memory.requires_grad:
            self.adopt(self.memory.contiguous(memory_format=layout))
        return self.memory.is_contiguous(memory_format=layout)

    def adopt(self, tensor: Tensor) -> None:
        """Take a new tensor, in the layout that it has; one that has neither layout is put in order.

        >>> storage = DenseStorage(torch.zeros(2, 3))
        >>> storage.adopt(torch.ones(3, 2).T)
        >>> storage.memory.is_contiguous()
        True
        """
        layout = FORMATS.get(tensor.dim())
        if layout is None or tensor.is_contiguous() or not tensor.is_contiguous(memory_format=layout):
            self.tensor = tensor.contiguous()
        else:
            self.memory, self.layout = tensor, layout

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis, as torch's kind of tuple."""
        return self.memory.shape

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensor, as ``data``."""
        return {"data": self.tensor}

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self.memory.dtype

    @property
    def device(self) -> torch.device:
        """The tensor's device."""
        return self.memory.device

    def _adopt(self, source: Self) -> None:
        self.memory, self.layout = source.memory, source.layout

    @classmethod
    def from_dense(cls, tensor: Tensor) -> Self:
        """Return a storage around the tensor."""
        return cls(tensor)

    def to_dense(self) -> Tensor:
        """Return the tensor itself.

        >>> dense = DenseStorage(torch.ones(2))
        >>> dense.to_dense() is dense.tensor
        True
        """
        return self.memory if self.layout is CONTIGUOUS else self.materialize()

    def write(self, source: Storage) -> None:
        """Copy the values of `source`, converted to this type, into the tensor.

        >>> dense = DenseStorage(torch.zeros(2))
        >>> dense.write(DenseStorage(torch.tensor([3, 4])))
        >>> dense.tensor
        tensor([3., 4.])
        """
        with grad_mode(False):
            # Detached: a write outside of any record must not become part of one.
            send(source.to_dense(), self.tensor.detach())

    def divide(self, number: float) -> None:
        """Divide the values by a number, in place."""
        self.tensor.detach().div_(number)

    def write_rows(self, indices: Tensor, values: Tensor) -> None:
        """Write a dense tensor into the rows at `indices`."""
        copy_rows(self.tensor, indices, values)

    def accumulate(self, source: Storage) -> None:
        """Add the values of `source`, in place.

        >>> dense = DenseStorage(torch.ones(2))
        >>> dense.accumulate(DenseStorage(torch.tensor([3, 4])))
        >>> dense.tensor
        tensor([4., 5.])
        """
        rows = source.row_indices
        with grad_mode(False):
            if rows is not None:  # the others are 0
                added = source.rows(rows).to(self.device, self.dtype)
                self.tensor.detach().index_add_(0, rows.to(self.device), added)
                return
            added = source.to_dense().to(self.tensor.device)
            if added.dtype is self.tensor.dtype:
                self.tensor.detach().add_(added)
            else:  # torch adds in the wider type, and in place only where that casts back
                self.tensor.detach().copy_(self.tensor + added)


Kind = TypeVar("Kind", bound=type[Storage])

_KINDS: dict[str, type[Storage]] = {}


def register_storage(kind: Kind) -> Kind:
    """Register a kind of storage under its name and number; a decorator, see `Storage`."""
    add_storage_type(kind.stype, kind.number)
    _KINDS[kind.stype] = kind
    return kind


register_storage(DenseStorage)


def storage_kind(stype: str, who: str) -> type[Storage]:
    """Return the kind of storage with a name.

    >>> storage_kind("default", "nd.zeros: stype").__name__
    'DenseStorage'
    """
    kind = _KINDS.get(stype)
    if kind is None:
        names = " or ".join(map(repr, _KINDS))
        raise UnknownArgumentError(f"{who} must be {names}; got {stype!r}.")
    return kind


def has_storage_kind(stype: str) -> bool:
    """Return whether arrays can be of a storage type.

    >>> [has_storage_kind(stype) for stype in ("default", "columns")]
    [True, False]
    """
    return stype in _KINDS


def storage_kind_by_number(number: int) -> type[Storage] | None:
    """Return the kind of storage with a number in files; None where none is registered.

    >>> storage_kind_by_number(0).__name__
    'DenseStorage'
    """
    return _KINDS.get(storage_name(number) or "")


def kind_or_dense(stype: str) -> type[Storage]:
    """Return the kind of storage with a name; dense where the storage type is only known by name.

    >>> kind_or_dense("columns").__name__
    'DenseStorage'
    """
    return _KINDS.get(stype, DenseStorage)


def convert(storage: Storage, stype: str, who: str = "stype") -> Storage:
    """Convert a storage to another kind; the storage itself if it is of that kind.

    >>> convert(DenseStorage(torch.ones(2)), "default").stype
    'default'
    """
    return storage_kind(stype, who).from_storage(storage)
