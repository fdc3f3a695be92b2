"""What changes pictures before a network sees them: the interface, and running several, one after the other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from torch import Tensor

from ..checks import FUNCTION, LIST, check_kind
from ..errors import ArgumentError, ParameterError
from ..ndarray import NDArray
from ..protocols import is_resumable
from .pictures import as_array, picture_of, planar

__all__ = [
    "Augmenter",
    "Dump",
    "PictureAugmenter",
    "Places",
    "RandomOrderAug",
    "SequentialAug",
    "State",
    "augmented",
    "dumped",
    "load_states",
    "states_of",
]

#: What `dumps` returns: JSON, or a name and the list of what the augmenters inside return.
Dump: TypeAlias = "str | list[object]"

#: What a state holds: numbers, and lists and dicts of them.
State: TypeAlias = "dict[str, Any]"

T = TypeVar("T")


def _plain(value: object) -> object:
    """Return a parameter as JSON has it."""
    if isinstance(value, NDArray):
        return value.asnumpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


def dumped(who: object, parameters: dict[str, object]) -> str:
    """Return the name and the parameters of an augmenter as JSON."""
    return json.dumps([type(who).__name__.lower(), {name: _plain(each) for name, each in parameters.items()}])


class Places:
    """Where the entries of a list stood at first, however often it was shuffled since.

    MXNet shuffles its lists of augmenters in place: the next order depends on the last one, which a run that is resumed
    must go back to.

    Examples
    --------
    >>> items, places = list("abc"), Places(3)
    >>> places.restore(items, [2, 0, 1])
    >>> items, places.first
    (['c', 'a', 'b'], [2, 0, 1])
    """

    def __init__(self, count: int) -> None:
        self.first = list(range(count))

    def shuffle(self, items: list[T]) -> None:
        """Shuffle a list in place, as ``random.shuffle`` does."""
        order = list(range(len(items)))
        random.shuffle(order)
        if len(self.first) != len(items):  # somebody changed the list
            self.first = list(range(len(items)))
        items[:] = [items[i] for i in order]
        self.first = [self.first[i] for i in order]

    def restore(self, items: list[T], first: Sequence[int]) -> None:
        """Bring a list into the order of a saved `first`."""
        if sorted(first) != sorted(self.first):
            raise ParameterError(
                f"load_state_dict: there must be as many augmenters as in the saved state, {len(first)}; "
                f"got {len(items)}"
            )
        now = {number: i for i, number in enumerate(self.first)}
        items[:] = [items[now[number]] for number in first]
        self.first = list(first)


class Augmenter:
    """Base of augmenters: called with a picture, they return the picture that the network is to see.

    One of your own derives from it and defines ``__call__``.

    Parameters
    ----------
    kwargs
        The parameters, for `dumps`.

    Examples
    --------
    >>> import rebind as mx
    >>> class Darker(Augmenter):
    ...     def __call__(self, src):
    ...         return src / 2
    >>> Darker()(mx.nd.ones((1, 1, 1))).item()
    0.5
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs

    def dumps(self) -> Dump:
        """Return the augmenter's name and its parameters, as JSON.

        >>> Augmenter(size=(4, 5)).dumps()
        '["augmenter", {"size": [4, 5]}]'
        """
        return dumped(self, self._kwargs)

    def state_dict(self) -> State:
        """Return what later calls depend on, beside random numbers; nothing for most augmenters.

        >>> Augmenter().state_dict()
        {}
        """
        return {}

    def load_state_dict(self, state: State) -> None:
        """Go back to a state that `state_dict` returned."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return what becomes of the picture `src`, (H, W, C)."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src)")


class PictureAugmenter(Augmenter):
    """An augmenter that is defined on tensors (H, W, C), so that an iterator runs it without arrays in between.

    A subclass defines `apply`. One that writes in the picture itself returns the same tensor, and its call then
    returns the same array, as MXNet's do.
    """

    #: Whether it computes with colours, which is quicker with one channel after the other.
    by_channel = False

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(picture)")

    def __call__(self, src: NDArray) -> NDArray:
        """Return what becomes of the picture `src`, (H, W, C)."""
        picture = picture_of(src, type(self).__name__)
        new = self.apply(picture)
        return src if new is picture else as_array(new, src)


def states_of(augmenters: Iterable[object]) -> list[State]:
    """Return the states of augmenters; nothing for callables of another kind.

    >>> states_of([Augmenter(), print])
    [{}, {}]
    """
    return [dict(each.state_dict()) if is_resumable(each) else {} for each in augmenters]


def load_states(augmenters: Iterable[object], states: Sequence[State]) -> None:
    """Bring augmenters back to states that `states_of` returned."""
    for augmenter, state in zip(augmenters, states, strict=True):
        if is_resumable(augmenter):
            augmenter.load_state_dict(state)


def augmented(picture: Tensor, augmenters: Iterable[Augmenter], in_planes: bool = False) -> Tensor:
    """Return what becomes of a picture by augmenters in turn; it may be written in.

    Parameters
    ----------
    picture
        The picture, (H, W, C).
    augmenters
        What is to be done.
    in_planes
        Whether to lay the picture out one channel after the other before colours are computed with.

    >>> import torch
    >>> augmented(torch.zeros(2, 3, 1), []).shape
    torch.Size([2, 3, 1])
    """
    for augmenter in augmenters:
        # A subclass that a user wrote may define the call again: then that is what counts.
        if isinstance(augmenter, PictureAugmenter) and type(augmenter).__call__ is PictureAugmenter.__call__:
            picture = augmenter.apply(planar(picture) if in_planes and augmenter.by_channel else picture)
            continue
        new = augmenter(NDArray(picture.contiguous()))
        if not isinstance(new, NDArray):
            raise ArgumentError(
                f"{getattr(augmenter, '__name__', type(augmenter).__name__)} must return an NDArray, the picture; got "
                f"{type(new).__name__}"
            )
        picture = new.tensor
    return picture


class SequentialAug(PictureAugmenter):
    """Several augmenters, one after the other.

    Parameters
    ----------
    ts
        The augmenters.

    Examples
    --------
    >>> from rebind.image import CastAug, ResizeAug
    >>> SequentialAug([ResizeAug(5), CastAug()]).dumps()
    ['sequentialaug', ['["resizeaug", {"size": 5, "interp": 2}]', '["castaug", {"type": "float32"}]']]
    """

    def __init__(self, ts: Iterable[Augmenter]) -> None:
        super().__init__()
        check_kind(type(self).__name__, LIST, ts=ts)
        self.ts = list(ts)
        check_kind(type(self).__name__, FUNCTION, **{f"ts[{i}]": each for i, each in enumerate(self.ts)})
        self._places = Places(len(self.ts))

    def state_dict(self) -> State:
        """Return the order of the augmenters, and their own states.

        >>> SequentialAug([Augmenter()]).state_dict()
        {'order': [0], 'augmenters': [{}]}
        """
        return {"order": self._places.first, "augmenters": states_of(self.ts)}

    def load_state_dict(self, state: State) -> None:
        """Go back to a state that `state_dict` returned."""
        self._places.restore(self.ts, state["order"])
        load_states(self.ts, state["augmenters"])

    def dumps(self) -> Dump:
        """Return the name and what the augmenters' `dumps` return."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return augmented(picture, self.ts)


class RandomOrderAug(SequentialAug):
    """Several augmenters, in an order that ``random`` draws for each picture.

    Parameters
    ----------
    ts
        The augmenters.

    Examples
    --------
    >>> from rebind.image import CastAug, HorizontalFlipAug
    >>> RandomOrderAug([HorizontalFlipAug(0.5), CastAug()]).dumps()[0]
    'randomorderaug'
    """

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        # In place, as in MXNet: the next draw starts from this order, so a seed gives the same orders.
        self._places.shuffle(self.ts)
        return super().apply(picture)
