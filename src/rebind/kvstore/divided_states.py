"""The states of an optimizer that is divided over workers: `gather_states` puts them together, `divide_states` apart.

A state is a tree, such as ``(mean, variance)``. Its form goes to all workers as JSON, its arrays from process to
process as they are; nothing is unpickled.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

import torch
from torch import Tensor

from .. import dtypes
from ..distributed import Job, Tag, first_does, from_first
from ..optimizer import Updater
from ..optimizer.arrays import StoredState
from ..optimizer.states import read_states, write_states
from ..shapes import Shape
from ..tuning import current
from .sharding import Sharding
from .state_forms import Form, build_state, form_of, join_states, tensors_of

__all__ = ["BY_ALL", "divide_states", "gather_states", "load_on_first", "states_from_first"]

Key: TypeAlias = "str | int"

#: Said in errors, since programs often save on worker 0 only.
BY_ALL = " (to be called on all workers, of which worker 0 reads and writes)"

#: Arrays in a message begin at multiples of this many bytes, so that each can be viewed as its own type.
_ALIGNMENT = 64


def gather_states(
    job: Job,
    who: str,
    sharding: Sharding[Key],
    shapes: Mapping[Key, Shape],
    states: Mapping[Hashable, StoredState],
) -> dict[Hashable, StoredState]:
    """Return the whole states of all keys, on worker 0; the others return nothing. All workers must call it.

    Parameters
    ----------
    job
        The workers.
    who
        What it is for, as errors say it.
    sharding
        Which worker has which part of a key; of the keys in it.
    shapes
        The shape of each key.
    states
        This worker's, by key.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.distributed import current_job
    >>> sharding = Sharding.of({"w": 2}, 1, "element")
    >>> found = gather_states(current_job(), "saving", sharding, {"w": (2,)}, {"w": (mx.nd.ones((2,)), 0.5)})
    >>> found["w"][0].asnumpy().tolist(), found["w"][1]
    ([1.0, 1.0], 0.5)
    """
    keys = list(sharding.bounds)
    own = {key: states[key] for key in keys if key in states and job.rank in sharding.owners(key)}
    # By the number of the key, as JSON has no dicts by int.
    given = job.exchange(who, {str(i): form_of(own[key]) for i, key in enumerate(keys) if key in own})
    forms = [{keys[int(i)]: form for i, form in cast(dict[str, Form], each).items()} for each in given]
    found: dict[Hashable, StoredState] = {}
    for together in _messages(keys, forms):
        picked = [_picked(form, together) for form in forms]
        for key, trees in _collected(job, who, sharding.ranks, own, picked).items():
            found[key] = join_states(trees, shapes[key], key)
    return found


def divide_states(
    job: Job, who: str, sharding: Sharding[Key], states: Mapping[Hashable, StoredState]
) -> dict[Hashable, StoredState]:
    """Return this worker's part of whole states, of the keys in `sharding`; worker 0's count. All must call it.

    Parameters
    ----------
    job, who, sharding
        As in `gather_states`.
    states
        By key.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.distributed import current_job
    >>> sharding = Sharding.of({"w": 2}, 1, "element")
    >>> divide_states(current_job(), "loading", sharding, {"w": mx.nd.ones((2,))})["w"].asnumpy().tolist()
    [1.0, 1.0]
    """
    keys = list(sharding.bounds)
    known = {key: states[key] for key in keys if key in states and job.rank == 0}
    whole = job.exchange(who, {str(i): form_of(known[key]) for i, key in enumerate(keys) if key in known})[0]
    forms: list[dict[Key, Form]] = [{} for _ in range(job.size)]
    for number, form in cast(dict[str, Form], whole).items():
        key = keys[int(number)]
        for rank in sharding.owners(key):
            forms[rank][key] = _part_form(form, sharding, key, rank)
    found: dict[Hashable, StoredState] = {}
    for together in _messages(keys, forms):
        parts = _given_out(job, who, sharding, known, [_picked(form, together) for form in forms])
        found.update(parts.items())
    return found


def states_from_first(
    job: Job, who: str, keys: Sequence[Key], states: Mapping[Hashable, StoredState]
) -> dict[Hashable, StoredState]:
    """Return the states that worker 0 has of keys that each worker updates; all must call it.

    >>> from rebind.distributed import current_job
    >>> from rebind.ndarray import NDArray
    >>> states_from_first(current_job(), "states", ["w"], {"w": NDArray(torch.ones(2)), "b": None})["w"].shape
    (2,)
    """
    if not keys:
        return {}
    given: dict[Hashable, StoredState] = {key: states[key] for key in keys if key in states}
    return read_states(from_first(job, who, write_states(given)))[0]


def load_on_first(
    job: Job, who: str, updater: Updater, path: str | os.PathLike[str]
) -> tuple[dict[Hashable, StoredState], bool]:
    """Let worker 0 read a file of states; return them there, on the others none, and whether it has an optimizer.

    That becomes the updater's, on all workers, which all must call it.

    Parameters
    ----------
    job, who
        As in `gather_states`.
    updater
        Whose states are wanted.
    path
        The file.
    """
    loaded, content = Updater(updater.optimizer), b""
    first_does(job, who + BY_ALL, lambda: loaded.load_states(path))
    if loaded.optimizer is not updater.optimizer:  # the file has one
        content = write_states({}, loaded.optimizer)
    content = from_first(job, who, content)
    if content:
        updater.optimizer = read_states(content)[1] or updater.optimizer
    updater.path = os.fspath(path)
    return loaded.states, bool(content)


# Arrays on their way.


def _messages(keys: Sequence[Key], forms: Sequence[Mapping[Key, Form]]) -> Iterator[set[Key]]:
    """Yield the keys whose states travel together; all workers come to the same."""
    together: set[Key] = set()
    size, most = 0, current().state_message_bytes
    for key in keys:
        lengths = [sum(map(_length, _arrays(form[key]))) for form in forms if key in form]
        if not lengths:
            continue
        if together and size + sum(lengths) > most:
            yield together
            together, size = set(), 0
        together.add(key)
        size += sum(lengths)
    if together:
        yield together


def _collected(
    job: Job,
    who: str,
    ranks: Sequence[int],
    own: Mapping[Key, StoredState],
    forms: Sequence[Mapping[Key, Form]],
) -> dict[Key, list[StoredState]]:
    """Send the states of some keys to worker 0; there, return the parts of each key, of the workers in this order."""
    packed = _packed(array for key in forms[job.rank] for array in tensors_of(own[key]))
    if job.rank > 0:
        job.transfer({0: packed}, {}, Tag.STATES).wait(who)
        return {}
    rows = [packed, *(packed.new_empty(_length_of_all(form)) for form in forms[1:])]
    job.transfer({}, dict(enumerate(rows)), Tag.STATES).wait(who)
    parts: dict[Key, list[StoredState]] = {}
    for rank in ranks:
        for key, state in _unpacked(rows[rank], forms[rank]).items():
            parts.setdefault(key, []).append(state)
    return parts


def _given_out(
    job: Job,
    who: str,
    sharding: Sharding[Key],
    known: Mapping[Key, StoredState],
    forms: Sequence[Mapping[Key, Form]],
) -> dict[Key, StoredState]:
    """Send each worker its parts of some keys from worker 0, and return this worker's."""
    if job.rank > 0:
        row = torch.empty(_length_of_all(forms[job.rank]), dtype=torch.uint8)
        job.transfer({}, {0: row}, Tag.STATES).wait(who)
        return _unpacked(row, forms[job.rank])
    rows = [
        _packed(_part(array, sharding, key, rank) for key in form for array in tensors_of(known[key]))
        for rank, form in enumerate(forms)
    ]
    job.transfer(dict(enumerate(rows)), {}, Tag.STATES).wait(who)
    return _unpacked(rows[0], forms[0])


def _packed(arrays: Iterable[Tensor]) -> Tensor:
    """Return the bytes of arrays in one, on the CPU."""
    pieces = [torch.empty(0, dtype=torch.uint8)]
    for array in arrays:
        content = array.detach().cpu().contiguous().view(-1).view(torch.uint8)
        pieces += [content, content.new_zeros(-content.numel() % _ALIGNMENT)]
    return torch.cat(pieces)


def _unpacked(row: Tensor, forms: Mapping[Key, Form]) -> dict[Key, StoredState]:
    """Return the states whose arrays `_packed` has put together."""
    at = 0

    def arrays_of(form: Form) -> Iterator[Tensor]:
        nonlocal at
        for array in _arrays(form):
            name, shape = array
            dtype = dtypes.torch_dtype(name)
            begin, at = at, at + _length(array)  # before it is yielded: nothing asks on behind the last one
            yield row[begin : begin + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)

    return {key: build_state(form, arrays_of(form)) for key, form in forms.items()}


# Forms of states.


def _arrays(form: Form) -> list[tuple[str, Shape]]:
    """Return type and shape of the arrays of a state, in their order."""
    match form:
        case {"array": [name, shape]}:
            return [(cast(str, name), tuple(cast(list[int], shape)))]
        case {"tuple": members} | {"list": members}:
            return [array for each in cast(list[Form], members) for array in _arrays(each)]
    return []


def _length(array: tuple[str, Shape]) -> int:
    """Return how many bytes an array has in a message."""
    name, shape = array
    size = math.prod(shape) * dtypes.torch_dtype(name).itemsize
    return size + -size % _ALIGNMENT


def _length_of_all(forms: Mapping[Key, Form]) -> int:
    return sum(_length(array) for form in forms.values() for array in _arrays(form))


def _picked(forms: Mapping[Key, Form], keys: set[Key]) -> dict[Key, Form]:
    return {key: form for key, form in forms.items() if key in keys}


# Parts of states. What a cut key's state has for each element is cut in the same way; all else is every part's.


def _part_form(form: Form, sharding: Sharding[Key], key: Key, rank: int) -> Form:
    match form:
        case {"array": [name, shape]}:
            begin, end = sharding.part(key, rank)
            if _is_cut(math.prod(cast(list[int], shape)), sharding, key):
                return {"array": [name, [end - begin]]}
        case {"tuple": members}:
            return {"tuple": [_part_form(each, sharding, key, rank) for each in cast(list[Form], members)]}
        case {"list": members}:
            return {"list": [_part_form(each, sharding, key, rank) for each in cast(list[Form], members)]}
    return form


def _part(array: Tensor, sharding: Sharding[Key], key: Key, rank: int) -> Tensor:
    if not _is_cut(array.numel(), sharding, key):
        return array
    begin, end = sharding.part(key, rank)
    return array.detach().reshape(-1)[begin:end]


def _is_cut(size: int, sharding: Sharding[Key], key: Key) -> bool:
    return len(sharding.owners(key)) > 1 and size == sharding.bounds[key][-1]
