"""Where each array of a batch goes: which slice of it is copied into which device's array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...device import Device
from ...errors import ShapeError
from ...ndarray import NDArray
from ...ndarray.storage import DenseStorage
from ...protocols import ArrayLike, Batch, InputDesc
from .split import Split, as_ndarray, batch_axis

__all__ = ["Copy", "Inputs", "Target", "copies_of", "copy_all"]

#: An array, and what is to be copied into it.
Copy: TypeAlias = "tuple[NDArray, NDArray]"


@dataclass(frozen=True)
class Target:
    """The devices' arrays for one array of a batch.

    Attributes
    ----------
    what
        Its name in errors: ``forward: data 'x'``.
    axis
        Its batch axis; -1: every device gets it whole.
    split
        Which slice of it each device gets.
    arrays
        The devices' arrays.

    Examples
    --------
    >>> import rebind as mx
    >>> first, second = mx.nd.zeros((1,)), mx.nd.zeros((2,))
    >>> target = Target("forward: data 'x'", 0, Split((slice(0, 1), slice(1, 3))), [first, second])
    >>> copy_all(target.copies(mx.nd.array([7, 8, 9])))
    >>> second.asnumpy()
    array([8., 9.], dtype=float32)
    """

    what: str
    axis: int
    split: Split
    arrays: Sequence[NDArray]

    def copies(self, source: ArrayLike) -> list[Copy]:
        """Return what to copy where from a whole batch's array; an error where it does not fit.

        >>> import rebind as mx
        >>> target = Target("x", 0, Split((slice(0, 1), slice(1, 3))), [mx.nd.zeros((1,)), mx.nd.zeros((2,))])
        >>> [source.asnumpy().tolist() for _, source in target.copies(mx.nd.array([7, 8, 9]))]
        [[7.0], [8.0, 9.0]]
        """
        whole = as_ndarray(source)
        return [
            self._checked(array, self.split.take_array(whole, k, self.axis, self.what))
            for k, array in enumerate(self.arrays)
        ]

    def copy_for(self, device: int, source: ArrayLike) -> Copy:
        """Return what to copy from an array that holds one device's samples alone.

        >>> import rebind as mx
        >>> target = Target("x", 0, Split((slice(0, 1), slice(1, 3))), [mx.nd.zeros((1,)), mx.nd.zeros((2,))])
        >>> target.copy_for(1, mx.nd.array([8, 9]))[1].asnumpy()
        array([8., 9.], dtype=float32)
        """
        return self._checked(self.arrays[device], as_ndarray(source))

    def copies_for_each(self, sources: Sequence[ArrayLike]) -> list[Copy]:
        """Return what to copy from a list that holds an array for each device.

        >>> import rebind as mx
        >>> target = Target("x", 0, Split((slice(0, 1), slice(1, 3))), [mx.nd.zeros((1,)), mx.nd.zeros((2,))])
        >>> [
        ...     source.asnumpy().tolist()
        ...     for _, source in target.copies_for_each([mx.nd.array([7]), mx.nd.array([8, 9])])
        ... ]
        [[7.0], [8.0, 9.0]]
        """
        if len(sources) != len(self.arrays):
            raise ShapeError(
                f"{self.what} must have an array for each of {len(self.arrays)} devices; got {len(sources)}"
            )
        return [self.copy_for(k, source) for k, source in enumerate(sources)]

    def _checked(self, array: NDArray, source: NDArray) -> Copy:
        if source.shape != array.shape:
            raise ShapeError(
                f"{self.what} must have shape {array.shape} on {array.device}; got {source.shape}"
            )
        return array, source


@dataclass(frozen=True)
class Inputs:
    """The inputs of one kind, data or labels, on all devices.

    Attributes
    ----------
    kind
        Which of the two; for errors.
    names, axes
        The name and the batch axis of each, in the batch's order.
    split
        Which samples each device gets.
    targets
        Where each is copied, by its position in the batch; what the network does not have is left out.

    Examples
    --------
    >>> import rebind as mx
    >>> arrays = [{"x": mx.nd.zeros((1,))}, {"x": mx.nd.zeros((2,))}]
    >>> data = Inputs.of("data", [mx.io.DataDesc("x", (3,))], Split((slice(0, 1), slice(1, 3))), arrays)
    >>> copy_all(data.copies([mx.nd.array([7, 8, 9])]))
    >>> arrays[1]["x"].asnumpy()
    array([8., 9.], dtype=float32)
    """

    kind: Literal["data", "label"]
    names: list[str]
    axes: list[int]
    split: Split
    targets: Mapping[int, Target]

    @classmethod
    def of(
        cls,
        kind: Literal["data", "label"],
        descs: Sequence[InputDesc],
        split: Split,
        arrays: Sequence[Mapping[str, NDArray]],
    ) -> Inputs:
        """Find the inputs that `descs` describe among the devices' `arrays` by name.

        >>> import rebind as mx
        >>> described = [mx.io.DataDesc("x", (3,)), mx.io.DataDesc("unused", (3,))]
        >>> data = Inputs.of("data", described, Split((slice(0, 3),)), [{"x": mx.nd.zeros((3,))}])
        >>> data.names, list(data.targets)
        (['x', 'unused'], [0])
        """
        names, axes = [desc.name for desc in descs], [batch_axis(desc.layout) for desc in descs]
        targets = {
            i: Target(f"forward: {kind} {name!r}", axis, split, [own[name] for own in arrays])
            for i, (name, axis) in enumerate(zip(names, axes, strict=True))
            if name in arrays[0]
        }
        return cls(kind, names, axes, split, targets)

    @property
    def pairs(self) -> list[list[tuple[slice, NDArray]]]:
        """For each input the slice and the array of each device: the form in which MXNet's programs read them."""
        return [list(zip(self.split.slices, target.arrays, strict=True)) for target in self.targets.values()]

    def copies(self, sources: Sequence[ArrayLike], device: int | None = None) -> list[Copy]:
        """Return what to copy where from the arrays of a whole batch, or of a batch for one `device` alone.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((3,))
        >>> data = Inputs.of("data", [mx.io.DataDesc("x", (3,))], Split((slice(0, 3),)), [{"x": x}])
        >>> [
        ...     (array is x, source.asnumpy().tolist())
        ...     for array, source in data.copies([mx.nd.array([7, 8, 9])])
        ... ]
        [(True, [7.0, 8.0, 9.0])]
        """
        found: list[Copy] = []
        for i, target in self.targets.items():
            if i >= len(sources):
                raise ShapeError(
                    f"forward: the batch must hold {self.kind} {self.names[i]!r}; "
                    f"got {len(sources)} arrays of {self.kind}"
                )
            found += target.copies(sources[i]) if device is None else [target.copy_for(device, sources[i])]
        return found

    def slices_for(self, device: int, values: Sequence[ArrayLike], who: str) -> list[ArrayLike]:
        """Return one device's slices of arrays for a whole batch; those that are not described have axis 0.

        >>> import rebind as mx
        >>> labels = Inputs.of("label", [], Split((slice(0, 1), slice(1, 3))), [{}, {}])
        >>> labels.slices_for(1, [mx.nd.array([7, 8, 9])], "update_metric")[0].asnumpy().tolist()
        [8.0, 9.0]
        """
        if self.split.is_whole:  # for each batch of most programs
            return list(values)
        axes = [*self.axes, *[0] * (len(values) - len(self.axes))]
        return [
            self.split.take_array(value, device, axis, f"{who}: {self.kind} {i}")
            for i, (value, axis) in enumerate(zip(values, axes, strict=False))
        ]

    def by_name(self, values: Sequence[ArrayLike]) -> dict[str, ArrayLike]:
        """Return arrays by name; where none are described, they have made-up names.

        >>> import rebind as mx
        >>> list(Inputs.of("label", [], Split((slice(0, 3),)), [{}]).by_name([mx.nd.ones((3,))]))
        ['label0']
        """
        names = self.names or [f"{self.kind}{i}" for i in range(len(values))]
        return dict(zip(names, values, strict=False))


def copies_of(
    batch: Batch | Sequence[Batch], data: Inputs, labels: Inputs, devices: Sequence[Device]
) -> list[Copy]:
    """Return what to copy where from a batch, or from a list with a batch for each device.

    Labels may be absent, as in inference; those of the batch before are then left as they are.

    >>> import rebind as mx
    >>> arrays, whole = [{"x": mx.nd.zeros((3,))}], Split((slice(0, 3),))
    >>> data = Inputs.of("data", [mx.io.DataDesc("x", (3,))], whole, arrays)
    >>> labels = Inputs.of("label", [], whole, arrays)
    >>> copies = copies_of(mx.io.DataBatch([mx.nd.array([7, 8, 9])]), data, labels, [mx.cpu()])
    >>> copies[0][0] is arrays[0]["x"], copies[0][1].asnumpy().tolist()
    (True, [7.0, 8.0, 9.0])
    """
    several = not hasattr(batch, "data") and isinstance(batch, Sequence)  # a namedtuple may be a batch
    batches: Sequence[Batch] = batch if several else [batch]  # type: ignore[assignment,list-item]
    if several and len(batches) != len(devices):
        raise ShapeError(f"forward: a list must hold a batch for each of {list(devices)}; got {len(batches)}")
    found: list[Copy] = []
    for k, each in enumerate(batches):
        device = k if several else None
        found += data.copies(each.data or (), device)
        # A batch for inference may lack the attribute altogether.
        if given := getattr(each, "label", None):
            found += labels.copies(given, device)
    return found


def copy_all(copies: Sequence[Copy]) -> None:
    """Copy. Collecting all copies before the first is made leaves the arrays as they were when one does not fit.

    >>> import rebind as mx
    >>> array = mx.nd.zeros((2,))
    >>> copy_all([(array, mx.nd.ones((2,)))])
    >>> array.asnumpy().tolist()
    [1.0, 1.0]
    """
    for array, source in copies:
        # While autograd records, an input is no part of the record.
        array.write(source.tensor if isinstance(source.storage, DenseStorage) else source)
